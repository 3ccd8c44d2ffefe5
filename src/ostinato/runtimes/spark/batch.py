"""One clause on a batch DataFrame: project what is needed, bring keys together, match in Python, put measures around.

The plan is lazy and made of public operations only, so it is the same on Spark Connect:
select -> repartition by key [-> sort] -> mapInArrow -> where (raises what a row reported) -> select.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from pyspark.sql import DataFrame

from ostinato.errors import QueryError
from ostinato.language.binding import bind
from ostinato.language.fluent import PatternQuery
from ostinato.language.match_recognize import parse_clause
from ostinato.planning.plan import make_plan
from ostinato.planning.slicing import declined_by_tasks
from ostinato.planning.typed import Limits
from ostinato.predicates.types import Settings
from ostinato.query.match_recognize import MatchRecognize
from ostinato.runtimes.spark.query import RAISES, SparkQuery
from ostinato.runtimes.spark.size import estimated_bytes
from ostinato.runtimes.spark.sliced import matched_in_slices
from ostinato.runtimes.spark.task import SparkTask

SortBy = Literal["auto", "worker", "spark"]
Skew = Literal["hash", "slice"]
MEMORY_BUDGET_BYTES = 1 << 30


class OstinatoWarning(UserWarning):
    """Something that works, but perhaps not as meant."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """`sort`: who brings the rows of a key into order. `memory_budget`: bytes of a task above which Spark does.

    `skew`: whether each key is one task's ("hash"), or the rows of all keys are cut into ranges ("slice").
    """

    limits: Limits = Limits()
    sort: SortBy = "auto"
    memory_budget: int = MEMORY_BUDGET_BYTES
    skew: Skew = "hash"

    def __post_init__(self) -> None:
        for name, value, known in (("sort", self.sort, SortBy), ("skew", self.skew, Skew)):
            if value not in get_args(known):
                raise QueryError(
                    "UNKNOWN_OPTION",
                    f"{name} can't be {value!r}",
                    hint=f"it is one of {', '.join(map(repr, get_args(known)))}",
                )


def match_recognize(
    clause: str | PatternQuery,
    *,
    max_partial_matches: int = Limits().max_partial_matches,
    sort: SortBy = "auto",
    memory_budget: int = MEMORY_BUDGET_BYTES,
    skew: Skew = "hash",
) -> Callable[[DataFrame], DataFrame]:
    """A function for `df.transform` that answers one MATCH_RECOGNIZE clause on a DataFrame.

    `df.transform(ost.match_recognize("PARTITION BY symbol ORDER BY ts MEASURES ... PATTERN (...) DEFINE ..."))`, or
    the same with an `ost.pattern(...)` in place of the text. The options are those of `ost.sql`.
    """
    text = clause.to_sql() if isinstance(clause, PatternQuery) else clause
    parse_clause(text)  # errors in the text show here, not when the DataFrame comes
    options = BatchOptions(Limits(max_partial_matches), sort, memory_budget, skew)

    def answer(df: DataFrame) -> DataFrame:
        settings = session_settings(df)
        query = parse_clause(text, double_quoted_identifiers=settings.double_quoted_identifiers)
        return match_dataframe(query, df, options, settings)

    return answer


def session_settings(df: DataFrame) -> Settings:
    """The rules for expressions of the DataFrame's session."""
    conf = df.sparkSession.conf

    def is_on(name: str) -> bool:
        return str(conf.get(name)).lower() == "true"  # asked with a default, Spark answers that, not its own

    return Settings(
        ansi=is_on("spark.sql.ansi.enabled"),
        timezone=str(conf.get("spark.sql.session.timeZone")),
        double_quoted_identifiers=is_on("spark.sql.ansi.doubleQuotedIdentifiers"),
        case_sensitive=is_on("spark.sql.caseSensitive"),
    )


def match_dataframe(
    query: MatchRecognize, df: DataFrame, options: BatchOptions = BatchOptions(), settings: Settings | None = None
) -> DataFrame:
    """The clause's rows as a DataFrame; nothing runs yet."""
    if df.isStreaming:
        raise QueryError("STREAM_NOT_SUPPORTED", "streaming DataFrames can't be asked yet", hint="use foreachBatch")
    settings = settings or session_settings(df)
    if not query.order_by:
        warnings.warn(
            "MATCH_RECOGNIZE without ORDER BY: Spark keeps no order of its own, so the result may differ between runs",
            OstinatoWarning,
            stacklevel=3,
        )
    plan = make_plan(bind(query, df.columns, case_sensitive=settings.case_sensitive))
    asked = SparkQuery(plan, df, options.limits, settings)
    by_spark = _sorts_by_spark(asked, options)
    if (options.skew == "slice" or not query.partition_by) and declined_by_tasks(plan) is None:
        found = matched_in_slices(asked, sorted_by_spark=by_spark)
    else:
        found = _matched_by_key(asked, sorted_by_spark=by_spark)
    return asked.measured(found.where(RAISES))


def _matched_by_key(query: SparkQuery, *, sorted_by_spark: bool) -> DataFrame:
    """Each key is matched by one task, many keys by each."""
    keys = query.bound.partition_by
    df = query.projected()
    df = df.repartition(*(query.key_expression(name) for name in keys)) if keys else df.repartition(1)
    if sorted_by_spark:
        df = df.sortWithinPartitions(*query.sort_order())
    schema = query.worker_schema()
    return df.mapInArrow(
        SparkTask(query.typed, query.shipped_names, query.arrow_schema(schema), sorted_by_spark), schema
    )


def _sorts_by_spark(query: SparkQuery, options: BatchOptions) -> bool:
    if options.sort != "auto":
        return options.sort == "spark"
    partitions = 1
    if query.bound.partition_by:
        partitions = int(str(query.df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    size = estimated_bytes(query.df)
    return size is not None and size > options.memory_budget * partitions


__all__ = ["BatchOptions", "OstinatoWarning", "match_dataframe", "match_recognize", "session_settings"]
