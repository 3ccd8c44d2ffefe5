"""Suppressed matches of rules on a stream: those that a plain loop over the matches of a batch would suppress."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.declined import CLAUSES, Declined
from tests.laws.test_funnel_rules import EVENTS, Event, table_of
from tests.laws.test_rules import SCHEMA, rule_texts
from tests.laws.test_stream_equals_batch import TABLES, Plan, on_time, plans
from tests.rule_sets.rule_streams import RuleStream, of_kind, rule

from ostinato.rule_sets.compiled_rule import compile_rule

DECLINED = Declined(CLAUSES)
MINUTE = 60_000_000
LATEST = 4_000_000_000_000_000
"""In the year 2096."""


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def new_stream(forget_us: int | None = None) -> RuleStream:
    return RuleStream(SCHEMA, time=("t", "id"), forget_us=forget_us)


def judged(matches: list[dict[str, Any]], duration_us: int) -> Counter[tuple[str, str]]:
    """Kind and id of each row. `matches` are output rows in the order of a batch."""
    quiet_until: dict[Any, Any] = {}
    kinds: dict[str, str] = {}
    for row in matches:
        key, id = row.get("k"), row["match_id"]
        if id not in kinds:
            ended = None if row.get("ended") is None else row["ended"].timestamp() * 1_000_000
            is_quiet = ended is not None and ended < quiet_until.get(key, -LATEST)
            kinds[id] = "suppressed" if is_quiet else "match"
            if ended is not None and not is_quiet:
                quiet_until[key] = ended + duration_us
    return Counter((kinds[row["match_id"]], row["match_id"]) for row in matches)


@settings(max_examples=examples(60))
@given(rule_texts(modes=True), TABLES, plans(), st.integers(1, 6), st.booleans(), st.booleans())
def test_stream_and_judge(
    text: str, table: pa.Table, plan: Plan, minutes: int, beside_another: bool, forgets: bool
) -> None:
    """Forgotten keys also come out of the loop over all matches: none is suppressed for longer than remembered."""
    forget_us = minutes * MINUTE if forgets else None
    steps = plan.steps(table)
    with DECLINED.example():
        compile_rule(rule("r", text), new_stream().declared)
    batch = new_stream(forget_us)
    everything = batch.step(on_time(steps), LATEST, rule("r", text)) + batch.finish()
    stream = new_stream(forget_us)
    others = [rule("other", "PATTERN (A B* C) DEFINE A AS TRUE, C AS FALSE")] if beside_another else []
    output = stream.step(None, -LATEST, rule("r", text, suppress=f"{minutes} minutes by k"), *others)
    for rows, watermark in steps:
        output += stream.step(rows, watermark)
    output += stream.finish()
    if any(of_kind(rows, kind) for rows in (everything, output) for kind in ("error", "rule_suspended")):
        return
    found = Counter((row["kind"], row["match_id"]) for row in output if row["kind"] in ("match", "suppressed"))
    expected = judged(of_kind(everything, "match"), minutes * MINUTE)
    assert found == expected
    DECLINED.answered(rows=bool(expected))


@settings(max_examples=examples(30))
@given(
    EVENTS,
    st.sampled_from(["any", "strict_order", "strict_increase"]),
    st.none() | st.just("0.000002 seconds"),
    st.integers(1, 6),
    st.integers(0, 14),
)
def test_funnels(events: list[Event], mode: str, within: str | None, quiet_us: int, cut: int) -> None:
    """Only attempts with all steps are suppressed, and start a quiet time."""
    text = json.dumps({"steps": ["A", "B", "C"], "type": "kind", "within": within, "mode": mode})
    table = table_of(sorted(events, key=lambda event: event[1]))
    batch = RuleStream(kinds=("funnel",))
    attempts = of_kind([*batch.step(table, LATEST, rule("r", text)), *batch.finish()], "match")
    stops = Counter(("match", row["match_id"]) for row in attempts if not is_completed(row))
    stream = RuleStream(kinds=("funnel",))
    output = stream.step(table.slice(0, cut), 0, rule("r", text, suppress=f"{quiet_us / 1e6:.6f} seconds by k"))
    output += [*stream.step(table.slice(cut), LATEST), *stream.finish()]
    found = Counter((row["kind"], row["match_id"]) for row in output if row["kind"] in ("match", "suppressed"))
    assert found == stops + judged([row for row in attempts if is_completed(row)], quiet_us)
    DECLINED.answered(rows=bool(attempts))


def is_completed(row: dict[str, Any]) -> bool:
    return bool(json.loads(row["measures"])["completed"])
