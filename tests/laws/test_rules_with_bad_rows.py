"""Rules over rows that they can't evaluate: the judge is a batch that skips these rows, whatever other rules hold."""

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
