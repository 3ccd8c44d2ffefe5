"""One clause on one DataFrame, batch or streaming -> its rows: for `ost.match_recognize` and `ost.sql`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.clause.language.clause_builder import PatternQuery
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.rows.arrow_tables import spark_dataframe
from ostinato.spark.clause.batch import MEMORY_BUDGET_BYTES, BatchOptions, Skew, SortBy, match_batch
from ostinato.spark.clause.clause_streaming import match_stream
from ostinato.spark.clause.spark_plan import plan_query
from ostinato.spark.session.session_settings import session_settings
from ostinato.streams.stream_settings import DEFAULT_BUCKETS, Late, StreamSettings


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a caller."""

    limits: Limits = Limits()
    batch: BatchOptions = BatchOptions()
    stream: StreamSettings = StreamSettings()


@only_our_errors()
def match_recognize(
    clause: str | PatternQuery,
    *,
    max_partial_matches: int = Limits().max_partial_matches,
    sort: SortBy = "auto",
    memory_budget: int = MEMORY_BUDGET_BYTES,
    skew: Skew = "hash",
    late: Late = "drop",
    eager: bool = False,
    buckets: int = DEFAULT_BUCKETS,
    decision_time: str | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """A function for `df.transform` that runs one MATCH_RECOGNIZE clause on a DataFrame.

    `df.transform(ost.match_recognize("PARTITION BY symbol ORDER BY ts MEASURES ... PATTERN (...) DEFINE ..."))`, or
    the same with an `ost.pattern(...)` in place of the text. The options are those of `ost.sql`.
    """
    text = clause.to_sql() if isinstance(clause, PatternQuery) else clause
    parse_clause(text)  # raises errors in the text before there is a DataFrame
    options = Options(
        Limits(max_partial_matches),
        BatchOptions(sort, memory_budget, skew),
        StreamSettings(late, eager, buckets, decision_time),
    )

    @only_our_errors()
    def answer(df: DataFrame) -> DataFrame:
        spark_dataframe(df, hint="ost.match(clause, table) answers it in this process")
        settings = session_settings(df)
        query = parse_clause(text, double_quoted_identifiers=settings.double_quoted_identifiers)
        return match_dataframe(query, df, options, settings)

    return answer


def match_dataframe(
    query: MatchRecognize, df: DataFrame, options: Options = Options(), settings: Settings | None = None
) -> DataFrame:
    """The clause's rows as a DataFrame, streaming if the input is; nothing runs yet."""
    planned = plan_query(query, df, options.limits, settings or session_settings(df))
    if df.isStreaming:
        if options.batch != BatchOptions():
            raise QueryError(
                "INVALID_OPTION",
                "sort, memory_budget and skew are for batch DataFrames",
                hint="this DataFrame is a stream: leave them out",
            )
        return match_stream(planned, options.stream)
    if not options.stream.is_default:
        raise QueryError(
            "INVALID_OPTION",
            "late, eager, buckets and decision_time are for streaming DataFrames",
            hint="this DataFrame is a batch: leave them out",
        )
    return match_batch(planned, options.batch)
