"""The tests of rule files find the rows that a stream of rules gives by its end, also where events have one time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.declined import CLAUSES, Declined
from tests.laws.test_funnel_rules import EVENTS, Event, table_of
from tests.laws.test_rules import SCHEMA, rule_texts
from tests.laws.test_stream_equals_batch import TABLES
from tests.rule_sets.rule_streams import RuleStream, rule

from ostinato.errors import MatchError
from ostinato.expressions.types import Settings
from ostinato.rows.json_text import as_json
from ostinato.rule_files.ready_rule import compile_over, parse_rule
from ostinato.rule_files.rule_file import FolderSettings, RuleFile, RuleText
from ostinato.rule_files.rule_run import found_rows

DECLINED = Declined(CLAUSES)
Rows = Counter[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def of_file(text: str, table: pa.Table, time: Sequence[str]) -> Rows:
    """Key, times and measures of the rows that a test of the rule finds."""
    shared = FolderSettings(("k",), tuple(time), table.schema)
    ready = parse_rule(RuleFile("a.sql", "a", RuleText(text, 1)), shared)
    found = found_rows(compile_over(ready, table.schema, Settings()), table)
    measures = as_json(found.drop_columns(["k", "began", "ended"]), Settings()).to_pylist()
    columns = (found[name].to_pylist() for name in ("k", "began", "ended"))
    return Counter(zip(*columns, [json.dumps(json.loads(text), sort_keys=True) for text in measures], strict=True))


def of_stream(output: list[dict[str, Any]]) -> Rows:
    return Counter(
        (row.get("k"), row["began"], row["ended"], json.dumps(json.loads(row["measures"]), sort_keys=True))
        for row in output
        if row["kind"] == "match"
    )


@settings(max_examples=examples(40))
@given(rule_texts(modes=True), TABLES)
def test_clauses(text: str, table: pa.Table) -> None:
    times = table["t"].fill_null(datetime(2024, 1, 1, tzinfo=UTC))  # NULL is late on a stream, and an error of a test
    table = table.set_column(table.column_names.index("t"), SCHEMA.field("t"), times)
    stream = RuleStream(SCHEMA, time=("t", "id"))
    with DECLINED.example():
        found = None
        with suppress(MatchError):  # a row that can't be evaluated is an error of the test, and a row of the stream
            found = of_file(text, table, ("t", "id"))
    output = [*stream.step(table, 0, rule("a", text)), *stream.finish()]
    if found is not None:
        assert found == of_stream(output)
    DECLINED.answered(rows=bool(found))


@settings(max_examples=examples(30))
@given(EVENTS, st.sampled_from(["any", "strict_order", "strict_increase"]), st.none() | st.just("0.000002 seconds"))
def test_funnels(events: list[Event], mode: str, within: str | None) -> None:
    text = json.dumps({"steps": ["A", "B", "C"], "type": "kind", "within": within, "mode": mode})
    stream = RuleStream(kinds=("funnel",))
    output = [*stream.step(table_of(events), 0, rule("a", text)), *stream.finish()]
    assert of_file(text, table_of(events), ("at",)) == of_stream(output)
    DECLINED.answered(rows=bool(output))


@settings(max_examples=examples(30))
@given(EVENTS)
def test_clauses_over_events_of_one_time(events: list[Event]) -> None:
    text = "MEASURES A.kind AS a, B.kind AS b, B.at AS at PATTERN (A B) DEFINE B AS B.kind >= A.kind"
    stream = RuleStream()
    output = [*stream.step(table_of(events), 0, rule("a", text)), *stream.finish()]
    assert of_file(text, table_of(events), ("at",)) == of_stream(output)
    DECLINED.answered(rows=bool(output))
