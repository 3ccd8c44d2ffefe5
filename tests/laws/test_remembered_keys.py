"""The state of a stream holds a key exactly as long as the key's past can change later results. The oracle judges.

The definition: the past of a key matters if some rows may follow that give other rows than they would for a new key,
without those that the stream returned before. All continuations of up to three letters are tried.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.reference.clause_oracle import match_rows
from ostinato.testing import StreamTester

COLUMNS = {"k": "string", "at": "timestamp_ntz", "kind": "string"}
LETTERS = "ABC"
CLAUSES = {
    "nothing before the match": "PATTERN (A B C)",
    "a fixed length that compares rows": "PATTERN (A B C) DEFINE B AS kind <> A.kind, C AS kind <> PREV(kind, 2)",
    "a loop that compares rows": "PATTERN (A B+ C) DEFINE A AS kind = 'A', B AS kind <> PREV(kind), C AS kind = 'C'",
    "the row before": "PATTERN (B) DEFINE B AS kind <> PREV(kind)",
    "the row before an optional row": "PATTERN (A? B) DEFINE A AS kind = 'A', B AS kind <> PREV(kind)",
    "the first row": "PATTERN (^ A B)",
    "the number of the match": "MEASURES MATCH_NUMBER() AS n PATTERN (A B)",
    "a condition on the number": "PATTERN (A B) DEFINE A AS kind = 'A' AND MATCH_NUMBER() < 2, B AS kind = 'B'",
    "overlapping matches": "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B | B C)",
    "a greedy end": "PATTERN (A B*)",
    "a measure before the match": "MEASURES PREV(FIRST(kind)) AS p PATTERN (A B)",
    "a measure inside the match": "MEASURES PREV(kind) AS p PATTERN (A B)",
}


def _text(clause: str) -> str:
    parts = clause.partition("PATTERN")
    head = parts[0] if "MEASURES" in parts[0] else f"MEASURES FIRST(at) AS first, LAST(at) AS last {parts[0]}"
    body = f"{parts[1]}{parts[2]}"
    if "DEFINE" not in body:
        defined = ", ".join(f"{name} AS kind = '{name}'" for name in LETTERS if name in parts[2])
        body += f" DEFINE {defined}"
    return f"PARTITION BY k ORDER BY at {head} {body}"


def _rows(letters: str, since: int = 1) -> list[dict[str, Any]]:
    return [{"k": "p", "at": _moment(since + i), "kind": letter} for i, letter in enumerate(letters)]


def _moment(microsecond: int) -> datetime:
    return datetime(1970, 1, 1, microsecond=microsecond)


@functools.cache
def _batch(text: str, letters: str, since: int) -> Counter[str]:
    rows = match_rows(parse_clause(text), list(COLUMNS), _rows(letters, since))
    return Counter(map(repr, rows))


def _words(longest: int) -> list[str]:
    return ["".join(word) for size in range(1, longest + 1) for word in itertools.product(LETTERS, repeat=size)]


def _matters(text: str, past: str, returned: Counter[str]) -> bool:
    """Whether some rows that follow give other rows than they would for a new key."""
    since = len(past) + 1
    for word in _words(3):
        with_past, anew = _batch(text, past + word, 1), _batch(text, word, since)
        if with_past - returned != anew:
            return True
    return False


@pytest.mark.parametrize("name", CLAUSES)
def test_the_state_holds_the_keys_whose_past_matters(name: str) -> None:
    text = _text(CLAUSES[name])
    remembered = Counter[bool]()
    for past in _words(3):
        stream = StreamTester(text, COLUMNS)
        returned = Counter(map(repr, stream.feed(_rows(past), watermark=len(past))))
        remembered[stream.buffered_rows > 0] += 1
        assert (stream.buffered_rows > 0) == _matters(text, past, returned), past
    assert remembered[True]


def test_silent_keys_are_released() -> None:
    """A pattern that compares rows of a match holds nothing for keys without an open run, a day later."""
    stream = StreamTester(
        """PARTITION BY k ORDER BY at MEASURES A.p AS a, C.p AS c
        PATTERN (A B C) WITHIN INTERVAL '10' SECOND DEFINE B AS p > A.p, C AS p > B.p""",
        {"k": "bigint", "at": "timestamp_ntz", "p": "double"},
    )
    at = datetime(2024, 1, 1)
    stream.feed([{"k": key, "at": at, "p": float(key)} for key in range(1000)], watermark=at)
    assert (stream.open_runs, stream.buffered_rows) == (1000, 1000)
    assert stream.wake_at_us is not None
    stream.advance_watermark(at + timedelta(days=1))
    assert (stream.open_runs, stream.buffered_rows, stream.wake_at_us) == (0, 0, None)
