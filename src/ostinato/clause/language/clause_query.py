"""A clause and the simple SELECT around it, if there is one: the queries of `ost.match` and of workloads."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_parser import NO_DEFAULTS, DefaultColumns, parse_clause
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.language.select_list import Item, read_items
from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError, Span, errors_quoting
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.lexer import Kind, first_token, tokenize
from ostinato.expressions.parameters import NO_PARAMETERS, ParameterReader, Parameters
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import ColumnRef, Expr, Field, Name, rebuild
from ostinato.expressions.types import Settings


@dataclass(frozen=True, slots=True)
class ClauseQuery:
    """The clause, and the columns selected from its rows."""

    clause: MatchRecognize
    items: tuple[Item, ...] = (Item(None),)
    alias: str | None = None
    columns: tuple[str, ...] = ()
    """New names for the clause's columns: `AS alias (a, b)`; empty if they keep their own."""
    text: str | None = None
    parameters: Parameters | None = field(default=None, compare=False)
    """The values that the parameters of the text got."""

    def with_ids(self, ids: IdColumns) -> ClauseQuery:
        """The query whose clause also has these columns."""
        return replace(self, clause=replace(self.clause, ids=ids)) if ids != self.clause.ids else self

    def under(self, settings: Settings) -> ClauseQuery:
        """The query as a session with these settings reads its text."""
        text = self.text or self.clause.text
        if not settings.double_quoted_identifiers or text is None:
            return self
        query, written = _read_text(text, NO_DEFAULTS, self.parameters, True), self.clause
        clause = replace(
            query.clause,
            partition_by=query.clause.partition_by or written.partition_by,
            order_by=query.clause.order_by or written.order_by,
            ids=written.ids,
            input_name=written.input_name,
        )
        return replace(query, clause=clause)

    def select(self, output: pa.Table, settings: Settings) -> pa.Table:
        """The selected columns of the clause's rows."""
        columns: list[Any] = []
        names: list[str] = []
        with errors_quoting(self.text):
            output = output.rename_columns(self.renamed(output.column_names))
            for name, expr in self.selected(output.column_names):
                selected_column = _column(expr, output)
                columns.append(
                    evaluate(expr, lambda node: _column(node, output), output.num_rows, settings)
                    if selected_column is None
                    else selected_column
                )
                names.append(name)
        return pa.table(columns, names=names)

    def to_sql(self) -> str:
        """The text of the query, to parse it again."""
        if self.text is None:
            return render_clause(self.clause)
        items = ", ".join(
            (f"{quote(item.name)}.*" if item.name else "*")
            if item.expr is None
            else f"{render_expression(item.expr)} AS {quote(item.name)}"
            for item in self.items
        )
        names = f" ({', '.join(map(quote, self.columns))})" if self.columns else ""
        alias = "" if self.alias is None else f" AS {quote(self.alias)}{names}"
        source = quote(self.clause.input_name or "input")
        return f"SELECT {items} FROM {source} MATCH_RECOGNIZE ({render_clause(self.clause)}){alias}"

    @property
    def selects_all(self) -> bool:
        """Whether the rows are the clause's own, under their own names."""
        return self.items == (Item(None),) and not self.columns

    def renamed(self, columns: Sequence[str]) -> list[str]:
        """The names of the clause's columns outside of it."""
        if not self.columns:
            return list(columns)
        if len(self.columns) != len(columns):
            raise QueryError(
                "INVALID_ARGUMENTS", f"{len(self.columns)} names are given for {len(columns)} columns of the clause"
            )
        return list(self.columns)

    def selected(self, columns: Sequence[str]) -> list[tuple[str, Expr]]:
        """The SELECT list by name, over references to the clause's (renamed) columns."""
        selected_columns: list[tuple[str, Expr]] = []
        for item in self.items:
            if item.expr is None:
                self._check_qualifier(item)
                selected_columns += [(name, ColumnRef((Name(name, True),))) for name in columns]
            else:
                selected_columns.append((item.name, self._named(item.expr, columns)))
        return selected_columns

    def _check_qualifier(self, item: Item) -> None:
        if item.name and (self.alias is None or item.name.lower() != self.alias.lower()):
            hint = (
                f"the clause is named {self.alias}" if self.alias else "name the clause: MATCH_RECOGNIZE ( ... ) AS m"
            )
            raise QueryError("UNKNOWN_COLUMN", f"nothing here is named '{item.name}'", span=item.span, hint=hint)

    def _named(self, expr: Expr, columns: Sequence[str]) -> Expr:
        """The expression with its references resolved: without the alias, in the case of the column."""
        if not isinstance(expr, ColumnRef):
            return rebuild(expr, lambda child: self._named(child, columns))
        first, *fields = expr.parts
        if fields and self.alias is not None and first.text.lower() == self.alias.lower():
            first, *fields = fields
        same = [name for name in columns if name.lower() == first.text.lower()]
        column = next((name for name in same if name == first.text), next(iter(same), None))
        if column is None:
            raise QueryError("UNKNOWN_COLUMN", f"the clause gives no column '{first.text}'", span=expr.span)
        result: Expr = ColumnRef((Name(column, True),), expr.span)
        for name in fields:
            result = Field(result, name, expr.span)
        return result


def _column(node: Expr, output: pa.Table) -> pa.ChunkedArray | None:
    if isinstance(node, ColumnRef) and len(node.parts) == 1:
        return output.column(node.parts[0].text)
    return None


def as_clause_query(
    query: str | MatchRecognize, defaults: DefaultColumns = NO_DEFAULTS, parameters: Parameters | None = None
) -> ClauseQuery:
    """A clause's text, `SELECT ... FROM name MATCH_RECOGNIZE ( ... )`, or a parsed clause.

    `parameters` has the values of `:name` and `?`. Without it, parameters are refused.
    """
    if isinstance(query, MatchRecognize):
        ParameterReader(parameters or NO_PARAMETERS).check_all_used()
        return ClauseQuery(defaults.complete(query))
    if not isinstance(query, str):
        raise QueryError("NOT_A_QUERY", f"expected the text of a query, got {type(query).__name__}")
    return _read_text(query, defaults, parameters)


@functools.lru_cache(maxsize=128)  # one call reads its text two or three times: for its errors, then to run
def _read_text(text: str, defaults: DefaultColumns, parameters: Parameters | None, quotes: bool = False) -> ClauseQuery:
    """`quotes`: whether double quotes enclose names."""
    reader = None if parameters is None else ParameterReader(parameters)
    if first_token(text).upper not in ("SELECT", "WITH", "FROM"):
        clause = parse_clause(text, defaults=defaults, double_quoted_identifiers=quotes, parameters=reader)
        query = ClauseQuery(clause, parameters=parameters)
    else:
        query = replace(_read_select(text, defaults, quotes, reader), parameters=parameters)
    if reader is not None:
        reader.check_all_used()
    return query


def _read_select(text: str, defaults: DefaultColumns, quotes: bool, parameters: ParameterReader | None) -> ClauseQuery:
    clauses = read_statement(text, Settings(double_quoted_identifiers=quotes)).clauses
    cursor = Cursor(text, double_quoted_identifiers=quotes, parameters=parameters)
    if len(clauses) != 1 or not cursor.accept("SELECT"):
        _refuse(text, clauses[1].span if len(clauses) > 1 else cursor.tokens[0 if clauses else -1].span)
    clause = clauses[0]
    source = tokenize(text[clause.input.start : clause.input.end], double_quoted_identifiers=quotes)
    named = [token for token in source[:-1] if token.upper != "AS"]
    if len(named) > 2 or any(token.kind not in (Kind.WORD, Kind.BACK_QUOTED) for token in named):
        _refuse(text, clause.input)
    items = read_items(cursor)
    cursor.expect("FROM")
    if cursor.token.span.start != clause.input.start:
        _refuse(text, cursor.token.span)
    while cursor.token.span.start < clause.span.end and cursor.token.kind is not Kind.END:
        cursor.take()
    alias = None
    cursor.accept("AS")
    if cursor.token.kind in (Kind.WORD, Kind.BACK_QUOTED) and cursor.token.upper not in _CLAUSES_BEHIND:
        alias = cursor.take().name
    columns = _column_names(cursor) if alias is not None and cursor.accept("(") else ()
    cursor.accept(";")
    if cursor.token.kind is not Kind.END:
        _refuse(text, cursor.token.span)
    body = parse_clause(
        text[clause.body.start : clause.body.end],
        input_name=clause.input_name,
        defaults=defaults,
        double_quoted_identifiers=quotes,
        parameters=parameters,
    )
    return ClauseQuery(body, items, alias, columns, text)


_CLAUSES_BEHIND = frozenset(
    "WHERE GROUP HAVING ORDER LIMIT JOIN INNER LEFT RIGHT FULL CROSS UNION INTERSECT EXCEPT".split()
)


def _column_names(cursor: Cursor) -> tuple[str, ...]:
    names = [cursor.name("a column's name")[0].text]
    while cursor.accept(","):
        names.append(cursor.name("a column's name")[0].text)
    cursor.expect(")")
    return tuple(names)


def _refuse(text: str, span: Span | None) -> Any:
    raise QueryError(
        "UNSUPPORTED_IN_PROCESS",
        "in this process only SELECT list FROM name [AS name] MATCH_RECOGNIZE ( ... ) [AS alias] can run",
        text=text,
        span=span,
        hint="pass the clause alone, or run the statement on Spark with ost.sql",
    )
