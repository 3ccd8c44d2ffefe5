"""Streams that only append open rows: any split into small steps gives the rows of the batch.

The state lies in a store between two steps. The store counts how often open rows are read, appended and written again,
so the test fails if it stops to exercise one of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.comparison import differing, rows_of, with_ids

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.stream import numbered_rows
from ostinato.clause.stream.appending_stream import AppendingStreamWorker
from ostinato.clause.stream.clause_stream import StreamWorker
from ostinato.errors import MatchError
from ostinato.local.local_clause import match_table
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.stored_segments import StoredSegments, size_of
from ostinato.testing import StreamTester

Draw = Callable[[st.SearchStrategy[Any]], Any]
SECOND = 1_000_000
COLUMNS = {"k": "string", "t": "timestamp", "id": "bigint", "kind": "string", "v": "bigint"}
SCHEMA = pa.schema(
    [("k", pa.string()), ("t", pa.timestamp("us", "UTC")), ("id", pa.int64()), ("kind", pa.string()), ("v", pa.int64())]
)
_PATTERNS = (
    "A B* C",
    "A X* C",
    "A B+? C?",
    "A (B | C)* A",
    "(A B)* C",
    "^ A B* C",
    "A X* C $",
    "A B* $",
    "PERMUTE(A, B, C)",
    "A B C",
    "A B+ X A",
    "A X{2,5} C",
    "X* C",
    "A {- X* -} C",
)
_DEFINES = ("B AS kind = 'b'", "B AS v >= PREV(v)", "B AS kind <> 'c' AND (PREV(v, 2) IS NULL OR v <= PREV(v, 2))")
_LAST = ("C AS kind = 'c'", "C AS kind = 'c' AND PREV(kind) = 'b'", "C AS v < PREV(v) AND kind <> 'a'")
_SKIPS = ("", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO LAST A")
_BOUNDS = ("", "", "", "WITHIN INTERVAL '6' SECOND", "MAXLENGTH 4")
_OUTPUTS = (
    "",
    "",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    "ONE ROW PER MATCH SHOW TIMEOUT MATCHES",
)
_MEASURES = ("count(*) AS n, LAST(id) AS z", "FIRST(id) AS a, count(*) AS n, MATCH_NUMBER() AS m, LAST(v) AS v2")


@st.composite
def appended_clauses(draw: Draw) -> str:
    pattern, bound = draw(st.sampled_from(_PATTERNS)), draw(st.sampled_from(_BOUNDS))
    output = draw(st.sampled_from(_OUTPUTS))
    if "{-" in pattern:
        output = ""
    if "TIMEOUT" in output:
        bound = "WITHIN INTERVAL '6' SECOND"
    defined = ["A AS kind = 'a'"] if "A" in pattern else ["X AS kind <> 'x'"]
    defined += [draw(st.sampled_from(_DEFINES))] if "B" in pattern else []
    defined += [draw(st.sampled_from(_LAST))] if "C" in pattern else []
    skip = draw(st.sampled_from(_SKIPS)) if "A" in pattern else ""
    return f"""{draw(st.sampled_from(("PARTITION BY k", "PARTITION BY k", "")))} ORDER BY t, id
        MEASURES {draw(st.sampled_from(_MEASURES))} {output} {skip}
        PATTERN ({pattern}) {bound} DEFINE {", ".join(defined)}"""


@st.composite
def rows_in_steps(draw: Draw, most_steps: int = 12) -> list[list[dict[str, Any]]]:
    """Rows in order of time, in small steps. Kinds that let runs grow are drawn most often."""
    moment, number, steps = 0, 0, []
    for _ in range(draw(st.integers(1, most_steps))):
        step = []
        for _ in range(draw(st.integers(0, 4))):
            moment += draw(st.sampled_from((0, 1, 1, 2))) * SECOND
            number += 1
            kind = draw(st.sampled_from("abbbbcx"))
            value = draw(st.sampled_from((None, 0, 1, 2, 3)))
            step.append({"k": draw(st.sampled_from(("p", "q", None))), "id": number, "kind": kind, "v": value})
            step[-1]["t"] = moment
        steps.append(step)
    return steps


class Stored:
    """A stream whose open rows lie in a store that counts calls."""

    def __init__(self, text: str, *, eager: bool = False) -> None:
        self.tester = StreamTester(clause_of(text, eager=eager), COLUMNS, eager=eager)
        self.segments: tuple[bytes, ...] = ()
        self.calls: Counter[str] = Counter()

    def feed(self, rows: pa.Table, watermark: int) -> None:
        state, stored = self.tester.state, self.segments

        def read() -> tuple[bytes, ...]:
            self.calls["read"] += 1
            return stored

        before = StoredSegments(len(stored), size_of(stored), read)
        self.tester._state = BucketState(bytes(state.header), before if stored else (), tuple(state.waiting))
        self.tester.feed(rows, watermark=watermark)
        after = self.tester.state.open_rows
        if isinstance(after, StoredSegments) and after.extends(before):
            self.calls["read, then appended"] += before.is_read and bool(after.added)
            self.calls["appended, not read"] += bool(after.added) and not before.is_read
            self.segments += after.added
        else:
            self.calls["written again"] += bool(stored)
            self.segments = tuple(after)
        self.tester._state = BucketState(self.tester.state.header, self.segments, self.tester.state.waiting)


def clause_of(text: str, *, eager: bool = False) -> MatchRecognize:
    """With ids for every second text. Eager streams with ids have the other core."""
    return parse_clause(text) if eager else with_ids(text)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def check(text: str, steps: list[list[dict[str, Any]]], calls: Counter[str], *, eager: bool, lag: int) -> None:
    stream = Stored(text, eager=eager)
    assert isinstance(stream.tester.worker, AppendingStreamWorker)
    table = table_of([row for step in steps for row in step])
    try:
        expected = match_table(clause_of(text, eager=eager), table)
    except MatchError as error:
        with pytest.raises(MatchError, match=error.code):
            run(stream, steps, lag)
        return
    run(stream, steps, lag)
    assert stream.tester.late_rows == 0
    assert differing(expected.column_names, rows_of(stream.tester.results), expected.to_pylist()) is None
    calls.update(stream.calls)


def check_cores(text: str, steps: list[list[dict[str, Any]]], cores: list[str], lag: int) -> None:
    """`cores`: the core of each step. All of them write states that the others read."""
    fails = StreamTester(with_ids(text), COLUMNS)
    skips = StreamTester(with_ids(text), COLUMNS, on_error="skip")
    appends = fails.worker
    plain = StreamWorker(appends.typed, appends.conditions, appends.settings, appends.fingerprint)
    table, output, state, latest = table_of([row for step in steps for row in step]), [], EMPTY, 0
    try:
        expected = match_table(with_ids(text), table)
    except MatchError:  # SKIP TO without its row
        return
    for step, core in zip([*steps, []], cores, strict=False):
        tester = skips if core == "skips" else fails
        fails.worker = fails._core = plain if core == "plain" else appends
        tester._state, tester.watermark_us = state, latest - lag
        latest = max([latest, *(row["t"] for row in step)])
        output += tester.feed(table_of(step), watermark=latest - lag)
        state = tester.state
    tester._state = state
    output += tester.finish()
    assert {row.pop("error", None) for row in output} <= {None}
    assert differing(expected.column_names, [tuple(row.values()) for row in output], expected.to_pylist()) is None


def run(stream: Stored, steps: list[list[dict[str, Any]]], lag: int) -> None:
    """After each step the watermark is `lag` seconds before its last row, so rows of one time may come in two steps."""
    latest = 0
    for step in steps:
        latest = max([latest, *(row["t"] for row in step)])
        stream.feed(table_of(list(reversed(step)) if not stream.tester.worker.settings.eager else step), latest - lag)
    stream.tester.finish()


@pytest.fixture(scope="module")
def calls() -> Iterator[Counter[str]]:
    """All paths have to be taken."""
    counted: Counter[str] = Counter()
    yield counted
    assert {name for name, count in counted.items() if count} >= {
        "read",
        "appended, not read",
        "read, then appended",
        "written again",
    }


@pytest.fixture(autouse=True)
def few_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small steps reach the limit."""
    monkeypatch.setattr(numbered_rows, "MOST_SEGMENTS", 4)


@settings(max_examples=examples(150))
@given(appended_clauses(), rows_in_steps(), st.sampled_from((1, SECOND, 3 * SECOND)))
def test_streams(calls: Counter[str], text: str, steps: list[list[dict[str, Any]]], lag: int) -> None:
    check(text, steps, calls, eager=False, lag=lag)


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(appended_clauses(), rows_in_steps(30), st.sampled_from((1, SECOND, 3 * SECOND)))
def test_streams_deeply(calls: Counter[str], text: str, steps: list[list[dict[str, Any]]], lag: int) -> None:
    check(text, steps, calls, eager=False, lag=lag)


@settings(max_examples=examples(100))
@given(appended_clauses(), rows_in_steps(), st.sampled_from((1, SECOND)))
def test_eager_streams(calls: Counter[str], text: str, steps: list[list[dict[str, Any]]], lag: int) -> None:
    check(text, steps, calls, eager=True, lag=lag)


CORES = st.lists(st.sampled_from(("appends", "skips", "plain")), min_size=13, max_size=13)


@settings(max_examples=examples(100))
@given(appended_clauses(), rows_in_steps(), CORES, st.sampled_from((1, SECOND)))
def test_cores_that_take_over(text: str, steps: list[list[dict[str, Any]]], cores: list[str], lag: int) -> None:
    check_cores(text, steps, cores, lag)
