"""`ost.sql`: SQL text in which MATCH_RECOGNIZE may stand wherever a table may -> a lazy DataFrame.

Ostinato runs each clause on its own input and replaces it by a DataFrame. It does the same with two clauses that RECENT
makes a correlation. Spark gets the text around them unchanged.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.id_columns import IdColumns
from ostinato.calls.options import a_text
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.statement_spans import Clause, Select, Statement, read_statement
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation_parser import find_correlations
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.errors import EnvironmentFault, QueryError, Span, in_statement
from ostinato.event_queries.language.event_parser import is_event_text
from ostinato.expressions.lexer import tokenize
from ostinato.spark.clause.clause_dataframe import match_dataframe
from ostinato.spark.clause.clause_options import MEMORY_BUDGET_BYTES, BatchOptions, ClauseOptions, End, Skew, SortBy
from ostinato.spark.correlations.correlation_dataframe import check_only_limits, pairs_of
from ostinato.spark.correlations.correlation_sql import correlation_pieces, written_alike
from ostinato.spark.correlations.own_archive_stream import OwnArchiveTerms, correlate_stream
from ostinato.spark.session.session_settings import check_spark, session_settings, settings_of
from ostinato.spark.shipping.sql_with_frames import Args, ask_spark
from ostinato.spark.statements.statement_arguments import (
    all_tables,
    args_inside,
    args_outside,
    check_tables,
    clause_parameters,
    parameter_values,
)
from ostinato.spark.statements.statement_inputs import needed_tables, on_its_own
from ostinato.spark.statements.sub_queries import with_values
from ostinato.spark.statements.temporary_views import read_temporary_view
from ostinato.spark.statements.window_blocks import run_windows
from ostinato.spark.streams.stream_history import check_history
from ostinato.streams.stream_settings import DEFAULT_BUCKETS, Emit, Late, OnChange, OnError, StreamSettings


@only_our_errors()
def sql(
    query: str,
    *,
    spark: SparkSession | None = None,
    args: Mapping[str, Any] | Sequence[Any] | None = None,
    tables: Mapping[str, DataFrame] | None = None,
    max_partial_matches: int = Limits().max_partial_matches,
    sort: SortBy = "auto",
    memory_budget: int = MEMORY_BUDGET_BYTES,
    skew: Skew = "hash",
    late: Late = "drop",
    eager: bool = False,
    buckets: int = DEFAULT_BUCKETS,
    decision_time: str | None = None,
    forget_keys_after: str | None = None,
    emit: Emit = "final",
    on_change: OnChange = "refuse",
    match_id: str | None = None,
    run_id: str | None = None,
    history: DataFrame | None = None,
    end: End = "final",
    on_error: OnError = "fail",
    **more_tables: DataFrame,
) -> DataFrame:
    """The result of a query as a lazy DataFrame.

    Every keyword that isn't an option is a DataFrame, with the name that the query uses for it; `tables` is a dict of
    more of them, for names such as `sort`. Other tables come from the session's catalog. `args` are the values of the
    parameters: a dict for `:name`, a list for `?`, as in `spark.sql`. `max_partial_matches` limits the partial matches
    from one row. `sort` says who sorts the rows of a key ("auto": the worker, unless Spark
    estimates more than `memory_budget` bytes for a task). `skew="slice"` cuts the rows of all keys into ranges, so
    that many tasks match one hot key; a query without PARTITION BY is always cut.

    With `on_error="skip"`, a row for which an expression of a clause fails doesn't end the query. It leaves as an
    output row with the error in a column `error` (docs/streaming.md).

    For clauses over streaming DataFrames (docs/streaming.md): `late` rows are dropped or shown, rows of `eager` streams
    arrive in order, `buckets` is the number of buckets of keys, `decision_time` names a column to add, and keys that
    are silent for longer than `forget_keys_after` ("30 days") are forgotten. With `on_change="keep"`, a restart with
    another clause goes on with the rows of the state. `history` has earlier rows of the streaming table, after which
    the stream starts; it is for statements with one clause. On a batch, `end="open"` leaves out the matches that later
    rows may change.

    `match_id` and `run_id` name columns to add to the rows of each clause: ids that a match keeps in every run of the
    query, on batches and streams.

    >>> dips = sql("SELECT * FROM trades MATCH_RECOGNIZE (...)", trades=trades)  # doctest: +SKIP
    """
    a_text("the query", query, code="NOT_A_QUERY", may_be_empty=True)  # the parser refuses an empty one
    if is_event_text(query):
        raise QueryError(
            "NOT_A_QUERY",
            "this is an event query, and ost.sql takes SQL",
            hint="df.transform(ost.events(text, type=..., time=...)), or ost.match(text, table) in this process",
        )
    check_tables(more_tables, _OPTIONS)
    by_name = all_tables(tables, more_tables)
    if spark is not None:
        check_spark(spark)
    session = spark or _session_of(by_name)
    options = ClauseOptions(
        Limits(max_partial_matches),
        BatchOptions(sort, memory_budget, skew, end),
        StreamSettings(late, eager, buckets, decision_time, forget_keys_after, emit, on_change, on_error),
        IdColumns(match_id, run_id),
        history,
    )
    if history is not None:
        _check_one_clause(query)
    return _Answerer(session, by_name, options).answer(query, parameter_values(args))


_OPTIONS = tuple(name for name in inspect.signature(sql).parameters if name not in ("query", "more_tables"))


def _check_one_clause(text: str) -> None:
    """Raises unless there is one MATCH_RECOGNIZE, also counting those inside the inputs of others."""
    words = [token.upper for token in tokenize(text)]
    count = sum(pair == ("MATCH_RECOGNIZE", "(") for pair in itertools.pairwise(words))
    if count != 1:
        raise QueryError(
            "INVALID_OPTION",
            f"history= is for statements with one MATCH_RECOGNIZE, and this one has {count}",
            hint="start each clause with df.transform(ost.match_recognize(..., history=...))",
        )


def _session_of(tables: Mapping[str, DataFrame]) -> SparkSession:
    for table in tables.values():
        return table.sparkSession
    session = SparkSession.getActiveSession()
    if session is None:
        raise EnvironmentFault("NO_SESSION", "there is no active Spark session", hint="pass spark=... or a table")
    return session


class _Answerer:
    def __init__(self, spark: SparkSession, tables: Mapping[str, DataFrame], options: ClauseOptions) -> None:
        self.spark = spark
        self.settings = settings_of(spark)
        self.tables = {self.settings.fold(name): table for name, table in tables.items()}
        self.options = options

    def of_history(self) -> _Answerer:
        """The same, with the archive in place of the streaming table."""
        streaming = [name for name, table in self.tables.items() if table.isStreaming]
        if len(streaming) != 1:
            raise QueryError(
                "INVALID_OPTION",
                f"history= stands for one streaming table, and this statement is given {len(streaming)}",
                hint="pass the stream as a table of the call, or match with df.transform(ost.match_recognize(...))",
            )
        tables = {**self.tables, streaming[0]: check_history(self.options.history)}
        return _Answerer(self.spark, tables, replace(self.options, history=None))

    def answer(self, text: str, args: Args) -> DataFrame:
        statement = read_statement(text, self.settings)
        view = read_temporary_view(text, self.settings) if self._needs_frames(statement) else None
        if view is not None:
            with in_statement(text, [view.query]):
                rows = self.answer(text[view.query.start : view.query.end], args_inside(args, text, [view.query]))
            return view.create(rows, text)
        if statement.is_clause_alone:  # SELECT * FROM input MATCH_RECOGNIZE ( ... )
            return self._matches(statement, statement.clauses[0], args)
        windows = run_windows(
            statement,
            self.options,
            args,
            lambda select, block: self._alone(statement, select, block.input_query, block.source, args),
            lambda select, span: self._sub_query(statement, select, span, args),
        )
        statement, pieces, frames = windows.statement, list(windows.pieces), dict(windows.frames)
        correlations = find_correlations(statement)
        for i, correlation in enumerate(correlations):
            live = self._input(statement, correlation.live, args)
            is_own_archive = written_alike(text, correlation.live, correlation.archive)
            if live.isStreaming and is_own_archive:
                return self._correlated_stream(text, live, args)
            archive = live if is_own_archive else self._input(statement, correlation.archive, args)
            name = f"ost_pairs{i}"
            frames[name] = pairs_of(text, correlation, live, archive, self.options)
            pieces += correlation_pieces(correlation, name)
        paired = [clause for correlation in correlations for clause in (correlation.live, correlation.archive)]
        for i, clause in enumerate(statement.clauses):
            if clause in paired:
                continue
            name = f"ost_mr{i}"
            frames[name] = self._matches(statement, clause, args)
            pieces.append((clause.span, f"{{{name}}}"))
        names = list(self.tables)
        for table in statement.tables:
            key = self.settings.fold(table.name)
            if key in self.tables:
                name = f"ost_table{names.index(key)}"
                frames[name] = self.tables[key]
                pieces.append((table.span, table.with_frame(f"{{{name}}}")))
        rest = args_outside(args, text, [*(clause.span for clause in statement.clauses), *windows.inputs])
        return ask_spark(self.spark, text, pieces, frames, rest)

    def _needs_frames(self, statement: Statement) -> bool:
        """Whether Spark can't read the statement alone: it has patterns, or names DataFrames of the call."""
        has_pattern = any(token.upper == "PATTERN" for token in tokenize(statement.text))
        return has_pattern or any(self.settings.fold(table.name) in self.tables for table in statement.tables)

    def _matches(self, statement: Statement, clause: Clause, args: Args) -> DataFrame:
        source = self._input(statement, clause, args)
        options = self.options
        if options.history is not None:
            options = replace(options, history=self.of_history()._input(statement, clause, args))
        settings = session_settings(source)
        with in_statement(statement.text, [clause.body]):
            query = parse_clause(
                statement.text[clause.body.start : clause.body.end],
                input_name=clause.input_name,
                double_quoted_identifiers=settings.double_quoted_identifiers,
                parameters=clause_parameters(args, statement.text, clause.body),
                has_sub_queries=True,
            )
            start = clause.body.start
            query = with_values(query, lambda span: self._sub_query(statement, clause, span.moved(start), args))
            return match_dataframe(replace(query, ids=options.ids), source, options, settings)

    def _sub_query(self, statement: Statement, place: Clause | Select, span: Span, args: Args) -> DataFrame:
        """The rows of a sub-query in MEASURES or DEFINE."""
        query = f"SELECT * FROM {statement.text[span.start : span.end]}"
        try:
            return self._alone(statement, place, query, span, args)
        except QueryError as error:
            if error.code not in ("UNKNOWN_COLUMN", "CORRELATED_INPUT"):
                raise
            message = f"a sub-query in MEASURES or DEFINE must stand on its own: {error.message}"
            hint = "columns of the rows that are matched can't be used inside it"
            raise QueryError("CORRELATED_SUBQUERY", message, text=statement.text, span=span, hint=hint) from None

    def _correlated_stream(self, text: str, live: DataFrame, args: Args) -> DataFrame:
        """The rows of a correlation of a stream with its own recent history."""
        buckets = self.options.stream.buckets
        check_only_limits(replace(self.options, stream=replace(self.options.stream, buckets=DEFAULT_BUCKETS)))
        if args:
            message = "the state of a correlation stores its text, which can't have parameters"
            raise QueryError("INVALID_OPTION", message, hint="write the values into the text")
        terms = OwnArchiveTerms(CorrelationOptions(), self.options.limits, buckets)
        return correlate_stream(text, live, terms)

    def _input(self, statement: Statement, clause: Clause, args: Args) -> DataFrame:
        """The input of the clause."""
        text = statement.text
        written = text[clause.input.start : clause.input.end]
        fold = self.settings.fold
        if fold(written) in self.tables and not any(fold(table.name) == fold(written) for table in clause.tables):
            return self.tables[fold(written)]
        return self._alone(statement, clause, f"SELECT * FROM {written}", clause.input, args)

    def _alone(self, statement: Statement, place: Clause | Select, query: str, source: Span, args: Args) -> DataFrame:
        """The rows of a query over the input that stands at `source`, with the common tables that it needs."""
        text = statement.text
        named = "MATCH_RECOGNIZE" if isinstance(place, Clause) else "a window with a row pattern"
        common = needed_tables(text, query, place.tables, self.settings.fold)
        if any(table.span.start <= place.span.start < table.span.end for level in common for table in level):
            raise QueryError(
                "CORRELATED_INPUT",
                f"the input of {named} can't be the recursive table that it stands in",
                text=text,
                span=source,
                hint="match the rows of the whole recursive table: FROM table MATCH_RECOGNIZE ( ... )",
            )
        spans = [*(table.span for level in common for table in level), source]
        try:
            return self.answer(on_its_own(text, query, common), args_inside(args, text, spans))
        except QueryError as error:
            if error.code == "UNKNOWN_COLUMN" and place.in_subquery:
                raise QueryError(
                    "CORRELATED_INPUT",
                    f"the input of {named} must stand on its own: {error.message}",
                    text=text,
                    span=source,
                    hint="columns of an outer query can't be used inside it",
                ) from None
            if error.span is None:
                raise QueryError(error.code, error.message, hint=error.hint, text=text, span=source) from None
            raise
