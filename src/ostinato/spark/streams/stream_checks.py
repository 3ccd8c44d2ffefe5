"""What a stream needs of the machine, the session and the query. Raises before anything starts, with the way out."""

from __future__ import annotations

import importlib.util

from pyspark.sql import DataFrame, SparkSession

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.stream.stream_limits import check_streamable, why_unbounded
from ostinato.errors import EnvironmentFault, QueryError, Span, warn
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.streams.stream_output import WATERMARK

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def check_machine(spark: SparkSession) -> None:
    """Raises unless the session can keep the state of a Python operator."""
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


def check_query(query: SparkQuery, *, eager: bool = False, can_be_eager: bool = False) -> int | None:
    """The watermark's delay in milliseconds, or None where there is none and none is needed (`eager`)."""
    order = query.bound.order_by
    check_streamable(
        query.plan, query.source.arrow(query.source.column_types[order[0].column], order[0].column) if order else None
    )
    first = order[0]
    delay = watermark_delay_ms(query.df, first.column)
    if delay is None and not eager:
        raise without_watermark(
            query.df, first.column, query.bound.clause.text, first.key.span, can_be_eager=can_be_eager
        )
    return delay


def watermark_delay_ms(df: DataFrame, column: str) -> int | None:
    """None where the column has no watermark."""
    delay = df.schema[column].metadata.get(WATERMARK)
    return None if delay is None else int(delay)


def without_watermark(
    df: DataFrame, column: str, text: str | None, span: Span | None = None, *, can_be_eager: bool = False
) -> QueryError:
    """The error where the time of a stream has no watermark, with the way to one."""
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


def warn_of_unbounded_state(plan: MatchPlan) -> None:
    """Nothing ends an open run but the rows of its key, and its rows are kept until then."""
    why = why_unbounded(plan)
    if why is not None:
        warn(f"the state of this stream may grow without bound: {why}; add WITHIN to the pattern")
