"""The cost of open runs, in counts: a step reads, evaluates and writes its new rows, however long the runs are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.stream.appending_stream import AppendingStreamWorker
from ostinato.clause.stream.clause_stream import StreamWorker
from ostinato.clause.stream.live_states import DECIDED, LiveStates
from ostinato.clause.stream.searched_again import why_searched_again
from ostinato.streams.bucket_state import BucketState, header_bytes, segments_of
from ostinato.streams.stored_segments import StoredSegments, size_of
from ostinato.streams.stored_state import Section
from ostinato.streams.stream_settings import StreamSettings
from ostinato.testing import StreamTester

COLUMNS = {"k": "bigint", "t": "timestamp", "kind": "string", "v": "bigint"}
HEAD = "PARTITION BY k ORDER BY t MEASURES count(*) AS n"
OPEN = "PATTERN (A B* C) DEFINE A AS kind = 'a', B AS kind = 'b', C AS kind = 'c'"
KEYS = 200
MINUTE = 60_000_000


def batch_of(number: int, kind: str, keys: Sequence[int] = range(KEYS)) -> pa.Table:
    """Three rows of each key within one minute."""
    key = np.repeat(keys, 3)
    times = number * MINUTE + np.arange(len(key)) * 1_000
    kinds = [kind if position % 3 == 0 else "b" for position in range(len(key))]
    return pa.table(
        {"k": key, "t": pa.array(times, pa.timestamp("us", "UTC")), "kind": kinds, "v": np.arange(len(key)) % 7}
    )


class Counted:
    """A stream whose open rows lie in a store that nobody should read."""

    def __init__(self, text: str, run_id: str | None = None) -> None:
        self.tester = StreamTester(parse_clause(f"{HEAD} {text}"), COLUMNS, run_id=run_id)
        self.segments: tuple[bytes, ...] = ()
        self.reads = self.written = 0

    def feed(self, rows: pa.Table) -> int:
        """The bytes that the step writes."""
        stored = self.segments

        def read() -> tuple[bytes, ...]:
            self.reads += 1
            return stored

        before = StoredSegments(len(stored), size_of(stored), read)
        self.tester._state = BucketState(self.tester.state.header, before if stored else (), ())
        self.tester.feed(rows, watermark=rows["t"][-1].as_py())
        state = self.tester.state
        added = state.open_rows
        if isinstance(added, StoredSegments) and added.extends(before):
            added = added.added
            self.segments = (*stored, *added)
        else:
            self.segments = tuple(added)
        self.tester._state = BucketState(state.header, self.segments, ())
        return len(state.header) + size_of(added)


@pytest.mark.parametrize("run_id", [None, "run"])
@pytest.mark.parametrize(
    "text",
    [
        OPEN,
        OPEN.replace("B AS kind = 'b'", "B AS kind = 'b' AND PREV(v) IS NOT NULL"),
        OPEN.replace(" DEFINE", " WITHIN INTERVAL '1' DAY DEFINE"),
        "PATTERN (A B+) DEFINE A AS kind = 'a', B AS kind = 'b'",
    ],
)
def test_the_hundredth_batch_writes_as_much_as_the_second(text: str, run_id: str | None) -> None:
    stream = Counted(text, run_id)
    written = [stream.feed(batch_of(number, "b" if number else "a")) for number in range(100)]
    assert stream.reads == 0
    assert written[99] <= 1.05 * written[1]
    assert (stream.tester.open_runs, stream.tester.buffered_rows) == (KEYS, 300 * KEYS)


def test_old_rows_are_read_where_a_match_ends() -> None:
    stream = Counted(OPEN)
    for number in range(5):
        stream.feed(batch_of(number, "b" if number else "a"))
    stream.feed(batch_of(5, "c", [7]))
    assert stream.reads == 1
    assert [row["n"] for row in stream.tester.results.to_pylist()] == [16]
    assert stream.tester.open_runs == KEYS - 1
    stream.feed(batch_of(6, "b", [9]))
    assert stream.reads == 1


def test_rows_are_written_again_where_half_of_them_are_dead() -> None:
    stream = Counted(OPEN)
    for number in range(5):
        stream.feed(batch_of(number, "b" if number else "a"))
    before = size_of(stream.segments)
    stream.feed(batch_of(5, "c", range(KEYS // 2)))
    assert len(stream.segments) == 1
    assert size_of(stream.segments) < 0.6 * before
    stream.feed(batch_of(6, "c"))
    assert stream.segments == ()


def test_only_rows_of_ended_keys_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Counted(OPEN)
    for number in range(3):
        stream.feed(batch_of(number, "b" if number else "a"))
    searched: list[int] = []
    worker = stream.tester.worker
    assert isinstance(worker, AppendingStreamWorker)
    search = worker.worker.search
    monkeypatch.setattr(
        worker.worker, "search", lambda window, spans: searched.append(window.columns.count) or search(window, spans)
    )
    stream.feed(batch_of(3, "c", [3, 4]))
    assert searched == [2 * 12]


# --- live states ------------------------------------------------------------------------------------------------------


def live(pattern: str) -> LiveStates:
    letters = sorted({letter for letter in pattern if letter.isalpha()})
    define = ", ".join(f"{letter} AS kind = '{letter}'" for letter in letters)
    return LiveStates(make_plan(bind(parse_clause(f"{HEAD} PATTERN ({pattern}) DEFINE {define}"), list(COLUMNS))))


def test_preferred_states_stay_and_a_match_cuts_the_others() -> None:
    greedy, reluctant = live("A B*"), live("A B*?")
    assert greedy.states(greedy.elsewhere) == (0,)
    assert greedy.states(greedy._next(greedy.elsewhere, np.array([1], np.uint64))) == (1,)
    assert reluctant._next(reluctant.elsewhere, np.array([1], np.uint64)) == DECIDED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OPEN, None),
        ("PATTERN (A B* C) DEFINE B AS v > A.v", "conditions over the run"),
        (f"ALL MATCHES {OPEN}", "ALL MATCHES"),
        ("PATTERN (A B* C) DEFINE B AS v > NEXT(v)", "NEXT"),
    ],
)
def test_patterns_that_are_searched_again(text: str, reason: str | None) -> None:
    answer = why_searched_again(make_plan(bind(parse_clause(f"{HEAD} {text}"), list(COLUMNS))), StreamSettings())
    assert answer is None if reason is None else reason in (answer or "")


def test_a_state_of_the_other_layout_goes_on() -> None:
    """A changed query goes on with the state of the one before, which may have the other layout."""
    stream = Counted(OPEN)
    stream.feed(batch_of(0, "a"))
    worker = stream.tester.worker
    opened = worker.opened(stream.tester.state)
    settings = StreamSettings(eager=True)
    state = BucketState(
        header_bytes(opened.keys, opened.known_until, "changed"), segments_of(opened.open_rows, Section.OPEN_ROWS)
    )
    rows = stream.tester._shipped(stream.tester._table(batch_of(1, "c", [3, 5])))
    for core in (StreamWorker, AppendingStreamWorker):
        changed = core(worker.typed, worker.conditions, settings, "changed")
        step = changed.advance(state, rows, 0, all_keys=True)
        assert (step.counts.matches, step.counts.open_runs) == (2, KEYS - 2)
        step = changed.advance(step.state, None, 0)
        assert (step.counts.matches, step.counts.open_runs) == (0, KEYS - 2)
