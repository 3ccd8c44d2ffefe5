"""The columns of a funnel's input, checked before the funnel is planned."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.errors import QueryError
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Field, rebuild
from ostinato.funnels.funnel import Funnel
from ostinato.funnels.funnel_clause import ORDER_COLUMN
from ostinato.rows.column_lookup import ColumnLookup


def input_time(funnel: Funnel, columns: Sequence[str], case_sensitive: bool) -> str:
    """The input's time column. Raises RESERVED_NAME and UNKNOWN_COLUMN."""
    lookup = ColumnLookup(columns, case_sensitive)
    if ORDER_COLUMN in lookup:
        message = f"a funnel adds a column '{ORDER_COLUMN}' to its input, which has one already"
        raise QueryError("RESERVED_NAME", message, hint="rename it")
    return lookup.column(funnel.time[0])


def not_a_time(column: str, kind: object) -> QueryError:
    message = f"the time of a funnel is a timestamp or a date, and column '{column}' is {kind}"
    return QueryError("INVALID_TIME", message, hint=f"CAST({column} AS TIMESTAMP), or timestamp_seconds({column})")


def over_columns(expr: Expr, lookup: ColumnLookup) -> Expr:
    """The expression over the columns of one row."""
    if not isinstance(expr, ColumnRef):
        return rebuild(expr, lambda node: over_columns(node, lookup))
    first, *fields = expr.parts
    result: Expr = Column(lookup.column(first.text), expr.span)
    for name in fields:
        result = Field(result, name, expr.span)
    return result
