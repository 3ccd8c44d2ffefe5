"""Answers of a batch at any time equal those of a summary that was fed the events up to this time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.rows.batches import one_array
from ostinato.summaries.task import summary_batches
from ostinato.summaries.task.summary_answers import AnswerLayout
from ostinato.summaries.task.summary_batches import SummaryBatch
from ostinato.summaries.task.summary_input import Moments, summary_input

SCHEMA = pa.schema(
    [("ts", pa.int64()), ("kind", pa.string()), ("k", pa.int64()), ("x", pa.int64()), ("ask", pa.bool_())]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.one_of(st.none(), st.integers(0, 12)),
            "kind": st.sampled_from(["A", "B", "C", "?", None]),
            "k": st.one_of(st.none(), st.integers(0, 3)),
            "x": st.one_of(st.none(), st.integers(-2, 3)),
            "ask": st.one_of(st.none(), st.booleans()),
        }
    ),
    max_size=25,
)
KEYS: tuple[dict[str, Any], ...] = (
    {},
    {"keys": "k"},
    {"keys": "k", "event_types": ost.EventTypes(keyed=("A",))},
)


def summary(keys: dict[str, Any]) -> ost.StreamSummary:
    return ost.summary(
        "A B* C",
        type="kind",
        time="ts",
        within=6,
        size=3,
        aggregate="SUM(x)",
        **keys,
        eviction=ost.Eviction(tick=1, seed=3),
    )


def answered(keys: dict[str, Any], table: pa.Table, moments: Moments) -> list[tuple[Any, ...]]:
    query_summary = summary(keys)
    source = summary_input(query_summary.columns, SCHEMA.names, lambda name: SCHEMA.field(name).type)
    layout = AnswerLayout(source, query_summary.query, query_summary.form)
    arrays = {name: one_array(table.column(name)) for name in SCHEMA.names}
    tables = [
        pa.Table.from_pydict(columns, schema=layout.schema) for columns in SummaryBatch(layout, moments).answers(arrays)
    ]
    return sorted(
        (tuple(row.values()) for table_of_answers in tables for row in table_of_answers.to_pylist()), key=repr
    )


def fed(keys: dict[str, Any], table: pa.Table, moment: int) -> dict[Any, tuple[Any, ...]]:
    """The answers of an in-process summary by key, after all events up to the moment."""
    rows = [row for row in table.to_pylist() if row["ts"] is not None and row["ts"] <= moment]
    answer_rows = summary(keys).feed(pa.Table.from_pylist(rows, schema=SCHEMA)).ask_all().to_pylist()
    answers = ({name: value for name, value in row.items() if name != "asked_at"} for row in answer_rows)
    return {row.get("k"): tuple(row.values()) for row in answers}


def without_time(row: tuple[Any, ...], keys: dict[str, Any]) -> tuple[Any, ...]:
    """An answer without its time."""
    time_column = 1 if keys else 0
    return row[:time_column] + row[time_column + 1 :]


@pytest.mark.parametrize("keys", KEYS, ids=["one", "keyed", "shared"])
@given(rows=ROWS)
@settings(deadline=None)
def test_answers_at_given_times(keys: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    for moment in (3, 8):
        answer_rows = answered(keys, table, Moments(times_us=(8, 3, 8)))
        rows_of_moment = [without_time(row, keys) for row in answer_rows if row[1 if keys else 0] == moment]
        expected = fed(keys, table, moment)
        assert [row for row in rows_of_moment if row[-2]] == sorted(expected.values(), key=repr)
        if keys:  # keys without events so far have answers, too
            timed = [row for row in rows if row["ts"] is not None]
            assert len(rows_of_moment) == len(
                {row["k"] for row in timed if "event_types" not in keys or row["kind"] == "A"}
            )


def questions(keys: dict[str, Any], rows: list[dict[str, Any]]) -> set[tuple[Any, int]]:
    """Pairs of key and time of the expected answers: the key of the trigger row, or all keys if it belongs to all."""
    timed = [row for row in rows if row["ts"] is not None]
    asking = [row for row in timed if row["ask"]]
    if "event_types" not in keys:
        return {(row["k"] if keys else None, row["ts"]) for row in asking}
    known = {row["k"] for row in timed if row["kind"] == "A"}
    return {(key, row["ts"]) for row in asking for key in known if row["kind"] in ("B", "C") or row["k"] == key}


@pytest.mark.parametrize("keys", KEYS, ids=["one", "keyed", "shared"])
@given(rows=ROWS)
@settings(deadline=None)
def test_answers_at_trigger_rows(keys: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    table, triggers = pa.Table.from_pylist(rows, schema=SCHEMA), questions(keys, rows)
    answers_by_trigger = [(key, fed(keys, table, moment)) for key, moment in triggers]
    expected = [answers[key] for key, answers in answers_by_trigger if key in answers]
    answer_rows = [without_time(row, keys) for row in answered(keys, table, Moments(column="ask"))]
    assert len(answer_rows) == len(triggers)
    # With shared events, a key may have no event of its own at that time.
    assert sorted((row for row in answer_rows if row[-2]), key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("keys", KEYS, ids=["one", "keyed", "shared"])
@given(rows=ROWS)
@settings(deadline=None)
def test_answers_at_the_end(keys: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    answer_rows = [without_time(row, keys) for row in answered(keys, table, Moments())]
    expected = list(fed(keys, table, 99).values())
    if not keys and not expected:
        assert [row[:-1] for row in answer_rows] == [(None, 0, 0)]
    else:
        assert sorted(answer_rows, key=repr) == sorted(expected, key=repr)


@given(rows=ROWS)
@settings(deadline=None)
def test_answers_do_not_depend_on_the_number_of_keys_per_block(rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    moments = Moments(times_us=(2, 9))
    expected = answered({"keys": "k"}, table, moments)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(summary_batches, "_KEYS_AT_ONCE", 2)
        assert answered({"keys": "k"}, table, moments) == expected


@given(rows=ROWS, seed=st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_arrival_does_not_matter(rows: list[dict[str, Any]], seed: Any) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    shuffled = list(rows)
    seed.shuffle(shuffled)
    other = pa.Table.from_pylist(shuffled, schema=SCHEMA)
    assert answered({"keys": "k"}, other, Moments()) == answered({"keys": "k"}, table, Moments())
