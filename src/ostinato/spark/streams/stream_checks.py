"""Checks of the machine, the session and the input before a stream starts. Errors say how to fix it."""

from __future__ import annotations

import importlib.util

from pyspark.sql import DataFrame, SparkSession

from ostinato.errors import EnvironmentFault, QueryError, Span

WATERMARK = "spark.watermarkDelayMs"
"""The key in a column's metadata that marks the event time."""
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def check_machine(spark: SparkSession) -> None:
    """Raises if the session can't store the state of a Python operator."""
    provider = str(spark.conf.get(STATE_STORE))
    if "RocksDB" not in provider:
        raise EnvironmentFault(
            "STATE_STORE_NOT_SUPPORTED",
            f"streams keep their state in RocksDB, and this session's state store is {provider.rpartition('.')[2]}",
            hint=f'spark.conf.set("{STATE_STORE}", "{ROCKSDB}")',
        )
    if importlib.util.find_spec("google.protobuf") is None:
        raise EnvironmentFault(
            "PROTOBUF_MISSING",
            "Spark hands state to Python through protobuf, which isn't installed",
            hint="pip install 'ostinato[spark]', here and on the executors",
        )


def watermark_delay_ms(df: DataFrame, column: str) -> int | None:
    """None if the column has no watermark."""
    delay = df.schema[column].metadata.get(WATERMARK)
    return None if delay is None else int(delay)


def without_watermark(
    df: DataFrame, column: str, text: str | None, span: Span | None = None, *, can_be_eager: bool = False
) -> QueryError:
    """The error for a time column without a watermark."""
    marked = [field.name for field in df.schema.fields if WATERMARK in field.metadata]
    eager = ", or eager=True for a stream that is ordered by construction" if can_be_eager else ""
    return QueryError(
        "STREAM_NEEDS_WATERMARK",
        f"'{column}' has no watermark, so a stream can't tell when all rows up to a time have come",
        text=text,
        span=span,
        hint=f"the watermark is on '{marked[0]}': order by that first"
        if marked
        else f'df.withWatermark("{column}", "10 minutes"){eager}',
    )
