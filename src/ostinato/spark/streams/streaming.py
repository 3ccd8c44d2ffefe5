"""One clause on a streaming DataFrame, in append mode.

The plan is made of public operations only, so it is the same on Spark Connect:
select -> mapInArrow (pack rows by bucket) -> transformWithState (advance) -> where (raises what a bucket reported)
-> mapInArrow (unpack) -> select.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.rows.column_names import PREFIX
from ostinato.spark.clause.clause_stream_task import stream_task
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_checks import check_machine, check_query, warn_of_unbounded_state
from ostinato.spark.streams.stream_definition import define
from ostinato.spark.streams.stream_metrics import OBSERVED
from ostinato.spark.streams.stream_output import measured_stream, stream_schema
from ostinato.spark.streams.stream_packing import BUCKET, ROWS, PackByBucket, UnpackResults
from ostinato.spark.streams.stream_processor import COUNTS, EMITTED, FOUND, BucketProcessor, BucketTask
from ostinato.streams.stream_settings import StreamSettings

_clauses = itertools.count(1)
"""Numbers by which Spark tells the metrics of clauses apart, also of one that stands in a query twice."""
_PACKED = s.StructType([s.StructField(BUCKET, s.IntegerType()), s.StructField(ROWS, s.BinaryType())])


def match_stream(query: SparkQuery, stream: StreamSettings) -> DataFrame:
    """The clause's rows as a streaming DataFrame; nothing runs yet."""
    check_machine(query.df.sparkSession)
    delay = check_query(query, eager=stream.eager, can_be_eager=True)
    warn_of_unbounded_state(query.plan)
    return measured_stream(query, stream, _found(query, stream, delay))


def _found(query: SparkQuery, stream: StreamSettings, delay: int | None) -> DataFrame:
    task = stream_task(query, define(query, stream))
    keys = [query.shipped.column(name) for name in query.bound.partition_by]
    schema = stream_schema(query, stream, delay)
    return through_buckets(
        query.shipped.selected(), keys, stream.buckets, task, schema, has_watermark=delay is not None
    )


def through_buckets(
    shipped: DataFrame,
    keys: Sequence[SparkColumn],
    buckets: int,
    task: BucketTask,
    schema: s.StructType,
    *,
    has_watermark: bool,
    bits: tuple[str, ...] = (),
    processor: Callable[..., BucketProcessor] = BucketProcessor,
    mode: Literal["Append", "Update"] = "Append",
) -> DataFrame:
    """What the task's worker gives for the shipped rows, bucket by bucket, in columns of the schema.

    `bits` are shipped columns of which one must be other than 0 for a row to matter; none: all rows do. `processor`
    makes the operator that keeps the buckets' state.
    """
    packed = shipped.select(bucket_of(keys, buckets).alias(BUCKET), "*").mapInArrow(
        Checked(PackByBucket(task.shipped, bits)), _PACKED
    )
    emitted = packed.groupBy(BUCKET).transformWithState(
        processor(task, has_watermark=has_watermark),
        EMITTED,
        mode,
        "EventTime" if has_watermark else "None",
    )
    sums = (F.sum(f"{PREFIX}{name}").alias(name) for name in COUNTS)
    observed = emitted.observe(f"{OBSERVED}-{task.fingerprint[:8]}-{next(_clauses)}", *sums)
    return observed.where(RAISES).select(FOUND).mapInArrow(UnpackResults(task.output), schema)


def bucket_of(keys: Sequence[SparkColumn], buckets: int) -> SparkColumn:
    """The bucket in which a key's state is."""
    bucket = F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)
    return bucket.cast("int")
