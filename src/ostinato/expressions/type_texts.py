"""Reads names of types and INTERVAL literals from a cursor; returns them as written."""

from __future__ import annotations

from typing import NoReturn

from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.foreign_names import type_hint
from ostinato.expressions.lexer import Kind
from ostinato.expressions.syntax import Literal

_TIME_ZONES = (("WITHOUT", "TIME", "ZONE"), ("WITH", "LOCAL", "TIME", "ZONE"))
_UNITS = frozenset(
    unit + plural
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
    for plural in ("", "S")
)


def read_type(cursor: Cursor) -> tuple[str, Span]:
    """A type name with its parameters, as written: DECIMAL(10, 2), ARRAY<STRING>, INTERVAL DAY TO SECOND."""
    first = cursor.token
    if first.kind is not Kind.WORD:
        cursor.fail(f"expected a type, found {cursor.describe()}")
    cursor.take()
    span = first.span
    if first.upper == "TIMESTAMP" and any(cursor.accept(*words) for words in _TIME_ZONES):
        span = span.to(cursor.tokens[cursor.at - 1].span)
    hint = type_hint(first.upper, cursor.token.upper)
    if hint is not None:
        _refuse_foreign_type(cursor, first.span, hint)
    if first.upper == "INTERVAL":
        while cursor.token.upper in _UNITS or cursor.sees("TO"):
            span = span.to(cursor.take().span)
    for opening, closing in (("(", ")"), ("<", ">")):
        if cursor.sees(opening):
            span = span.to(_balanced(cursor, opening, closing))
            break
    return cursor.text[span.start : span.end], span


def _refuse_foreign_type(cursor: Cursor, span: Span, hint: str) -> NoReturn:
    """Behind the first word of a type of another engine."""
    if cursor.sees("("):
        span = span.to(_balanced(cursor, "(", ")"))
    elif cursor.token.upper in ("WITH", "PRECISION"):
        span = span.to(cursor.take().span)
    written = cursor.text[span.start : span.end]
    cursor.fail(f"Spark SQL has no type {written}", code="UNSUPPORTED_TYPE", span=span, hint=hint)


def _balanced(cursor: Cursor, opening: str, closing: str) -> Span:
    depth = 0
    while True:
        token = cursor.token
        if token.kind is Kind.END:
            cursor.fail(f"the closing '{closing}' of the type is missing")
        for char in token.upper or "-":
            depth += (char == opening) - (char == closing)
        cursor.take()
        if depth <= 0:
            return token.span


def read_interval(cursor: Cursor) -> Literal:
    """INTERVAL with one or more numbers and units, as written."""
    start = cursor.take()
    end = start.span
    while True:
        if cursor.token.upper in ("-", "+"):
            cursor.take()
        if cursor.token.kind not in (Kind.STRING, Kind.NUMBER):
            cursor.fail(f"expected a number, found {cursor.describe()}")
        end = cursor.take().span
        if cursor.token.upper in _UNITS:
            end = cursor.take().span
            if cursor.sees("TO") and cursor.ahead().upper in _UNITS:
                cursor.take()
                end = cursor.take().span
        if not (cursor.token.kind in (Kind.STRING, Kind.NUMBER) and cursor.ahead().upper in _UNITS):
            return Literal("interval", cursor.text[start.span.start : end.end], start.span.to(end))
