"""One ordered partition cut into slices, a task each: for queries without PARTITION BY, and for hot keys on request.

The plan is lazy and shuffles the input once:

    ranges of (keys, order) -> each task matches its slice -> results and edges -> one task stitches the edges
                                                           [-> results and counts -> MATCH_NUMBER() continues]

Only results and edges are shuffled again. A column of a row says which task it goes to; the numbers that Spark gives to
partitions don't matter. The plan assumes that ranges have the order of task ids, and stitching checks this.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.spark.clause.slice_tasks import RECORD, SLICE, TARGET, NumberTask, SliceTask, StitchTask
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.shipping.shipped_rows import stored_name
from ostinato.spark.shipping.worker_check import Checked

_DIRECTIONS = (
    s.StructField(TARGET, s.IntegerType()),
    s.StructField(SLICE, s.IntegerType()),
    s.StructField(RECORD, s.BinaryType()),
)


def matched_in_slices(query: SparkQuery) -> DataFrame:
    """The rows of matching, with a column for errors. Each task holds its slice in memory and sorts it."""
    df = query.shipped.selected.repartitionByRange(*query.sort_order())
    matched = query.worker_schema()
    arrow = query.source.arrow_schema(s.StructType([*matched.fields, *_DIRECTIONS]))
    renamed = [s.StructField(stored_name(i), field.dataType) for i, field in enumerate(matched.fields)]
    travelling = s.StructType([*renamed, *_DIRECTIONS])
    df = df.mapInArrow(Checked(SliceTask(query.typed, query.shipped.names, arrow)), travelling)
    df = df.repartition(TARGET).mapInArrow(Checked(StitchTask(query.typed, arrow)), travelling)
    if NumberTask.is_needed(query.plan):
        df = df.repartition(TARGET).mapInArrow(Checked(NumberTask(query.plan, arrow)), travelling)
    return df.drop(TARGET, SLICE, RECORD).toDF(*matched.names)
