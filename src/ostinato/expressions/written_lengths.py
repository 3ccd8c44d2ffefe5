"""Tokens of a length of time -> their text: `30 MINUTES`, `1 HOUR 30 MINUTES`, `INTERVAL '30' MINUTE`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parsing import ExpressionParser


@dataclass(frozen=True, slots=True)
class WrittenLength:
    """The text of the tokens, for `parse_interval`, and their place in the query."""

    text: str
    span: Span


def written_length(cursor: Cursor, *, example: str, not_units: Collection[str]) -> WrittenLength:
    """Takes the tokens of a length. `not_units` are the words that may follow it, `example` is for the hint."""
    start, first = cursor.token.span, cursor.at
    if cursor.sees("INTERVAL"):
        ExpressionParser(cursor).primary()
    else:
        _take_amounts(cursor, example, not_units)
    tokens = cursor.tokens[first : cursor.at]
    return WrittenLength(" ".join(token.text for token in tokens), start.to(tokens[-1].span))


def _take_amounts(cursor: Cursor, example: str, not_units: Collection[str]) -> None:
    """Takes numbers with their units, at least one."""
    cursor.accept("-")
    if cursor.token.kind not in (Kind.NUMBER, Kind.STRING):
        cursor.fail(f"expected a length, found {cursor.describe()}", hint=f"e.g. {example}")
    while cursor.token.kind in (Kind.NUMBER, Kind.STRING):
        unit = cursor.ahead()
        cursor.take()
        if unit.kind is not Kind.WORD or unit.upper in not_units:
            cursor.fail(f"expected a unit of time, found {cursor.describe()}", hint=f"e.g. {example}")
        cursor.take()
