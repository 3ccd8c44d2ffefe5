"""Text behind WITHIN of an event query -> Bound: `30 MINUTES SLIDE 5 MINUTES`, `1000 EVENTS TUMBLE`."""

from __future__ import annotations

import re
from datetime import timedelta

from ostinato.errors import Span
from ostinato.event_queries.language.event_query import Bound, EventSpan, EventWindows, TimeSpan, TimeWindows
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.intervals import parse_interval
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parsing import ExpressionParser

MAX_EVENTS = 2**62
MAX_LENGTH = timedelta(days=1_000_000)
"""The largest length. Times plus such a length still fit into 64 bits of microseconds."""
MAX_WINDOWS = 10_000
"""The most windows that one event may be in."""
_EXAMPLE = "30 MINUTES, INTERVAL '30' MINUTE or 1000 EVENTS"
_NOT_A_UNIT = frozenset("SLIDE TUMBLE RETURN".split())


def event_bound(cursor: Cursor) -> Bound:
    """Parses the text behind WITHIN."""
    length = _length(cursor, "WITHIN")
    if cursor.accept("TUMBLE"):
        return EventWindows(length, length) if isinstance(length, int) else TimeWindows(length, length)
    if not cursor.accept("SLIDE"):
        return EventSpan(length) if isinstance(length, int) else TimeSpan(length)
    start = cursor.token.span
    slide = _length(cursor, "SLIDE")
    span = start.to(cursor.tokens[cursor.at - 1].span)
    if isinstance(length, int) and isinstance(slide, int):
        _check_windows(cursor, length / slide, span)
        return EventWindows(length, slide)
    if isinstance(length, int) or isinstance(slide, int):
        cursor.fail("WITHIN and SLIDE both take time, or both events", code="INVALID_SLIDE", span=span)
    _check_windows(cursor, length / slide, span)
    return TimeWindows(length, slide)


def _check_windows(cursor: Cursor, many: float, span: Span) -> None:
    if many > MAX_WINDOWS:
        cursor.fail(
            f"each event would lie in {many:,.0f} windows; {MAX_WINDOWS:,} is the most",
            code="INVALID_SLIDE",
            span=span,
            hint="a longer SLIDE, or WITHIN alone",
        )


def _length(cursor: Cursor, word: str) -> timedelta | int:
    """`30 MINUTES`, `1 HOUR 30 MINUTES`, `INTERVAL '30' MINUTE`, `1000 EVENTS`."""
    start, code, first = cursor.token.span, f"INVALID_{word}", cursor.at
    if cursor.sees("INTERVAL"):
        written = ExpressionParser(cursor).primary().span or start
    else:
        written = _amounts(cursor)
        if cursor.tokens[cursor.at - 1].upper in ("EVENT", "EVENTS"):
            number = "".join(token.text for token in cursor.tokens[first : cursor.at - 1])
            return _events(cursor, number, written, code)
    length = parse_interval(" ".join(token.text for token in cursor.tokens[first : cursor.at]))
    if length is None:
        cursor.fail(
            f"{word} takes a length of days, hours, minutes and seconds, or a number of events",
            code=code,
            span=written,
            hint=f"e.g. {_EXAMPLE}; months and years have no fixed length",
        )
    if length <= timedelta(0):
        cursor.fail(f"{word} takes a length above zero", code=code, span=written)
    if length > MAX_LENGTH:
        cursor.fail(f"{word} takes at most {MAX_LENGTH.days:,} days", code=code, span=written)
    return length


def _amounts(cursor: Cursor) -> Span:
    """Skips numbers with their units, at least one."""
    start = cursor.token.span
    cursor.accept("-")
    amounts = 0
    while cursor.token.kind in (Kind.NUMBER, Kind.STRING):
        amounts += 1
        if cursor.ahead().kind is not Kind.WORD or cursor.ahead().upper in _NOT_A_UNIT:
            cursor.at += 1
            cursor.fail(f"expected a unit of time or EVENTS, found {cursor.describe()}", hint=f"e.g. {_EXAMPLE}")
        cursor.at += 2
    if amounts == 0:
        cursor.fail(f"expected a length, found {cursor.describe()}", hint=f"e.g. {_EXAMPLE}")
    return start.to(cursor.tokens[cursor.at - 1].span)


def _events(cursor: Cursor, number: str, span: Span, code: str) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", number) or not 0 < int(number) <= MAX_EVENTS:
        cursor.fail("the number of events is a whole number from 1 on", code=code, span=span)
    return int(number)
