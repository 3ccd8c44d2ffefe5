"""Rules that follow their open starts give the rows of rules that search all stored rows in each step.

Both run over the same steps, with changes, errors and limits. A rule without errors also gives the rows of the batch.
The counts show that the law takes all paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.test_appending_streams import SCHEMA, SECOND, appended_clauses, table_of
from tests.laws.test_rules import expected_rows, found_rows
from tests.rule_sets.rule_streams import RuleStream, rule

from ostinato.clause.stream import numbered_rows
from ostinato.errors import OstinatoError
from ostinato.rows.batches import Mask
from ostinato.rule_sets import step_layout
from ostinato.rule_sets.compiled_rule import compile_rule
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rules_core import RulesCore
from ostinato.rule_sets.step_layout import Laid, StepLayout

Draw = Callable[[st.SearchStrategy[Any]], Any]
_RULES = (
    "MEASURES count(*) AS n PATTERN (A B* C) DEFINE A AS kind = 'a', B AS kind <> 'c', C AS kind = 'c'",
    "MEASURES count(*) AS n PATTERN (A B* C) DEFINE A AS kind = 'a', B AS PREV(v, 2) IS NOT NULL, C AS kind = 'c'",
    "MEASURES FIRST(id) AS a PATTERN (A B* C) WITHIN INTERVAL '9' SECOND DEFINE A AS v = 1, B AS TRUE, C AS kind = 'x'",
    "MEASURES MATCH_NUMBER() AS m, LAST(id) AS z PATTERN (A B+ C) DEFINE B AS kind = 'b', C AS v > PREV(v)",
    "MEASURES count(*) AS n PATTERN (A B* C) DEFINE A AS kind = 'a', B AS v >= A.v, C AS kind = 'c'",
    "MEASURES count(*) AS n PATTERN (A B* C) DEFINE A AS kind = 'a', B AS 6 / v > 0, C AS kind = 'c'",
    "MEASURES count(*) AS n PATTERN (A B* C) DEFINE A AS kind = 'a', B AS 6 / PREV(v) > 0, C AS kind = 'c'",
    "MEASURES count(*) AS n INCREMENTAL MATCHES PATTERN (A B+) DEFINE A AS kind = 'a', B AS kind = 'b'",
    "MEASURES count(*) AS n PATTERN (A B) DEFINE A AS v > PREV(v, 3), B AS v > PREV(v, 40)",
)
_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"max_state_bytes": 400},
    {"max_state_bytes": 1_000},
    {"suppress": "3 seconds by k"},
    {"max_errors": 1},
)


@dataclass(frozen=True, slots=True)
class Example:
    texts: tuple[str, ...]
    changes: tuple[tuple[int, RuleChange], ...]
    """With the numbers of their steps."""
    steps: list[list[dict[str, Any]]]
    lag: int
    forget_us: int | None


@st.composite
def long_runs(draw: Draw, steps: int) -> list[list[dict[str, Any]]]:
    """Rows in order of time, in small steps. Most of them let open starts grow."""
    moment, number, rows = 0, 0, []
    for step in range(steps):
        rows.append([])
        for _ in range(draw(st.integers(0, 3))):
            moment += draw(st.sampled_from((0, 1, 1, 2))) * SECOND
            number += 1
            kind = draw(st.sampled_from("abbb" if step < steps // 2 else "abbbbbbcx"))
            value = draw(st.sampled_from((0, 1, 1, 2, 3, None)))
            rows[-1].append({"k": draw(st.sampled_from("ppq")), "t": moment, "id": number, "kind": kind, "v": value})
    return rows


@st.composite
def rule_changes(draw: Draw, most_steps: int) -> Example:
    texts = [draw(st.one_of(appended_clauses(), appended_clauses(), st.sampled_from(_RULES))) for _ in range(3)]
    texts = [_with_keys(text) for text in texts[: draw(st.integers(1, 3))]]
    changes = [(0, rule(f"r{n}", text, **draw(st.sampled_from(_OPTIONS)))) for n, text in enumerate(texts)]
    for version in range(2, draw(st.sampled_from((2, 2, 3, 4)))):
        name, step = draw(st.sampled_from(("r0", "r1"))), draw(st.integers(1, most_steps))
        text = _with_keys(draw(appended_clauses()))
        more = draw(st.sampled_from(({"at_end": "finish"}, {"start": "new"}, {})))
        enabled = "at_end" not in more
        changes.append((step, rule(name, text if enabled else "", version, enabled=enabled, **more)))
    lag = draw(st.sampled_from((1, SECOND, 3 * SECOND)))
    forget_us = draw(st.sampled_from((None, None, None, 3 * SECOND)))
    return Example(tuple(texts), tuple(changes), draw(long_runs(most_steps)), lag, forget_us)


def _with_keys(text: str) -> str:
    """All rules of a stream have its keys and its order."""
    _, found, rest = text.partition("MEASURES")
    return f"PARTITION BY k ORDER BY t, id {found}{rest}"


class StoredRules(RuleStream):
    def __init__(self, forget_us: int | None = None) -> None:
        super().__init__(SCHEMA, time=("t", "id"), forget_us=forget_us)
        self._core = RulesCore(self.declared, "rules")

    def core(self) -> RulesCore:
        return self._core


def output_of(example: Example) -> list[dict[str, Any]]:
    stream, output, latest = StoredRules(example.forget_us), [], 0
    for number, step in enumerate(example.steps):
        latest = max([latest, *(row["t"] for row in step)])
        changes = [change for at, change in example.changes if at == number]
        output += stream.step(table_of(step), latest - example.lag, *changes)
    return sorted(output + stream.finish(), key=repr)  # a search may give up a start earlier


def check(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(numbered_rows, "MOST_SEGMENTS", 4)
        patched.setattr(step_layout, "WORTH_FOLLOWING", 0)
        followed = output_of(example)
        patched.setattr(step_layout, "WORTH_FOLLOWING", np.inf)  # so that each step reads all rows
        assert followed == output_of(example)
    for number, text in enumerate(example.texts):
        name = f"r{number}"
        if any(change.id == name for at, change in example.changes if at) or not example.steps:
            continue
        troubles = {row["kind"] for row in followed if row.get("rule") == name} - {"match", "unmatched", "rule_changed"}
        try:
            compile_rule(rule(name, text), StoredRules().declared)
        except OstinatoError:
            continue
        if not troubles and example.forget_us is None:
            table = pa.concat_tables([table_of(step) for step in example.steps])
            expected = expected_rows(text, table)  # None: it fails at a row that no attempt of the rule reaches
            assert expected is None or found_rows(followed, name) == expected


@pytest.fixture(scope="module", autouse=True)
def paths() -> Iterator[None]:
    """All paths have to be taken."""
    taken: Counter[str] = Counter()
    lay_out = StepLayout.lay_out

    def counted(layout: StepLayout, due: Mask) -> Laid:
        laid = lay_out(layout, due)
        follows = any(each.keys.any() for each in laid.followed.values())
        taken["followed"] += follows and not laid.rows.are_read
        taken["followed beside read rows"] += follows and laid.rows.are_read
        taken["followed with recent rows"] += follows and laid.rows.most_recent > 0
        taken["read, not followed"] += laid.rows.are_read and not follows
        return laid

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StepLayout, "lay_out", counted)
        yield
    assert len(+taken) == 4, taken


@settings(max_examples=examples(50))
@given(rule_changes(14))
def test_rules(example: Example) -> None:
    check(example, pytest.MonkeyPatch())


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(rule_changes(30))
def test_rules_deeply(example: Example) -> None:
    check(example, pytest.MonkeyPatch())
