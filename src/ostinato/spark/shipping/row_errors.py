"""Errors on both sides of a task: rows that carry one are raised by Spark, and Spark's own become ours."""

from __future__ import annotations

from ostinato.errors import QueryError
from ostinato.expressions.syntax import Expr, span_of
from ostinato.rows.column_names import ERROR

_RAISED = f"raise_error(concat({ERROR}, repeat(uuid(), 0)))"
RAISES = f"CASE WHEN {ERROR} IS NULL THEN TRUE ELSE CAST({_RAISED} AS BOOLEAN) END"
"""The condition that all rows fulfil, except one that carries an error: that one is raised.

A row with an error is NULL otherwise, so conditions of the query around it would drop it. Spark never mixes them with
one that isn't deterministic, hence the uuid.
"""

_CODES = {
    "UNRESOLVED_ROUTINE": "UNKNOWN_FUNCTION",
    "DATATYPE_MISMATCH": "TYPE_MISMATCH",
    "UNRESOLVED_COLUMN": "UNKNOWN_COLUMN",
    "FIELD_NOT_FOUND": "UNKNOWN_COLUMN",
    "WRONG_NUM_ARGS": "INVALID_ARGUMENTS",
    "PARSE_SYNTAX_ERROR": "SYNTAX_ERROR",
}


def refusal(error: Exception, expr: Expr | None, text: str | None) -> QueryError:
    """Spark's word on an expression as our error: its message without the plan, with a caret."""
    condition = getattr(error, "getCondition", lambda: None)() or ""
    code = next((ours for theirs, ours in _CODES.items() if str(condition).startswith(theirs)), "ANALYSIS_ERROR")
    message = str(error).strip().split("\n")[0].split(" SQLSTATE")[0].split(";")[0]
    message = message.split("] ", 1)[-1].rstrip(". ")
    return QueryError(code, message, text=text, span=None if expr is None else span_of(expr))
