"""The stream operator that clauses, event queries, workloads and summaries share.

The plan uses public operations only, so it is the same on Spark Connect:
select -> mapInArrow (pack rows by bucket) -> transformWithState (advance) -> where (raises errors of buckets)
-> mapInArrow (unpack).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.rows.column_names import DECIDED, PREFIX
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.shipped_rows import ShippedRows
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_checks import WATERMARK
from ostinato.spark.streams.stream_metrics import OBSERVED
from ostinato.spark.streams.stream_packing import BUCKET, PACKED, PackByBucket, UnpackResults
from ostinato.spark.streams.stream_processor import COUNTS, DETAILS, RESULTS, BucketProcessor
from ostinato.spark.streams.stream_task import BucketTask

_operators = itertools.count(1)
"""Numbers that make the names of observed metrics unique, also if a query has the same clause twice."""
PACKED_TYPE = spark_schema(PACKED)
CHANGE = f"{PREFIX}change"
"""A column beside packed rows: the text of a change."""


def through_buckets(
    shipped: ShippedRows,
    keys: Sequence[str],
    buckets: int,
    task: BucketTask,
    schema: s.StructType,
    *,
    has_watermark: bool,
    bits: tuple[str, ...] = (),
    processor: type[BucketProcessor] = BucketProcessor,
    mode: Literal["Append", "Update"] = "Append",
    changes: DataFrame | None = None,
    history: DataFrame | None = None,
) -> DataFrame:
    """The rows that the task's core gives for the shipped rows, bucket by bucket, with the schema's columns.

    `keys` are shipped columns: rows with equal values share a bucket. `bits` are shipped columns: rows in which all of
    them are 0 are left out. `processor` makes the operator that stores the buckets' state. `changes` are rows with a
    bucket and a text, which reach the processor beside the packed rows. `history` has the states with which the first
    batch starts (`stream_history.py`).
    """
    packed = packed_rows(shipped, keys, buckets, task, bits)
    if changes is not None:
        packed = packed.withColumn(CHANGE, F.lit(None).cast("string")).unionAll(
            changes.select(BUCKET, F.lit(None).cast("binary"), CHANGE)
        )
    emitted = packed.groupBy(BUCKET).transformWithState(
        processor(task, has_watermark=has_watermark),
        processor.emitted,
        mode,
        "EventTime" if has_watermark else "None",
        None if history is None else history.groupBy(BUCKET),
    )
    metrics = [F.sum(f"{PREFIX}{name}").alias(name) for name in COUNTS]
    if DETAILS in processor.emitted.names:
        metrics.append(F.listagg(DETAILS, F.lit("\n")).alias(DETAILS))
    observed = emitted.observe(f"{OBSERVED}-{task.fingerprint[:8]}-{next(_operators)}", *metrics)
    return observed.where(RAISES).select(RESULTS).mapInArrow(Checked(UnpackResults(task.output)), schema)


def packed_rows(
    shipped: ShippedRows, keys: Sequence[str], buckets: int, task: BucketTask, bits: tuple[str, ...] = ()
) -> DataFrame:
    """The rows by bucket, as PACKED."""
    bucket = bucket_of([shipped.column(name) for name in keys], buckets).alias(BUCKET)
    return shipped.selected.select(bucket, "*").mapInArrow(Checked(PackByBucket(task.shipped, bits)), PACKED_TYPE)


def decided_field(delay_ms: int | None = None) -> s.StructField:
    """The decision time of a row. With a delay, it is an event time with that watermark, for operators that follow."""
    metadata = None if delay_ms is None else {WATERMARK: delay_ms}
    return s.StructField(DECIDED, s.TimestampType(), metadata=metadata)


def bucket_of(keys: Sequence[SparkColumn], buckets: int) -> SparkColumn:
    """The bucket of a key."""
    bucket = F.pmod(F.hash(*keys), F.lit(buckets)) if keys else F.lit(0)
    return bucket.cast("int")
