"""Q1 to Q6 of the paper's Table 2 as texts, with what its sweeps vary: window, length, place of what is shared.

Columns are those of `streams.py`. The window isn't in the paper: 1,000 events unless another is named.
"""

from __future__ import annotations

WINDOW = 1_000
_HEAD = "TYPE kind TIME ts PATTERN"
_SHARED = ("A a", "B b", "C c", "D d")
_SHARED_CONDITIONS = "SAME[id] AND a.v < b.v AND b.v + c.v < d.v"
_HAVERSINE = (
    "2 * 6371000 * ASIN(SQRT(POW(SIN((e.x - d.x) / 2), 2) + COS(d.x) * COS(e.x) * POW(SIN((e.y - d.y) / 2), 2)))"
)
_GREAT_CIRCLE = "6371000 * ACOS(SIN(d.x) * SIN(h.x) + COS(d.x) * COS(h.x) * COS(h.y - d.y))"
SHORTEST = 4
"""Events of Q1 and Q2 where the Kleene closure has one."""


def _query(events: tuple[str, ...], condition: str, window: int) -> str:
    return f"{_HEAD} SEQ({', '.join(events)}) WHERE {condition} WITHIN {window} EVENTS RETURN MATCHES"


def q1_q2(window: int = WINDOW) -> tuple[str, str]:
    """A Kleene closure in common."""
    return (
        _query(("A a", "B+ b[]", "C c", "D d"), "SAME[id] AND SUM(b[i].x) < c.x", window),
        _query(("A a", "B+ b[]", "E e", "F f"), "SAME[id] AND a.x + SUM(b[i].x) < e.x + f.x", window),
    )


def q1_q2_of_length(length: int, window: int = WINDOW) -> tuple[str, str]:
    """The closure of just so many events that the pattern has `length`."""
    closure = tuple(f"b{i}" for i in range(1, length - SHORTEST + 2))
    events, total = tuple(f"B {name}" for name in closure), " + ".join(f"{name}.x" for name in closure)
    return (
        _query(("A a", *events, "C c", "D d"), f"SAME[id] AND {total} < c.x", window),
        _query(("A a", *events, "E e", "F f"), f"SAME[id] AND a.x + {total} < e.x + f.x", window),
    )


def q3_q4(window: int = WINDOW, offset: int = 0) -> tuple[str, str]:
    """SEQ(A, B, C, D) in common, `offset` events behind the start."""
    q3, q4 = ("E e", "F f", "G g"), ("H h", "I i", "J j")
    return (
        _query((*q3[:offset], *_SHARED, *q3[offset:]), f"{_SHARED_CONDITIONS} AND {_HAVERSINE} <= f.v", window),
        _query((*q4[:offset], *_SHARED, *q4[offset:]), f"{_SHARED_CONDITIONS} AND {_GREAT_CIRCLE} <= i.v", window),
    )


def q5_q6(window: int = WINDOW) -> tuple[str, str]:
    """SEQ(A, B, NEG(C)) in common."""
    return (
        _query(("A a", "B b", "NEG(C) c", "D d"), "SAME[id] AND a.x < b.x", window),
        _query(("A a", "B b", "NEG(C) c", "E e"), "SAME[id]", window),
    )


def many(number: int, window: int) -> tuple[str, ...]:
    """Patterns that begin like Q3 and Q4, with different ends: two of the other six types, and a least V."""
    ends = [(first, last) for first in "EFGHIJ" for last in "EFGHIJ" if first != last]
    texts = []
    for place in range(number):
        first, last = ends[place % len(ends)]
        least = 500_000 * (1 + place // len(ends))
        condition = f"{_SHARED_CONDITIONS} AND y.v > {least}"
        texts.append(_query((*_SHARED, f"{first} y", f"{last} z"), condition, window))
    return tuple(texts)


# --- MATCH_RECOGNIZE --------------------------------------------------------------------------------------------------

CLAUSE_TYPES = {"A": "THEFT", "B": "BATTERY", "C": "NARCOTICS", "D": "ASSAULT", "E": "CRIMINAL DAMAGE"}


def q5_q6_clauses(window: int) -> tuple[str, str]:
    """Over crimes: all choices of A, B and the last event in `window` rows of a ward with no C between the last two."""
    return _clause("D", " AND A.lat < B.lat", window), _clause("E", "", window)


def _clause(last: str, condition: str, window: int) -> str:
    kind = {letter: f"primary_type = '{name}'" for letter, name in CLAUSE_TYPES.items()}
    return (
        "PARTITION BY ward ORDER BY ts, event_id MEASURES A.event_id AS a, B.event_id AS b, Z.event_id AS z "
        f"ALL MATCHES PATTERN (A X* B Y* Z) MAXLENGTH {window} DEFINE A AS {kind['A']}, B AS {kind['B']}{condition}, "
        f"Y AS NOT ({kind['C']}), Z AS {kind[last]}"
    )
