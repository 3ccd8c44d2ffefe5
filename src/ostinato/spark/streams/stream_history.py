"""An archive, a batch DataFrame -> the states with which a stream starts, or the rows that the archive alone decides.

Both are lazy plans: select -> repartition and sort by (bucket, time) -> mapInArrow (the core takes the rows in).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.calls.options import shown
from ostinato.errors import QueryError
from ostinato.rows.column_names import PREFIX
from ostinato.spark.shipping.shipped_rows import ShippedRows
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.streams.history_task import STATES, ReplayHistory
from ostinato.spark.streams.stream_checkpoint import with_errors_raised
from ostinato.spark.streams.stream_operator import bucket_of
from ostinato.spark.streams.stream_packing import BUCKET
from ostinato.spark.streams.stream_task import BucketTask

_LATEST = f"{PREFIX}latest"


def history_states(history: ShippedRows, keys: Sequence[str], buckets: int, task: BucketTask, time: str) -> DataFrame:
    """One row for each bucket: its state after all rows of the archive, with the columns of STATES.

    Buckets without rows have a state, too: it knows the archive's latest time. An empty archive gives no states.
    """
    placed = _by_bucket_and_time(history, keys, buckets, time)
    return with_errors_raised(placed, ReplayHistory(task, time), spark_schema(STATES))


def decided_rows(
    history: ShippedRows, keys: Sequence[str], buckets: int, task: BucketTask, time: str, schema: s.StructType
) -> DataFrame:
    """The output rows that no row after the archive's latest time can change."""
    placed = _by_bucket_and_time(history, keys, buckets, time)
    return with_errors_raised(placed, ReplayHistory(task, time, task.output), schema)


def _by_bucket_and_time(history: ShippedRows, keys: Sequence[str], buckets: int, time: str) -> DataFrame:
    """The bucket, the shipped columns, and the latest time. One more row without a time stands for each bucket."""
    rows, time_column = history.selected, history.travelling(time)
    latest = rows.agg(F.max(time_column).alias(_LATEST))
    nulls = [F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema.fields]
    markers = rows.sparkSession.range(buckets if keys else 1).select(F.col("id").cast("int").alias(BUCKET), *nulls)
    bucket = bucket_of([history.column(name) for name in keys], buckets).alias(BUCKET)
    placed = rows.select(bucket, "*").unionAll(markers).crossJoin(F.broadcast(latest))
    return placed.repartition(BUCKET).sortWithinPartitions(BUCKET, time_column)


def check_history(history: Any) -> DataFrame:
    """Raises INVALID_OPTION unless it is a batch DataFrame."""
    if not isinstance(history, DataFrame):
        raise QueryError("INVALID_OPTION", f"history= is a batch DataFrame with earlier rows, not {shown(history)}")
    if history.isStreaming:
        hint = "spark.read in place of spark.readStream"
        raise QueryError("INVALID_OPTION", "history= is a batch DataFrame, and this one is a stream", hint=hint)
    return history


def history_rows(shipped: ShippedRows, history: Any) -> ShippedRows:
    """The columns that a stream ships, of the archive. Raises unless it is a batch with the stream's columns."""
    source = shipped.source
    archive = SparkInput.of(check_history(history), source.settings)
    for name, kind in source.column_types.items():
        there = archive.column_types.get(name)
        if there != kind:
            found = "no such column" if there is None else f"{name} {there.simpleString()}"
            raise QueryError(
                "HISTORY_DIFFERS",
                f"the stream has {name} {kind.simpleString()}, and history= has {found}",
                hint="history.select(...) with the names and types of the stream's columns",
            )
    return replace(shipped, source=archive)
