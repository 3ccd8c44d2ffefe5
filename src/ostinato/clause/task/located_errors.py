"""An error that a row causes -> the same error with the row's key and time, and the user's expression."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ostinato.clause.query.bound_clause import BoundClause
from ostinato.errors import MatchError
from ostinato.rows.column_names import KEY

_MOST_SHOWN = 80
"""Characters of an expression or a value that a message shows."""


def located(
    error: MatchError, bound: BoundClause, columns: Mapping[str, pa.Array], row: int, measure: str | None = None
) -> MatchError:
    """The error with the expression that failed, and the key and time of a row where `columns` has them.
    `measure`: the name of the measure that failed."""
    keys = dict.fromkeys((*bound.partition_by, *(key.column for key in bound.order_by)))
    names = [name for name in keys if not name.startswith(KEY)]
    values = [f"{name} = {shown_value(columns[name][row].as_py())}" for name in names if name in columns]
    where = "" if measure is None else f", in the measure '{measure}'"
    where += f", in the row with {', '.join(values)}" if values else ""
    return with_expression(error, bound.clause.text, where)


def with_expression(error: MatchError, text: str | None, where: str = "") -> MatchError:
    """The error with the expression in the clause's text that failed, if it is known."""
    expression = ""
    if text is not None and error.span is not None:
        expression = f" in {shown_text(text[error.span.start : error.span.end])}"
    return MatchError(
        error.code, f"{error.message}{expression}{where}", hint=error.hint, text=error.text, span=error.span
    )


def shown_text(text: str) -> str:
    """A part of a query's text on one line, cut if it is long."""
    return _cut(" ".join(text.split()))


def shown_value(value: object) -> str:
    """A value of a key or a time column, as messages show it."""
    if value is None:
        return "NULL"
    return _cut(repr(value) if isinstance(value, str | bytes) else str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
