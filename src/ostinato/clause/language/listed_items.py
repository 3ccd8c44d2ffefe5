"""A list of a clause, such as its measures -> its items. A missing comma is named with a caret between the items."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind, Token

Item = TypeVar("Item")

PARTS = frozenset(
    """PARTITION ORDER MEASURES ONE ALL AFTER INCREMENTAL MAXIMAL INITIAL SEEK PATTERN WITHIN MAXLENGTH SUBSET
    DEFINE""".split()
)
"""The words with which a part of the clause begins."""


def listed(
    cursor: Cursor, item: Callable[[], Item], role: str, another_follows: Callable[[Cursor], bool]
) -> tuple[Item, ...]:
    """The items, separated by commas. `another_follows` tells where an item begins that has no comma before it."""
    items = [item()]
    while True:
        if not cursor.accept(","):
            if not another_follows(cursor):
                return tuple(items)
            gap = Span(cursor.tokens[cursor.at - 1].span.end, cursor.token.span.start)
            cursor.fail(f"a comma is missing between the {role}", span=gap)
        items.append(item())


def measure_follows(cursor: Cursor) -> bool:
    """Whether `expression AS` follows in this part of the clause."""
    depth = 0
    for token in cursor.tokens[cursor.at :]:
        depth += (token.upper in ("(", "[")) - (token.upper in (")", "]"))
        if depth < 0 or token.kind is Kind.END or (depth == 0 and (token.upper in PARTS or token.upper == ",")):
            return False
        if depth == 0 and token.upper == "AS":
            return True
    return False


def alias_follows(cursor: Cursor) -> bool:
    """Whether a measure's name follows without AS, and behind it the end of the measure."""
    return variable_follows(cursor) and cursor.ahead().upper in (*PARTS, ",")


def key_follows(cursor: Cursor) -> bool:
    """Whether a column follows, and behind it the end of a key."""
    return variable_follows(cursor) and cursor.ahead().upper in (*PARTS, ",", "ASC", "DESC", "NULLS", ".")


def definition_follows(cursor: Cursor) -> bool:
    return variable_follows(cursor) and cursor.ahead().upper == "AS"


def subset_follows(cursor: Cursor) -> bool:
    return variable_follows(cursor) and cursor.ahead().upper == "="


def variable_follows(cursor: Cursor) -> bool:
    return _is_name(cursor.token) and cursor.token.upper not in PARTS


def _is_name(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED)
