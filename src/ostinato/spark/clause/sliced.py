"""One order cut over all tasks: the plan for queries without PARTITION BY, and for hot keys on request.

One static, lazy lineage in which the input is shuffled once:

    ranges of (keys, order) -> each task matches its slice -> results and edges -> one task stitches the edges
                                                           [-> results and numbers -> MATCH_NUMBER() goes on]

Results and edges are all that travels again. Where a row goes is told by its own column, never by how Spark numbers or
merges partitions; the one thing relied on is that ranges follow one another as task ids do, and stitching checks that.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.rows.column_names import PREFIX
from ostinato.spark.clause.slice_tasks import RECORD, SLICE, TARGET, NumberTask, SliceTask, StitchTask
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.shipping.worker_check import Checked

_DIRECTIONS = (
    s.StructField(TARGET, s.IntegerType()),
    s.StructField(SLICE, s.IntegerType()),
    s.StructField(RECORD, s.BinaryType()),
)


def matched_in_slices(query: SparkQuery) -> DataFrame:
    """The rows that matching gives, with the errors that it met. Tasks hold their slice and order it themselves."""
    df = query.shipped.selected().repartitionByRange(*query.sort_order())
    found = query.worker_schema()
    arrow = query.source.arrow_schema(s.StructType([*found.fields, *_DIRECTIONS]))
    # Between tasks under names of our own: mapInArrow can't take names with dots.
    renamed = [s.StructField(f"{PREFIX}o{i}", field.dataType) for i, field in enumerate(found.fields)]
    travelling = s.StructType([*renamed, *_DIRECTIONS])
    df = df.mapInArrow(Checked(SliceTask(query.typed, query.shipped.names, arrow)), travelling)
    df = df.repartition(F.col(TARGET)).mapInArrow(StitchTask(query.typed, arrow), travelling)
    if NumberTask.is_needed(query.plan):
        df = df.repartition(F.col(TARGET)).mapInArrow(NumberTask(query.plan, arrow), travelling)
    return df.drop(TARGET, SLICE, RECORD).toDF(*found.names)
