"""Errors of tasks travel as rows, which make Spark raise them. Spark's own errors become `QueryError`s."""

from __future__ import annotations

import re

from ostinato.errors import QueryError
from ostinato.expressions.foreign_names import arguments_hint, function_hint, type_hint
from ostinato.expressions.functions.comparisons import DIFFERENCE_HINT
from ostinato.expressions.syntax import Expr
from ostinato.rows.column_names import ERROR

_RAISED = f"raise_error(concat({ERROR}, repeat(uuid(), 0)))"
RAISES = f"CASE WHEN {ERROR} IS NULL THEN TRUE ELSE CAST({_RAISED} AS BOOLEAN) END"
"""A condition that is true for all rows. For a row that carries an error, it raises the error.

All other columns of such a row are NULL, so the conditions of a surrounding query would drop the row first. Spark
doesn't reorder conditions that aren't deterministic, hence the uuid.
"""

_INTERVAL_WITH_NUMBER = re.compile(r'("INTERVAL [A-Z ]+" and "(INT|BIGINT)")|("(INT|BIGINT)" and "INTERVAL)')

_FUNCTION_NAME = re.compile(r"""`(\w+)`|"(\w+)\(""")
_TYPE_NAME = re.compile(r'[Dd]ata ?[Tt]ype "(\w+)')

_CODES = {
    "UNRESOLVED_ROUTINE": "UNKNOWN_FUNCTION",
    "DATATYPE_MISMATCH": "TYPE_MISMATCH",
    "UNRESOLVED_COLUMN": "UNKNOWN_COLUMN",
    "FIELD_NOT_FOUND": "UNKNOWN_COLUMN",
    "WRONG_NUM_ARGS": "INVALID_ARGUMENTS",
    "NAMED_PARAMETERS_NOT_SUPPORTED": "UNSUPPORTED_FUNCTION",
    "PARSE_SYNTAX_ERROR": "SYNTAX_ERROR",
}


def refusal(error: Exception, expr: Expr | None, text: str | None) -> QueryError:
    """Spark's error for an expression as a `QueryError`: its message without the plan, with a caret."""
    condition = getattr(error, "getCondition", lambda: None)() or ""
    code = next((ours for theirs, ours in _CODES.items() if str(condition).startswith(theirs)), "ANALYSIS_ERROR")
    message = str(error).strip().split("\n")[0].split(" SQLSTATE")[0].split(";")[0]
    message = message.split("] ", 1)[-1].rstrip(". ")
    hint = DIFFERENCE_HINT if _INTERVAL_WITH_NUMBER.search(message) else _foreign_hint(code, message)
    return QueryError(code, message, text=text, span=None if expr is None else expr.span, hint=hint)


def _foreign_hint(code: str, message: str) -> str | None:
    """The hint for a type or function that only another engine has, or that it calls with other arguments."""
    kind = _TYPE_NAME.search(message)
    if kind is not None:
        return type_hint(kind[1], "")
    name = _FUNCTION_NAME.search(message)
    if name is None or code not in ("UNKNOWN_FUNCTION", "INVALID_ARGUMENTS", "TYPE_MISMATCH"):
        return None
    word = name[1] or name[2]
    return function_hint(word) if code == "UNKNOWN_FUNCTION" else arguments_hint(word)
