"""Funnels as rules of a stream find the attempts that a batch finds, also where events have one time."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.rule_sets.rule_streams import LETTERS, RuleStream, of_kind, rule

from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.types import Settings
from ostinato.funnels.funnel import Funnel, read_mode, read_steps, read_within
from ostinato.funnels.funnel_clause import ORDER_COLUMN, funnel_clause, funnel_order
from ostinato.funnels.funnel_input import over_columns
from ostinato.local.local_clause import match_table
from ostinato.rows.arrow_tables import columns_of
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.rows.json_text import as_json

Event = tuple[str, int, str]
EVENTS = st.lists(st.tuples(st.sampled_from("pq"), st.integers(1, 8), st.sampled_from("ABCX")), max_size=14)
TIED_EVENTS = st.lists(st.tuples(st.sampled_from("pq"), st.integers(1, 2), st.sampled_from("ABC")), max_size=5)
CLAUSE = "PATTERN (A B* C) DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"
"""Keeps rows that the funnel doesn't need."""


CLAUSES = [
    CLAUSE,
    "MEASURES A.x AS a, PREV(A.x) AS p PATTERN (A C* B) DEFINE A AS kind = 'B', C AS kind <> 'C', B AS kind = 'C'",
    "MEASURES PREV(A.x) AS p PATTERN (^ A B? C) DEFINE A AS kind < 'C', C AS kind = 'C'",
]
HOLDS_ALL = "PATTERN (A B* C) DEFINE A AS TRUE, B AS TRUE, C AS FALSE"


def table_of(events: list[Event]) -> pa.Table:
    rows = [{"k": key, "at": at, "kind": kind, "x": 0} for key, at, kind in events]
    plain = pa.schema([("k", pa.string()), ("at", pa.int64()), ("kind", pa.string()), ("x", pa.int64())])
    return pa.Table.from_pylist(rows, schema=plain).cast(LETTERS)


def batch(text: str, table: pa.Table) -> list[Any]:
    values = json.loads(text)
    steps = read_steps(values["steps"], "kind", ("k",))
    funnel = Funnel(steps, ("k",), ("at",), read_within(values["within"]), read_mode(values["mode"]))
    order = over_columns(funnel_order(funnel), ColumnLookup(table.column_names, False))
    ranks = evaluate(order, by_column_name(columns_of(table)), table.num_rows)
    found = match_table(funnel_clause(funnel), table.append_column(ORDER_COLUMN, ranks))
    measures = as_json(found.drop_columns(["k"]), Settings()).to_pylist()
    return sorted(zip(found.column("k").to_pylist(), measures, strict=True))


@settings(max_examples=examples(40))
@given(
    EVENTS,
    st.sampled_from(["any", "strict_order", "strict_increase"]),
    st.sampled_from([None, "0.000002 seconds"]),
    st.integers(0, 8),
)
def test_attempts(events: list[Event], mode: str, within: str | None, watermark: int) -> None:
    text = json.dumps({"steps": ["A", "B", "C"], "type": "kind", "within": within, "mode": mode})
    table = table_of(events)
    stream = RuleStream(kinds=("clause", "funnel"))
    half = len(events) // 2
    found = stream.step(table.slice(0, half), 0, rule("steps", text), rule("runs", CLAUSE))
    found += stream.step(table.slice(half), watermark)
    found += stream.step(None, watermark + 2) + stream.finish()
    output = [(row["k"], row["measures"]) for row in of_kind(found, "match") if row["rule"] == "steps"]
    assert sorted(output) == batch(text, table)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A clause, or a funnel, which has an order of its own for events of one time."""
    if draw(st.booleans()):
        return draw(st.sampled_from(CLAUSES))
    steps = draw(st.permutations("ABC"))[: draw(st.integers(2, 3))]
    mode = draw(st.sampled_from(["any", "strict_order", "strict_increase"]))
    within = draw(st.sampled_from([None, "0.000003 seconds"]))
    return json.dumps({"steps": steps, "type": "kind", "within": within, "mode": mode})


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(TIED_EVENTS, st.integers(0, 3), st.none() | queries()), min_size=4, max_size=6),
    queries(),
)
def test_versions_of_any_kind_depend_on_no_other_rule(
    steps: list[tuple[list[Event], int, str | None]], first: str
) -> None:
    outputs = []
    for others in ([], [rule("holds", HOLDS_ALL)]):
        stream, watermark = RuleStream(kinds=("clause", "funnel")), 0
        found = stream.step(None, 0, rule("r", first), *others)
        for number, (events, passed, changed) in enumerate(steps):
            changes = [] if changed is None else [rule("r", changed, number + 2)]
            later = [(key, watermark + at, kind) for key, at, kind in events]
            watermark += passed
            found += stream.step(table_of(later), watermark, *changes)
        found += stream.finish()
        outputs.append(Counter(repr(sorted(row.items())) for row in found if row["rule"] == "r"))
    assert outputs[0] == outputs[1]
