"""Letters for events: "a1 b2=b3 c:p" is an A with x 1, two Bs (x 2 and 3) at one time, and a C whose key is 'p'.

Each word comes one second after the one before; "." is a second in which nothing happens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import BoundEventQuery
from ostinato.reference.trend_oracle import OracleMatch, trend_matches, trend_rows

BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
COLUMNS = ("kind", "ts", "x", "key", "name")


def events(text: str) -> list[dict[str, Any]]:
    """The rows; `name` is the event as written, without its key."""
    rows = []
    for second, together in enumerate(text.split()):
        for word in together.split("=") if together != "." else ():
            parts = re.fullmatch(r"(([a-z])(-?\d*))(?::(\w+))?", word)
            assert parts, word
            rows.append(
                {
                    "kind": parts[2].upper(),
                    "ts": BEGIN + timedelta(seconds=second),
                    "x": int(parts[3]) if parts[3] else None,
                    "key": parts[4],
                    "name": parts[1],
                }
            )
    return rows


def bound(query: str, columns: Sequence[str] = COLUMNS) -> BoundEventQuery:
    """The query, from PATTERN on, over the columns of `events`; without RETURN it returns matches."""
    text = query if "RETURN" in query else f"{query} RETURN MATCHES"
    return bind_event_query(parse_event_query(f"PATTERN {text}"), columns, type="kind", time="ts")


def matches(query: str, stream: str | Sequence[Mapping[str, Any]]) -> list[str]:
    """The matches as words of their events, in the order in which they come."""
    rows = events(stream) if isinstance(stream, str) else stream
    return [" ".join(rows[at]["name"] for at, _ in found.pairs) for found in found_in(query, rows)]


def labels(query: str, stream: str) -> list[str]:
    """The matches with their variables: "x:a1 y:a2"."""
    rows = events(stream)
    return [
        " ".join(f"{variable}:{rows[at]['name']}" for at, variable in found.pairs) for found in found_in(query, rows)
    ]


def found_in(query: str, rows: Sequence[Mapping[str, Any]]) -> list[OracleMatch]:
    return trend_matches(bound(query), rows)


def count(query: str, stream: str) -> int:
    """COUNT(*) of all events together."""
    [(number,)] = shown(f"{query} RETURN COUNT(*)", stream)
    assert isinstance(number, int)
    return number


def shown(query: str, stream: str) -> list[tuple[Any, ...]]:
    """The output rows of an aggregate query."""
    return [tuple(row.values()) for row in trend_rows(bound(query), events(stream))]
