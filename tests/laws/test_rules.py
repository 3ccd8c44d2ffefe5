"""Rules on a stream equal batches: each rule over the rows that were released while it was in force."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import COLUMNS, tables
from tests.laws.test_stream_equals_batch import TABLES, Draw, Plan, lifetimes, on_time, plans, timed_clauses
from tests.rule_sets.rule_streams import RuleStream, of_kind, rule

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.stream import numbered_rows
from ostinato.clause.stream.stream_search import needs_of
from ostinato.errors import MatchError
from ostinato.expressions.types import Settings
from ostinato.local.local_clause import match_table
from ostinato.rows.json_text import as_json
from ostinato.rows.matches import ranges
from ostinato.rule_sets.bucket_layout import Attempts, read_bucket
from ostinato.rule_sets.compiled_rule import compile_rule
from ostinato.streams.bucket_state import read_header

DECLINED = Declined(CLAUSES)
SCHEMA = pa.schema(COLUMNS)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


@pytest.fixture(autouse=True)
def few_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small steps reach the limit at which their rows are written again."""
    monkeypatch.setattr(numbered_rows, "MOST_SEGMENTS", 3)


@dataclass(frozen=True, slots=True)
class Timed:
    """A rule that arrives in one step and is removed in another, or never."""

    text: str
    added: int
    removed: int | None


@st.composite
def rule_texts(draw: Draw, *, modes: bool = False) -> str:
    """A clause with the declared keys and order. `id` makes the order total."""
    lines = draw(timed_clauses(modes=modes)).split("\n")
    rest = [line for line in lines if not line.startswith(("PARTITION BY", "ORDER BY"))]
    return "\n".join(["PARTITION BY k", "ORDER BY t, id", *rest])


@st.composite
def timed_rules(draw: Draw, *, modes: bool = False) -> Timed:
    added = draw(st.sampled_from([0, 0, 0, 1, 2]))
    removed = draw(st.none() | st.none() | st.integers(added + 1, 6))
    return Timed(draw(rule_texts(modes=modes)), added, removed)


def released_between(steps: list[tuple[pa.Table, int]], begin: int, end: int | None) -> pa.Table:
    """The rows that are released in the steps `begin:end`; None: until the end of input."""
    watermarks = [watermark for _, watermark in steps]
    after = watermarks[begin - 1] if begin else None
    until = watermarks[end - 1] if end is not None and end < len(watermarks) else None
    rows = [
        row
        for row in on_time(steps).to_pylist()
        if (after is None or _micros(row) > after) and (until is None or _micros(row) <= until)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _micros(row: dict[str, Any]) -> int:
    return int(row["t"].timestamp() * 1_000_000)


def expected_rows(text: str, table: pa.Table) -> Counter[tuple[Any, str]] | None:
    """Key and measures of each output row of a batch; None if the batch fails."""
    with suppress(MatchError):
        output = match_table(parse_clause(text), table)
        shown = [name for name in output.column_names if name != "k"]
        texts = as_json(output.select(shown), Settings()).to_pylist()
        return Counter(zip(output.column("k").to_pylist(), map(_comparable, texts), strict=True))
    return None


def _comparable(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


def found_rows(output: list[dict[str, Any]], name: str) -> Counter[tuple[Any, str]]:
    return Counter(
        (row.get("k"), _comparable(row["measures"]))
        for row in output
        if row.get("rule") == name and row["kind"] in ("match", "unmatched")
    )


def expected_of_lifetimes(text: str, tables: list[pa.Table]) -> Counter[tuple[Any, str]] | None:
    """The rows of several batches; None if one fails."""
    expected: Counter[tuple[Any, str]] = Counter()
    for table in tables:
        found = expected_rows(text, table)
        if found is None:
            return None
        expected += found
    return expected


def run(
    rules: dict[str, Timed], steps: list[tuple[pa.Table, int]], forget_us: int | None = None
) -> list[dict[str, Any]]:
    stream = RuleStream(SCHEMA, keys=("k",), time=("t", "id"), forget_us=forget_us)
    output: list[dict[str, Any]] = []
    for number, (rows, watermark) in enumerate(steps):
        changes = [rule(name, timed.text) for name, timed in rules.items() if timed.added == number]
        changes += [
            rule(name, "", 2, enabled=False, at_end="finish")
            for name, timed in rules.items()
            if timed.removed == number
        ]
        output += stream.step(rows, watermark, *changes)
    return output + stream.finish()


def check(timed: list[Timed], table: pa.Table, plan: Plan, forget_us: int | None = None) -> None:
    steps = plan.steps(table)
    rules = {f"r{number}": one for number, one in enumerate(timed) if one.added < len(steps)}
    with DECLINED.example():
        for name, one in rules.items():
            compile_rule(rule(name, one.text), RuleStream(SCHEMA, time=("t", "id")).declared)
    output = run(rules, steps, forget_us)
    total = 0
    for name, one in rules.items():
        released = released_between(steps, one.added, one.removed)
        pieces = [released] if forget_us is None else lifetimes(one.text, released, forget_us)
        expected = expected_of_lifetimes(one.text, pieces)
        troubles = [row for row in output if row.get("rule") == name and row["kind"] in ("error", "rule_suspended")]
        if expected is None:
            assert troubles or one.removed is not None
            continue
        if not troubles:
            assert found_rows(output, name) == expected, one
            total += expected.total()
    DECLINED.answered(rows=total > 0)


@given(st.lists(timed_rules(), min_size=1, max_size=3), TABLES, plans())
def test_rules_that_come_and_go(timed: list[Timed], table: pa.Table, plan: Plan) -> None:
    check(timed, table, plan)


@given(st.lists(timed_rules(modes=True), min_size=1, max_size=3), TABLES, plans())
def test_rules_in_other_match_modes(timed: list[Timed], table: pa.Table, plan: Plan) -> None:
    check(timed, table, plan)


@settings(max_examples=examples(60))
@given(st.lists(timed_rules(), min_size=1, max_size=3), TABLES, plans(), st.integers(1, 6))
def test_forgotten_keys_begin_anew(timed: list[Timed], table: pa.Table, plan: Plan, half_minutes: int) -> None:
    """For each rule, each lifetime of a key is a key of its own in the batch."""
    check(timed, table, plan, 30_000_000 * half_minutes)


@settings(max_examples=examples(40))
@given(st.lists(rule_texts(), min_size=1, max_size=2), TABLES, plans(3), st.integers(1, 4))
def test_silent_keys_leave_nothing(texts: list[str], table: pa.Table, plan: Plan, half_minutes: int) -> None:
    """When the watermark has passed the silence of all keys, the state has no rows."""
    stream = RuleStream(SCHEMA, keys=("k",), time=("t", "id"), forget_us=30_000_000 * half_minutes)
    stream.step(None, -(2**62), *(rule(f"r{number}", text) for number, text in enumerate(texts)))
    for rows, watermark in plan.steps(table):
        stream.step(rows, watermark)
    while (wake_at := stream.steps[-1].wake_at_us) is not None:
        stream.step(None, wake_at)
    DECLINED.answered(rows=any(step.counts.forgotten_keys for step in stream.steps))
    counts = stream.steps[-1].counts
    assert (counts.open_runs, counts.buffered_rows) == (0, 0)


@pytest.mark.slow
@settings(max_examples=examples(125))
@given(st.lists(timed_rules(), min_size=1, max_size=4), tables(most_rows=16), plans(8))
def test_rules_that_come_and_go_deeply(timed: list[Timed], table: pa.Table, plan: Plan) -> None:
    check(timed, table, plan)


@given(rule_texts(), rule_texts(), TABLES, plans(), st.integers(1, 4))
def test_a_new_version_with_the_same_text_loses_nothing(
    text: str, other: str, table: pa.Table, plan: Plan, changed: int
) -> None:
    steps = plan.steps(table)
    outputs = []
    with DECLINED.example():
        for name, one in (("r", text), ("other", other)):
            compile_rule(rule(name, one), RuleStream(SCHEMA, time=("t", "id")).declared)
        if "MATCH_NUMBER" in text.upper():
            DECLINED.leave_out("UNSUPPORTED_ACROSS_ROWS")
    for changes in (False, True):
        stream = RuleStream(SCHEMA, time=("t", "id"))
        output = stream.step(None, -(2**62), rule("r", text), rule("other", other))
        for number, (rows, watermark) in enumerate(steps):
            output += stream.step(rows, watermark, *([rule("r", text, 2)] if changes and number == changed else []))
        outputs.append(output + stream.finish())
    if any(of_kind(output, "rule_suspended") for output in outputs):
        return
    assert found_rows(outputs[0], "r") == found_rows(outputs[1], "r")
    DECLINED.answered(rows=bool(found_rows(outputs[0], "r")))


HOLDS_ALL = "PARTITION BY k ORDER BY t, id PATTERN (A B* C) DEFINE A AS TRUE, B AS TRUE, C AS FALSE"


def open_rows(stream: RuleStream, name: str) -> pa.Table:
    """The rows from the start of each open partial match of a rule on."""
    header, _ = read_header(stream.state, "rules")
    bucket = read_bucket(header, stream.state.open_rows, stream.declared)
    rows = bucket.rows_of(np.arange(bucket.keys.count), stream.declared)
    if rows is None:
        return SCHEMA.empty_table()
    attempts = bucket.attempts.of_rule(bucket.rules.index(name)) if name in bucket.rules else Attempts.none()
    end = np.cumsum(bucket.keys.rows)[attempts.key]
    chosen = ranges(end - attempts.open, attempts.open)
    return pa.Table.from_batches([rows]).take(pa.array(chosen)).select(SCHEMA.names)


@settings(max_examples=examples(60))
@given(rule_texts(), rule_texts(), TABLES, plans(), st.integers(1, 4), st.sampled_from(["new", None]))
def test_a_new_version_with_another_text(
    before: str, after: str, table: pa.Table, plan: Plan, changed: int, start: str | None
) -> None:
    """It equals a batch over the rows that are released from its step on, and over the open rows of the version before
    unless it starts with new rows. Another rule holds all rows."""
    steps = plan.steps(table)
    stream = RuleStream(SCHEMA, time=("t", "id"))
    with DECLINED.example():
        plan_before = compile_rule(rule("r", before), stream.declared).plan.plan
        plan_after = compile_rule(rule("r", after), stream.declared).plan.plan
    if needs_of(plan_before).before and (margins_of(plan_after).before or "^" in after):
        start = "new"  # it may read the rows before the open ones that the version before kept
    changed = min(changed, len(steps) - 1)
    output, seen = [], SCHEMA.empty_table()
    for number, (rows, watermark) in enumerate(steps):
        changes = [rule("r", before), rule("holds", HOLDS_ALL)] if number == 0 else []
        if number == changed:
            seen = open_rows(stream, "r") if start is None else seen
            changes = [rule("r", after, 2) if start is None else rule("r", after, 2, start=start)]
        output += stream.step(rows, watermark, *changes)
    output += stream.finish()
    of_version = [row for row in output if row.get("version") == 2]
    expected = expected_rows(after, pa.concat_tables([seen, released_between(steps, changed, None)]))
    if any(of_kind(output, kind) for kind in ("error", "rule_suspended")):
        return
    assert found_rows(of_version, "r") == expected
    DECLINED.answered(rows=bool(expected))
