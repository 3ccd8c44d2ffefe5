"""The cost of open partial matches of rules: a step reads and writes its new rows, however many rows are open."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.rule_sets.rule_streams import LETTERS, matches, rows, rule

from ostinato.clause.stream import numbered_rows
from ostinato.kernels.constants import NO_TIME
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rules_core import RulesCore
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.stored_segments import StoredSegments, size_of

KEYS = 50
OPEN = "MEASURES count(*) AS n PATTERN (A B* C) DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"
OVER_RUN = OPEN.replace("B AS kind = 'B'", "B AS kind = 'B' AND x >= A.x")
WITHIN = OPEN.replace(" DEFINE", " WITHIN INTERVAL '1' HOUR DEFINE")
WITH_PREV = OPEN.replace("B AS kind = 'B'", "B AS kind = 'B' AND PREV(kind) <> 'x'")
NEEDS_LAST_ROW = "PATTERN (A) DEFINE A AS PREV(kind) = 'y'"


class StoredRules:
    """One bucket whose open rows lie in a store, as in Spark."""

    def __init__(self, *changes: RuleChange) -> None:
        self.core = RulesCore(Declaration(("k",), ("at",), LETTERS), "rules")
        self.changes = [change.to_json() for change in changes]
        self.state, self.rules = EMPTY, b""
        self.written: list[int] = []
        self.reads = 0

    def step(self, table: pa.Table, watermark_us: int = NO_TIME) -> list[tuple[str, int, dict[str, object]]]:
        stored = tuple(self.state.open_rows)

        def read() -> tuple[bytes, ...]:
            self.reads += 1
            return stored

        before = StoredSegments(len(stored), size_of(stored), read)
        state = BucketState(self.state.header, before if stored else (), self.state.waiting)
        step = self.core.advance(state, table, watermark_us, changes=self.changes, read_rules=lambda: self.rules)
        self.changes, self.rules = [], self.rules if step.rules is None else step.rules
        after = step.state.open_rows
        if isinstance(after, StoredSegments) and after.extends(before):
            added, after = after.added, (*stored, *after.added)
        else:
            added = after = tuple(after)
        self.written.append(len(step.state.header) + size_of(added))
        self.state = BucketState(step.state.header, after, step.state.waiting)
        return matches(step.results.to_pylist())


def letters_of_all_keys(letters: str, since: int) -> pa.Table:
    return pa.concat_tables([rows(letters, since, f"key {number}") for number in range(KEYS)])


@pytest.mark.parametrize(
    ("text", "other", "reads"),
    [(OPEN, OPEN, 0), (WITHIN, WITH_PREV, 0), (OPEN, NEEDS_LAST_ROW, 0), (OVER_RUN, NEEDS_LAST_ROW, 99)],
)
def test_the_hundredth_batch_writes_as_much_as_the_second(text: str, other: str, reads: int) -> None:
    """Rules with conditions over the run search the rows of their open partial matches in each step."""
    stream = StoredRules(rule("one", text), rule("two", other))
    for number in range(100):
        stream.step(letters_of_all_keys("BB" if number else "AB", 10 * number), 10 * number + 2)
    assert stream.written[99] <= 1.2 * stream.written[1]
    assert stream.reads == reads
    found = stream.step(rows("C", 2000, "key 7"), 2000)
    expected = [("one", 1, {"n": 201}), ("two", 1, {"n": 201})]
    assert found == (expected[:1] if other == NEEDS_LAST_ROW else expected)


def test_within_ends_a_start_whose_rows_were_not_read() -> None:
    text = WITHIN.replace("HOUR", "SECOND").replace("PATTERN", "ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN")
    stream = StoredRules(rule("one", text))
    for number in range(5):
        assert not stream.step(letters_of_all_keys("BB" if number else "AB", 10 * number), 10 * number + 2)
    assert stream.reads == 0
    assert stream.step(rows("x", 2_000_000, "another key"), 2_000_000) == [("one", 1, {"n": 10})] * KEYS


def test_rows_that_no_rule_needs_any_more_leave_the_segments() -> None:
    stream = StoredRules(rule("one", OPEN))
    stream.step(letters_of_all_keys("ABB", 0), 2)
    size = size_of(stream.state.open_rows)
    stream.step(pa.concat_tables([rows("C", 10, f"key {number}") for number in range(KEYS - 5)]), 10)
    assert len(stream.state.open_rows) == 1
    assert size_of(stream.state.open_rows) < size / 2
    assert stream.step(rows("C", 20, f"key {KEYS - 1}"), 20) == [("one", 1, {"n": 4})]


def test_many_segments_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_rows, "MOST_SEGMENTS", 3)
    stream, counts = StoredRules(rule("one", OVER_RUN)), []
    for number in range(8):
        stream.step(rows("B" if number else "A", number), number)
        counts.append(len(stream.state.open_rows))
    assert counts == [1, 2, 3, 1, 2, 3, 1, 2]
    assert stream.step(rows("C", 9), 9) == [("one", 1, {"n": 9})]
