"""The cost of open partial matches of rules: a step writes its new rows, however many rows are open."""

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


class StoredRules:
    """One bucket whose open rows lie in a store, as in Spark."""

    def __init__(self, *changes: RuleChange) -> None:
        self.core = RulesCore(Declaration(("k",), ("at",), LETTERS), "rules")
        self.changes = [change.to_json() for change in changes]
        self.state, self.rules = EMPTY, b""
        self.written: list[int] = []

    def step(self, table: pa.Table, watermark_us: int = NO_TIME) -> list[tuple[str, int, dict[str, object]]]:
        stored = tuple(self.state.open_rows)
        before = StoredSegments(len(stored), size_of(stored), lambda: stored)
        state = BucketState(self.state.header, before if stored else (), self.state.waiting)
        step = self.core.advance(state, table, watermark_us, changes=self.changes, read_rules=lambda: self.rules)
        self.changes, self.rules = [], self.rules if step.rules is None else step.rules
        after = step.state.open_rows
        added = after.added if isinstance(after, StoredSegments) and after.extends(before) else tuple(after)
        self.written.append(len(step.state.header) + size_of(added))
        self.state = BucketState(step.state.header, tuple(after), step.state.waiting)
        return matches(step.results.to_pylist())


def letters_of_all_keys(letters: str, since: int) -> pa.Table:
    return pa.concat_tables([rows(letters, since, f"key {number}") for number in range(KEYS)])


@pytest.mark.parametrize("text", [OPEN, OVER_RUN, WITHIN])
def test_the_hundredth_batch_writes_as_much_as_the_second(text: str) -> None:
    stream = StoredRules(rule("one", text), rule("two", text))
    for number in range(100):
        stream.step(letters_of_all_keys("BB" if number else "AB", 10 * number), 10 * number + 2)
    assert stream.written[99] <= 1.2 * stream.written[1]
    found = stream.step(rows("C", 2000, "key 7"), 2000)
    assert found == [("one", 1, {"n": 201}), ("two", 1, {"n": 201})]


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
