"""`(SELECT ...)` inside an expression -> its text. Nothing in it is read but its parentheses and parameters."""

from __future__ import annotations

from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parameters import at_parameter
from ostinato.expressions.syntax import SubQuery

_STARTS = ("SELECT", "WITH", "VALUES")


def read_sub_query(cursor: Cursor, *, is_list: bool = False) -> SubQuery | None:
    """The sub-query behind an opening parenthesis, with the closing one; None if another expression follows."""
    if cursor.token.upper not in _STARTS or cursor.ahead().upper == ")":
        return None
    if not cursor.has_sub_queries:
        hint = "write it in a statement for ost.sql, or compute it first and pass its value with args={...}"
        cursor.fail("a sub-query can't be used in this query", code="UNSUPPORTED_IN_CLAUSE", hint=hint)
    start = cursor.tokens[cursor.at - 1].span
    span = start.to(_step_over(cursor))
    return SubQuery(cursor.text[span.start + 1 : span.end - 1], is_list, span)


def refuse_exists(cursor: Cursor) -> None:
    """Raises UNSUPPORTED_IN_CLAUSE for the sub-query of `EXISTS (SELECT ...)`."""
    if cursor.token.upper in _STARTS and cursor.ahead().upper != ")":
        hint = "write (SELECT count(*) > 0 FROM ...)"
        cursor.fail("EXISTS can't be used in a pattern query", code="UNSUPPORTED_IN_CLAUSE", hint=hint)


def _step_over(cursor: Cursor) -> Span:
    """Steps over the sub-query and its closing parenthesis. Its parameters count; in PATTERN, a `?` is none."""
    depth, pattern = 1, None
    while depth:
        token = cursor.token
        if token.kind is Kind.END:
            cursor.fail("the closing ')' of the sub-query is missing")
        if cursor.parameters is not None and pattern is None and at_parameter(cursor):
            cursor.parameters.value(cursor)
            continue
        if token.upper == "(":
            depth += 1
            if pattern is None and cursor.tokens[cursor.at - 1].upper == "PATTERN":
                pattern = depth
        elif token.upper == ")":
            pattern = None if pattern == depth else pattern
            depth -= 1
        cursor.take()
    return cursor.tokens[cursor.at - 1].span
