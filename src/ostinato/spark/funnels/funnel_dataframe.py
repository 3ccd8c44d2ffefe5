"""A funnel on a DataFrame: one row for each key of a batch, one row for each attempt of a stream; and the report."""

from __future__ import annotations

from itertools import pairwise

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as s

from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import QueryError
from ostinato.expressions.render import quote, render_expression
from ostinato.funnels.funnel import COMPLETED, LEVEL, Funnel
from ostinato.funnels.funnel_clause import ORDER_COLUMN, funnel_clause, funnel_order
from ostinato.funnels.funnel_input import input_time, not_a_time
from ostinato.funnels.funnel_report import QUANTILES, FunnelNumbers, StepTimes
from ostinato.rows.column_names import PREFIX
from ostinato.spark.clause.clause_dataframe import match_dataframe
from ostinato.spark.clause.spark_plan import plan_query
from ostinato.spark.session.session_settings import session_settings

_TIMES = (s.TimestampType, s.TimestampNTZType, s.DateType)
_SECONDS = (("DAY", 86_400), ("HOUR", 3_600), ("MINUTE", 60), ("SECOND", 1))


def funnel_dataframe(funnel: Funnel, df: DataFrame) -> DataFrame:
    """The funnel's rows as a lazy DataFrame. Raises STREAM_NOT_SUPPORTED for a stream without `within`."""
    if df.isStreaming and funnel.within is None:
        message = "a funnel without within= never knows on a stream that an attempt is abandoned"
        raise QueryError("STREAM_NOT_SUPPORTED", message, hint='within="1 day"')
    attempts = _attempts(funnel, df)
    return attempts if df.isStreaming else _best_attempts(funnel, attempts)


def _attempts(funnel: Funnel, df: DataFrame) -> DataFrame:
    settings = session_settings(df)
    time = input_time(funnel, df.columns, settings.case_sensitive)
    kind = df.schema[time].dataType
    if not isinstance(kind, _TIMES):
        raise not_a_time(time, kind.simpleString().upper())
    clause = funnel_clause(funnel, double_quoted_identifiers=settings.double_quoted_identifiers)
    # Planned once without the real order: errors in the steps' conditions then point into the clause.
    plan_query(clause, df.withColumn(ORDER_COLUMN, f.lit(0)), Limits(), settings)
    ordered = df.withColumn(ORDER_COLUMN, f.expr(render_expression(funnel_order(funnel))))
    return match_dataframe(clause, ordered, settings=settings)


def _best_attempts(funnel: Funnel, attempts: DataFrame) -> DataFrame:
    """The best attempt of each key: the highest level, then the earliest times. They determine all other columns."""
    times = [step.time_column for step in funnel.steps]
    keys = attempts.columns[: len(funnel.keys)]
    depth, best = f"{PREFIX}depth", f"{PREFIX}best"
    rank = f.struct((-f.col(LEVEL)).alias(depth), *(f.col(quote(name)) for name in times))
    return (
        attempts.groupBy(*(f.col(quote(key)) for key in keys))
        .agg(f.min(rank).alias(best))
        .select(
            *(f.col(quote(key)) for key in keys),
            (-f.col(f"{best}.{depth}")).alias(LEVEL),
            (f.col(f"{best}.{depth}") == -len(times)).alias(COMPLETED),
            *(f.col(f"{best}.{quote(name)}").alias(name) for name in times),
        )
    )


def spark_funnel_report(funnel: Funnel, rows: DataFrame) -> FunnelNumbers:
    """The numbers of the rows of a batch. Runs one job."""
    times = [quote(step.time_column) for step in funnel.steps]
    reached = [f.count_if(f.col(LEVEL) >= step).alias(f"n{step}") for step in range(1, len(times) + 1)]
    quantiles = ", ".join(map(str, QUANTILES))
    lengths = [
        f.expr(f"percentile({_seconds(before, after)}, array({quantiles}))").alias(f"t{step}")
        for step, (before, after) in enumerate(pairwise(times), start=2)
    ]
    counted = rows.agg(*reached, *lengths).collect()[0]
    return FunnelNumbers(
        tuple(step.name for step in funnel.steps),
        tuple(counted[f"n{step}"] for step in range(1, len(times) + 1)),
        (StepTimes(), *(StepTimes(*(counted[f"t{step}"] or ())) for step in range(2, len(times) + 1))),
    )


def _seconds(before: str, after: str) -> str:
    """The time between two columns in seconds, as a double, whatever their type and the session's time zone."""
    length = f"CAST({after} - {before} AS INTERVAL DAY TO SECOND)"
    return f"CAST({' + '.join(f'EXTRACT({unit} FROM {length}) * {size}' for unit, size in _SECONDS)} AS DOUBLE)"
