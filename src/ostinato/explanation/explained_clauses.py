"""The arguments of `explain` -> clauses, each with the columns of its input and their types, if known."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.query.pattern import variables
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import QueryError
from ostinato.explanation.explained_windows import windows_of
from ostinato.expressions.lexer import first_token
from ostinato.expressions.parsing import is_niladic
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Name, children
from ostinato.expressions.types import Settings, parse_type

_STATEMENT_WORDS = ("SELECT", "WITH", "FROM", "CREATE", "INSERT", "TABLE", "VALUES", "(")


@dataclass(frozen=True, slots=True)
class InputColumns:
    """Column names of the input, and the known types. `from_table`: they come from a table, not from the query."""

    names: tuple[str, ...]
    types: Mapping[str, pa.DataType]
    from_table: bool


@dataclass(frozen=True, slots=True)
class ExplainedClause:
    """One clause; `number` counts from 1 in the order in which the clauses run."""

    clause: MatchRecognize
    columns: InputColumns
    number: int = 1
    input_text: str = ""
    window: WindowPattern | None = None
    """The window whose clause it is, if it stands in one."""


def is_statement(text: str) -> bool:
    """Whether a text is a whole SQL statement, not a clause alone."""
    return first_token(text).upper in _STATEMENT_WORDS


def read_clauses(query: Any, table: Any = None) -> list[ExplainedClause]:
    """The clauses of a query. A clause inside the input of another comes before it."""
    if isinstance(query, MatchRecognize):
        return [_only_clause(query, table)]
    if not isinstance(query, str):
        raise QueryError(
            "NOT_A_QUERY",
            f"expected the text of a query, got {type(query).__name__}",
            hint="a clause, SQL text with MATCH_RECOGNIZE in it, or an ost.pattern(...)",
        )
    if not is_statement(query):
        return [_only_clause(parse_clause(query), table)]
    clauses = [
        ExplainedClause(clause, _columns(clause, _table_for(source, table)), 0, source)
        for clause, source in _clauses_of(query)
    ]
    clauses += [
        ExplainedClause(window.clause, _columns(window.clause, None), 0, source, window)
        for window, source in windows_of(query)
    ]
    if not clauses:
        message = "the query has no MATCH_RECOGNIZE and no window with a row pattern"
        raise QueryError("NO_CLAUSE", message, hint="there is nothing to explain")
    return [
        replace(clause, number=number, input_text=textwrap.shorten(clause.input_text, 80))
        for number, clause in enumerate(clauses, start=1)
    ]


def _only_clause(clause: MatchRecognize, table: Any) -> ExplainedClause:
    if isinstance(table, dict):
        table = next(iter(table.values()), None)
    return ExplainedClause(clause, _columns(clause, table))


def _clauses_of(text: str) -> Iterator[tuple[MatchRecognize, str]]:
    """Clauses with the text of their inputs."""
    for clause in read_statement(text).clauses:
        source = text[clause.input.start : clause.input.end]
        yield from _clauses_of(f"SELECT * FROM {source}")
        body = text[clause.body.start : clause.body.end]
        yield parse_clause(body, input_name=clause.input_name, has_sub_queries=True), " ".join(source.split())


def _table_for(source: str, table: Any) -> Any:
    """The table of an input: by name if `table` is a dict; else `table`, if the input is a plain name."""
    name = source.split(" ", maxsplit=1)[0].strip("`")
    if isinstance(table, dict):
        return next((value for key, value in table.items() if key.lower() == name.lower()), None)
    return table if "(" not in source else None


def is_streaming(table: Any) -> bool:
    """Whether the table is a streaming DataFrame. Reads nothing else from Spark."""
    if isinstance(table, dict):
        table = next(iter(table.values()), None)
    return bool(getattr(table, "isStreaming", False))


# --- columns ---


def _columns(clause: MatchRecognize, table: Any) -> InputColumns:
    if table is None:
        return InputColumns(mentioned_columns(clause), {}, from_table=False)
    return table_columns(table)


def table_columns(table: Any) -> InputColumns:
    """The columns of a pyarrow Table or Schema, a pandas or Spark DataFrame."""
    schema = _arrow_schema(table)
    if schema is not None:
        return InputColumns(tuple(schema.names), {field.name: field.type for field in schema}, from_table=True)
    if not hasattr(table, "columns"):
        raise QueryError(
            "NOT_A_TABLE",
            f"expected something with columns, got {type(table).__name__}",
            hint="a pyarrow Table or Schema, a pandas or Spark DataFrame, or a dict of them by table name",
        )
    names = tuple(str(name) for name in table.columns)
    return InputColumns(names, _spark_types(getattr(table, "dtypes", None)), from_table=True)


def _arrow_schema(table: Any) -> pa.Schema | None:
    """The schema of a table that Arrow can read; None for others, such as Spark's DataFrames. Reads no rows."""
    schema = table if isinstance(table, pa.Schema) else getattr(table, "schema", None)
    if isinstance(schema, pa.Schema):
        return schema
    try:
        if type(table).__module__.split(".")[0] == "pandas":
            return pa.Schema.from_pandas(table, preserve_index=False)
        if hasattr(table, "__arrow_c_stream__") and not hasattr(table, "isStreaming"):
            return pa.RecordBatchReader.from_stream(table).schema
    except (pa.ArrowException, AttributeError, ValueError) as error:  # AttributeError: a Series has no columns
        why = "; ".join(map(str, error.args))
        raise QueryError("TABLE_NOT_READABLE", f"Arrow can't read this {type(table).__name__}: {why}") from error
    return None


def _spark_types(dtypes: Any) -> dict[str, pa.DataType]:
    """The types of a Spark DataFrame by its `dtypes`, without those that Arrow lacks. Reads nothing else from Spark."""
    if not isinstance(dtypes, list) or not all(isinstance(pair, tuple) for pair in dtypes):
        return {}
    types = {str(name): parse_type(str(kind), Settings()) for name, kind in dtypes}
    return {name: kind for name, kind in types.items() if kind is not None}


def mentioned_columns(clause: MatchRecognize) -> tuple[str, ...]:
    """The columns that a clause mentions, in the order of the text.

    >>> mentioned_columns(parse_clause("ORDER BY ts MEASURES A.price AS p PATTERN (A B) DEFINE B AS qty > A.Price"))
    ('ts', 'price', 'qty')
    """
    qualifiers = {*variables(clause.pattern), *(subset.name for subset in clause.subsets)}
    if clause.input_name is not None:
        qualifiers.add(clause.input_name.upper())
    names: list[str] = []
    for key in clause.keys:
        names += [key.column.text] if key.expression is None else _columns_in(key.expression, qualifiers)
    for measure in clause.measures:
        names += _columns_in(measure.expression, qualifiers)
    for definition in clause.definitions:
        names += _columns_in(definition.condition, qualifiers)
    first_spelling: dict[str, str] = {}
    computed = {key.column.text.lower() for key in clause.keys if key.expression is not None}
    for name in names:
        if name.lower() not in computed:
            first_spelling.setdefault(name.lower(), name)
    return tuple(first_spelling.values())


def _columns_in(expr: Expr, qualifiers: set[str]) -> Iterator[str]:
    if isinstance(expr, ColumnRef):
        name = _column_of(expr.parts, qualifiers)
        if name is not None:
            yield name
    elif not (isinstance(expr, Call) and expr.name == "classifier"):
        for child in children(expr):
            yield from _columns_in(child, qualifiers)


def _column_of(names: tuple[Name, ...], qualifiers: set[str]) -> str | None:
    if len(names) > 1 and (names[0].folded in qualifiers or names[0].text.upper() in qualifiers):
        return names[1].text
    return None if len(names) == 1 and is_niladic(names[0].text) else names[0].text
