"""`ost.sql`: full SQL text in which MATCH_RECOGNIZE may stand wherever a table may.

Each clause is answered on its own input and put back as a DataFrame; the text around it reaches Spark unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from ostinato.errors import EnvironmentFault, QueryError, Span
from ostinato.language.lexer import tokenize
from ostinato.language.match_recognize import parse_clause
from ostinato.language.statement import Clause, CommonTable, Statement, read_statement
from ostinato.planning.typed import Limits
from ostinato.runtimes.spark.batch import (
    MEMORY_BUDGET_BYTES,
    BatchOptions,
    SortBy,
    match_dataframe,
    refusal,
    session_settings,
)
from ostinato.runtimes.spark.quiet import without_error_log


def sql(
    query: str,
    *,
    spark: SparkSession | None = None,
    args: Mapping[str, Any] | Sequence[Any] | None = None,
    max_partial_matches: int = Limits().max_partial_matches,
    sort: SortBy = "auto",
    memory_budget: int = MEMORY_BUDGET_BYTES,
    **tables: DataFrame,
) -> DataFrame:
    """The result of a query as a lazy DataFrame.

    `tables` are DataFrames by the names that the query uses; other names come from the session's catalog. `args` fill
    the parameters (`:name` or `?`) of the text outside the clauses, as in `spark.sql`. `max_partial_matches` bounds
    what one row of one key may try; `sort` says who orders the rows of a key ("auto": the worker, unless the input is
    estimated above `memory_budget` bytes per task).
    """
    session = spark or _session_of(tables)
    options = BatchOptions(Limits(max_partial_matches), sort, memory_budget)
    return _Answerer(session, tables, args, options).answer(query)


def _session_of(tables: Mapping[str, DataFrame]) -> SparkSession:
    for table in tables.values():
        return table.sparkSession
    session = SparkSession.getActiveSession()
    if session is None:
        raise EnvironmentFault("NO_SESSION", "there is no active Spark session", hint="pass spark=... or a table")
    return session


class _Answerer:
    def __init__(self, spark: SparkSession, tables: Mapping[str, DataFrame], args: Any, options: BatchOptions) -> None:
        self.spark = spark
        self.tables = {name.lower(): table for name, table in tables.items()}
        self.args = args
        self.options = options

    def answer(self, text: str) -> DataFrame:
        statement = read_statement(text)
        pieces: list[tuple[Span, str]] = []
        frames: dict[str, DataFrame] = {}
        for i, clause in enumerate(statement.clauses):
            name = f"ost_mr{i}"
            frames[name] = self._matches(statement, clause)
            pieces.append((clause.span, f"{{{name}}}"))
        for table in statement.tables:
            if table.name.lower() in self.tables:
                name = f"ost_{_identifier(table.name)}"
                frames[name] = self.tables[table.name.lower()]
                alias = "" if table.aliased else f" AS {text[table.span.start : table.span.end]}"
                pieces.append((table.span, f"{{{name}}}{alias}"))
        return self._ask(text, pieces, frames)

    def _ask(self, text: str, pieces: list[tuple[Span, str]], frames: dict[str, DataFrame]) -> DataFrame:
        """Spark's answer to the text with DataFrames in place of some pieces of it."""
        written, at = [], 0
        for span, replacement in sorted(pieces, key=lambda piece: piece[0].start):
            written += [_braces(text[at : span.start]), replacement]
            at = span.end
        written.append(_braces(text[at:]))
        with without_error_log():
            try:
                if frames:
                    result = self.spark.sql("".join(written), args=self.args, **frames)
                else:
                    result = self.spark.sql(text, args=self.args)
                _ = result.schema  # Connect analyses late: let errors show here
                return result
            except ParseException as error:
                raise _not_sql(error, text) from None
            except AnalysisException as error:
                raise refusal(error, None, text) from None

    def _matches(self, statement: Statement, clause: Clause) -> DataFrame:
        body = statement.text[clause.body.start : clause.body.end]
        source = self._input(statement, clause)
        settings = session_settings(source)
        try:
            query = parse_clause(
                body,
                input_name=clause.input_name,
                double_quoted_identifiers=settings.double_quoted_identifiers,
            )
            return match_dataframe(query, source, self.options, settings)
        except QueryError as error:
            raise _in_statement(error, body, statement.text, clause.body.start) from None

    def _input(self, statement: Statement, clause: Clause) -> DataFrame:
        """The table behind which the clause stands."""
        written = statement.text[clause.input.start : clause.input.end]
        if written.lower() in self.tables and not any(t.name.lower() == written.lower() for t in clause.tables):
            return self.tables[written.lower()]
        prefix = _with_list(statement.text, written, clause.tables)
        try:
            return self.answer(f"{prefix}SELECT * FROM {written}")
        except QueryError as error:
            if error.code == "UNKNOWN_COLUMN":
                raise QueryError(
                    "CORRELATED_INPUT",
                    f"the input of MATCH_RECOGNIZE must stand on its own: {error.message}",
                    text=statement.text,
                    span=clause.input,
                    hint="columns of an outer query can't be used inside it",
                ) from None
            if error.code == "ANALYSIS_ERROR":
                raise QueryError(error.code, error.message, text=statement.text, span=clause.input) from None
            raise


def _with_list(text: str, written: str, known: tuple[CommonTable, ...]) -> str:
    """WITH and the common tables that the input names, directly or through one another."""
    needed: list[CommonTable] = []
    mentions = {token.name.lower() for token in tokenize(written)}
    for common in reversed(known):
        if common.name.lower() in mentions:
            needed.append(common)
            mentions |= {token.name.lower() for token in tokenize(text[common.span.start : common.span.end])}
    if not needed:
        return ""
    recursive = "RECURSIVE " if any(common.recursive for common in needed) else ""
    return f"WITH {recursive}{', '.join(text[c.span.start : c.span.end] for c in reversed(needed))} "


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name.lower())


def _braces(text: str) -> str:
    """Text that Spark's formatter gives back as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def _in_statement(error: QueryError, body: str, text: str, offset: int) -> QueryError:
    """The same error with its caret in the whole statement."""
    if error.text != body:
        return error
    span = None if error.span is None else Span(error.span.start + offset, error.span.end + offset)
    return QueryError(error.code, error.message, hint=error.hint, text=text, span=span)


def _not_sql(error: ParseException, text: str) -> QueryError:
    found = re.search(r"\(line (\d+), pos (\d+)\)", str(error))
    span = None
    if found is not None:
        lines = text.split("\n")
        line, column = min(int(found[1]), len(lines)), int(found[2])
        start = sum(len(each) + 1 for each in lines[: line - 1]) + column
        span = Span(min(start, len(text)), min(start + 1, len(text)))
    return QueryError("SYNTAX_ERROR", refusal(error, None, None).message, text=text, span=span)
