"""One clause on one DataFrame, batch or streaming -> its rows: for `ost.match_recognize` and `ost.sql`."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.types import Settings
from ostinato.spark.clause.batch import match_batch
from ostinato.spark.clause.clause_options import DEFAULT_OPTIONS, BatchOptions, ClauseOptions
from ostinato.spark.clause.clause_streaming import match_open_batch, match_stream
from ostinato.spark.clause.spark_plan import plan_query, with_key_columns
from ostinato.spark.session.session_settings import session_settings


def selected_dataframe(query: ClauseQuery, matches: DataFrame) -> DataFrame:
    """The columns that the SELECT around a clause chooses from its rows."""
    if query.selects_all:
        return matches
    renamed = matches.toDF(*query.renamed(matches.columns))
    columns = query.selected(renamed.columns)
    return renamed.selectExpr(*(f"{render_expression(expr)} AS {quote(name)}" for name, expr in columns))


def match_dataframe(
    query: MatchRecognize, df: DataFrame, options: ClauseOptions = DEFAULT_OPTIONS, settings: Settings | None = None
) -> DataFrame:
    """The clause's rows as a DataFrame, streaming if the input is; nothing runs yet."""
    shows_order = df.isStreaming and options.stream.shows_late
    settings = settings or session_settings(df)
    df = with_key_columns(query, df, settings)
    planned = plan_query(query, df, options.limits, settings, shows_order=shows_order)
    if df.isStreaming:
        if options.batch != BatchOptions():
            raise QueryError(
                "INVALID_OPTION",
                "sort, memory_budget, skew and end are for batch DataFrames",
                hint="this DataFrame is a stream: leave them out",
            )
        history = options.history
        if history is not None:
            history = with_key_columns(query, history, settings)
        return match_stream(planned, options.stream, history)
    is_open = options.batch.end == "open"
    # These options say which matches are decided.
    until_end = replace(options.stream, eager=False, forget_keys_after=None) if is_open else options.stream
    if options.history is not None or not until_end.is_default:
        raise QueryError(
            "INVALID_OPTION",
            "history and the options of streams (late, eager, buckets, ...) are for streaming DataFrames",
            hint="this DataFrame is a batch: leave them out",
        )
    if is_open:
        return match_open_batch(planned, options.stream)
    return match_batch(planned, options.batch, options.stream.on_error)
