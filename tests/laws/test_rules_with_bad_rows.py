"""Rules over rows that they can't evaluate. The judges: a batch that skips these rows, and the rule without others."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.test_skipped_rows import OVER_ONE_ROW, OVER_SEVERAL, SCHEMA, small_tables, steps_of, streamed
from tests.rule_sets.rule_streams import RuleStream, of_kind, rule

import ostinato as ost
from ostinato.expressions.types import Settings
from ostinato.rows.json_text import as_json
from ostinato.rule_sets.rule_changes import RuleChange

HOLDS = "PATTERN (A B* C) DEFINE A AS TRUE, B AS TRUE, C AS FALSE"
TEXTS = [text.replace("PARTITION BY k ", "").replace("ORDER BY t, id ", "") for text in OVER_ONE_ROW + OVER_SEVERAL]


def parts(output: pa.Table) -> tuple[Counter[tuple[Any, str]], Counter[Any]]:
    """Key and measures of each match, and the keys of rows with an error."""
    texts = as_json(output.drop(["error", "k"]), Settings()).to_pylist()
    keys, errors = output.column("k").to_pylist(), output.column("error").to_pylist()
    good = Counter((key, text) for key, text, error in zip(keys, texts, errors, strict=True) if error is None)
    return good, Counter(key for key, error in zip(keys, errors, strict=True) if error is not None)


@pytest.mark.parametrize("others", [(), (rule("holds", HOLDS),)], ids=["alone", "with another rule"])
@settings(max_examples=examples(60))
@given(text=st.sampled_from(TEXTS), data=st.data())
def test_a_rule_goes_on_without_what_it_cannot_evaluate(
    others: tuple[Any, ...], text: str, data: st.DataObject
) -> None:
    table = data.draw(small_tables())
    stream = RuleStream(SCHEMA, time=("t", "id"))
    output = stream.step(None, -(2**62), rule("r", text), *others)
    steps = data.draw(steps_of(table))
    for rows, watermark in steps:
        output += stream.step(rows, int(watermark.timestamp() * 1_000_000))
    output = [row for row in output + stream.finish() if row["rule"] == "r"]
    query = f"PARTITION BY k ORDER BY t, id {text}"
    matches, _ = parts(ost.match(query, table, on_error="skip"))
    _, errors = parts(streamed(query, steps))  # a batch doesn't try keys that have too few rows for a match
    found = [(row.get("k"), row["measures"]) for row in output if row["kind"] in ("match", "unmatched")]
    assert Counter(found) == matches
    assert of_kind(output, "rule_suspended") == []
    assert Counter(row.get("k") for row in of_kind(output, "error")) == errors
    for row in of_kind(output, "error"):
        assert row["message"].startswith(("DIVIDE_BY_ZERO", "INVALID_ARRAY_INDEX"))
        assert set(json.loads(row["measures"])) == set(SCHEMA.names)


@st.composite
def changes_of(draw: st.DrawFn, name: str, steps: int) -> list[list[RuleChange]]:
    """For each step the changes of one rule: texts, wrong texts, removals."""
    changes: list[list[RuleChange]] = []
    for number in range(steps):
        what = draw(st.sampled_from(["text", "wrong", "removal", None, None, None])) if number else "text"
        start = draw(st.sampled_from([None, "new"]))
        change = {
            "text": rule(name, draw(st.sampled_from(TEXTS)), number + 1, start=start),
            "wrong": rule(name, "PATTERN (A", number + 1),
            "removal": rule(name, "", number + 1, enabled=False, at_end=draw(st.sampled_from(["drop", "finish"]))),
        }
        changes.append([] if what is None else [change[what]])
    return changes


@settings(max_examples=examples(100))
@given(st.data())
def test_no_output_of_a_rule_depends_on_other_rules(data: st.DataObject) -> None:
    """Not its matches, errors, reports, or the limits that it breaks."""
    steps = data.draw(steps_of(data.draw(small_tables())))
    changes = data.draw(changes_of("r", len(steps)))
    other = data.draw(changes_of("other", len(steps)))
    limits = data.draw(st.sampled_from([{}, {"max_errors": 1}, {"max_state_bytes": 100}, {"max_state_bytes": 300}]))
    outputs = []
    for others in ([[] for _ in steps], [[rule("holds", HOLDS), *other[0]], *other[1:]]):
        stream = RuleStream(SCHEMA, time=("t", "id"), **limits)
        rows = []
        for (table, watermark), *more in zip(steps, changes, others, strict=True):
            rows += stream.step(table, int(watermark.timestamp() * 1_000_000), *more[0], *more[1])
        rows += stream.finish()
        outputs.append(Counter(repr(sorted(row.items())) for row in rows if row.get("rule") == "r"))
    assert outputs[0] == outputs[1]
