"""Text behind WITHIN of an event query -> Bound: `30 MINUTES SLIDE 5 MINUTES`, `1000 EVENTS TUMBLE`."""

from __future__ import annotations

import re
from datetime import timedelta

from ostinato.errors import Span
from ostinato.event_queries.language.event_query import Bound, EventSpan, EventWindows, TimeSpan, TimeWindows
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.intervals import parse_interval
from ostinato.expressions.written_lengths import written_length

MAX_EVENTS = 2**62
MAX_LENGTH = timedelta(days=1_000_000)
"""The largest length. Times plus such a length still fit into 64 bits of microseconds."""
MAX_WINDOWS = 10_000
"""The most windows that one event may be in."""
_EXAMPLE = "30 MINUTES, INTERVAL '30' MINUTE or 1000 EVENTS"
_NOT_UNITS = frozenset("SLIDE TUMBLE RETURN".split())


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
    code, written = f"INVALID_{word}", written_length(cursor, example=_EXAMPLE, not_units=_NOT_UNITS)
    *number, unit = written.text.split()
    if unit.upper() in ("EVENT", "EVENTS"):
        return _events(cursor, "".join(number), written.span, code)
    length = parse_interval(written.text)
    if length is None:
        cursor.fail(
            f"{word} takes a length of days, hours, minutes and seconds, or a number of events",
            code=code,
            span=written.span,
            hint=f"e.g. {_EXAMPLE}; months and years have no fixed length",
        )
    if length <= timedelta(0):
        cursor.fail(f"{word} takes a length above zero", code=code, span=written.span)
    if length > MAX_LENGTH:
        cursor.fail(f"{word} takes at most {MAX_LENGTH.days:,} days", code=code, span=written.span)
    return length


def _events(cursor: Cursor, number: str, span: Span, code: str) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", number) or not 0 < int(number) <= MAX_EVENTS:
        cursor.fail("the number of events is a whole number from 1 on", code=code, span=span)
    return int(number)
