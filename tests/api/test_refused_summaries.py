"""What `ost.summary` refuses: options, expressions, columns, tables; and what is no error at the edge of it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from tests.summaries.fed_summaries import asked, letters

import ostinato as ost
from ostinato.errors import MatchError, QueryError

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "size 0": ({"size": 0}, "SUMMARY_SIZE"),
    "a size that is no number": ({"size": "many"}, "INVALID_OPTION"),
    "a negative window": ({"within": "-1 minute"}, "SUMMARY_WINDOW"),
    "a window that is none": ({"within": "soon"}, "SUMMARY_WINDOW"),
    "a window of months": ({"within": "1 month"}, "SUMMARY_WINDOW"),
    "half a unit": ({"within": 0.5}, "SUMMARY_WINDOW"),
    "a tick that is none": ({"eviction": {"tick": "0 seconds"}}, "SUMMARY_TICK"),
    "a tick of another kind": ({"eviction": {"tick": 3}}, "SUMMARY_TICK"),
    "probabilities below 1": ({"eviction": {"probabilities": {"A": 0.5, "B": 0.2, "C": 0.2}}}, "SUMMARY_PROBABILITIES"),
    "a probability above 1": (
        {"eviction": {"probabilities": {"A": 1.5, "B": -0.5, "C": 0.0}}},
        "SUMMARY_PROBABILITIES",
    ),
    "a probability missing": ({"eviction": {"probabilities": {"A": 0.5, "B": 0.5}}}, "SUMMARY_PROBABILITIES"),
    "a half-life of 0": ({"eviction": {"half_life": 0}}, "SUMMARY_HALF_LIFE"),
    "an aggregate that is none": ({"aggregate": "MAX(x)"}, "SUMMARY_AGGREGATE"),
    "a sum of nothing": ({"aggregate": "SUM"}, "SUMMARY_AGGREGATE"),
    "a count of a column": ({"aggregate": "COUNT(x)"}, "SUMMARY_AGGREGATE"),
    "strict": ({"selection": "strict"}, "SUMMARY_SELECTION"),
    "an unknown selection": ({"selection": "skip"}, "INVALID_OPTION"),
    "an unknown strategy": ({"eviction": {"strategy": "best"}}, "INVALID_OPTION"),
    "an unknown setting for types": ({"event_types": {"unknown": "keep"}}, "INVALID_OPTION"),
    "unknown numbers": ({"numbers": "float"}, "INVALID_OPTION"),
    "no buckets": ({"buckets": 0}, "INVALID_OPTION"),
    "no order": ({"time": ()}, "INVALID_OPTION"),
    "a key twice": ({"keys": ("k", "k")}, "INVALID_OPTION"),
    "keyed types without keys": ({"event_types": ost.EventTypes(keyed=("A",))}, "SUMMARY_KEYS"),
    "no keyed types": ({"event_types": {"keyed": ()}, "keys": "k"}, "INVALID_OPTION"),
    "an expression that is no text": ({"expression": None}, "INVALID_OPTION"),
    "keys that are no names": ({"keys": [None]}, "INVALID_OPTION"),
    "probabilities that are none": ({"eviction": {"probabilities": [0.5, 0.5]}}, "SUMMARY_PROBABILITIES"),
    "a probability that is a text": (
        {"eviction": {"probabilities": {"A": "half", "B": 0.5, "C": 0.0}}},
        "SUMMARY_PROBABILITIES",
    ),
    "a keyed type that isn't there": (
        {"event_types": ost.EventTypes(keyed=("Z",)), "keys": "k"},
        "SUMMARY_UNKNOWN_TYPE",
    ),
}


@pytest.mark.parametrize(("options", "code"), REFUSED.values(), ids=REFUSED)
def test_refused_before_any_event(options: dict[str, Any], code: str) -> None:
    with pytest.raises(QueryError) as caught:
        asked(**options)
    assert caught.value.code == code


def test_an_expression_that_cant_be_read_has_a_caret() -> None:
    with pytest.raises(QueryError, match=r"SUMMARY_EXPRESSION(.|\n)*A \(B\n.*\^"):
        asked("A (B")


def test_the_empty_word_is_no_match() -> None:
    assert asked("A*").feed(letters("X")).ask().count == 0
    assert asked("A*").feed(letters("AA")).ask().count == 3


def test_a_window_of_nothing_matches_events_of_one_time() -> None:
    table = pa.table({"ts": [1, 1, 2], "kind": ["A", "C", "C"]})
    assert asked("A C", within=0).feed(table).ask().count == 1


@pytest.mark.parametrize(("expression", "why"), [("A)", "nothing is open"), ("A{2}", "no expression has it")])
def test_why_an_expression_cant_be_read(expression: str, why: str) -> None:
    with pytest.raises(QueryError, match=why):
        asked(expression)


def test_a_name_that_was_read_as_letters_is_found_out() -> None:
    table = pa.table({"at": [1, 2], "kind": ["search", "pay"]})
    with pytest.raises(MatchError, match="letter by letter") as caught:
        ost.summary("search pay", type="kind", time="at", within=10, size=5).feed(table)
    assert caught.value.code == "SUMMARY_UNKNOWN_TYPE"
    named = ost.summary(
        "search pay", type="kind", time="at", within=10, size=5, event_types=ost.EventTypes(declared=("search", "pay"))
    )
    assert named.feed(table).ask().count == 1


def test_unknown_types() -> None:
    assert asked().feed(letters("AXC")).ask().count == 1
    with pytest.raises(MatchError, match="SUMMARY_UNKNOWN_TYPE"):
        asked(event_types=ost.EventTypes(unknown="refuse")).feed(letters("AXC"))
    assert (
        asked(event_types=ost.EventTypes(unknown="refuse", declared=("A", "B", "C", "X")))
        .feed(letters("AXC"))
        .ask()
        .count
        == 1
    )
    nameless = letters("AXC").set_column(1, "kind", pa.array(["A", None, "C"]))
    assert asked().feed(nameless).ask().count == 1
    with pytest.raises(MatchError, match="SUMMARY_UNKNOWN_TYPE"):
        asked(event_types=ost.EventTypes(unknown="refuse")).feed(nameless)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"type": "knid"}, "UNKNOWN_COLUMN.*\nhint: did you mean 'kind'"),
        ({"time": "at"}, "UNKNOWN_COLUMN"),
        ({"keys": "k"}, "UNKNOWN_COLUMN"),
        ({"aggregate": "SUM(price)"}, "UNKNOWN_COLUMN"),
        ({"type": "x"}, "TYPE_MISMATCH"),
        ({"aggregate": "SUM(kind)"}, "UNSUPPORTED_TYPE"),
        ({"aggregate": "SUM(d)"}, "UNSUPPORTED_TYPE.*\nhint: CAST it AS DECIMAL"),
        ({"time": "kind"}, "INVALID_TIME"),
        ({"time": "x"}, "INVALID_WITHIN"),
        ({"within": 60}, "INVALID_WITHIN"),
    ],
)
def test_columns_that_dont_fit(change: dict[str, Any], code: str) -> None:
    table = letters("ABC", x=[1, 2, 3], d=pa.array([1, 2, 3], pa.decimal128(30, 2)))
    with pytest.raises(QueryError, match=code):
        asked(**change).feed(table)


@pytest.mark.parametrize("name", ["value", "Count", "kept", "seen", "asked_at"])
def test_key_columns_have_other_names_than_answers(name: str) -> None:
    with pytest.raises(QueryError, match="DUPLICATE_COLUMN"):
        asked(keys=name).feed(letters("A", **{name: [1]}))


def test_a_name_that_two_columns_have() -> None:
    with pytest.raises(QueryError, match="AMBIGUOUS_COLUMN"):
        asked().feed(letters("A", KIND=["A"]))


def test_a_table_that_is_older_than_the_last() -> None:
    summary = asked(keys="k").feed(letters("AB", 5, k=[1, 2]))
    before = summary.to_bytes()
    with pytest.raises(MatchError, match=r"SUMMARY_TIME_ORDER: an event at 2024-01-01 00:00:05 came .* 00:00:06"):
        summary.feed(letters("C", 5, k=[2]))
    assert summary.to_bytes() == before
    assert summary.feed(letters("C", 5, k=[1])).ask(1).count == 1  # keys have times of their own


def test_a_table_of_other_types() -> None:
    summary = asked(aggregate="SUM(x)").feed(letters("A", x=[1]))
    with pytest.raises(QueryError, match="SUMMARY_COLUMNS"):
        summary.feed(letters("B", 1, x=[1.5]))


def test_values_that_cant_be_added_up() -> None:
    with pytest.raises(MatchError, match="SUMMARY_VALUE"):
        asked(aggregate="SUM(x)").feed(letters("AB", x=[1.0, float("inf")]))


@pytest.mark.parametrize("strategy", ["published", "fifo", "random"])
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_values_of_events_that_the_expression_doesnt_use_may_be_anything(value: float, strategy: str) -> None:
    summary = asked(aggregate="SUM(x)", eviction=ost.Eviction(strategy=strategy)).feed(
        letters("AXC", x=[1.0, value, 2.0])
    )
    assert summary.ask().value == 3.0
    assert summary.ask_all().column("value").to_pylist() == [3.0]


def test_a_refused_table_leaves_nothing_behind() -> None:
    """The value of B, which belongs to every key, is looked at before A is born."""
    options = {"keys": "k", "event_types": ost.EventTypes(keyed=("A", "C")), "aggregate": "SUM(x)"}
    summary = asked(**options)
    with pytest.raises(MatchError, match="SUMMARY_VALUE"):
        summary.feed(letters("BAB", k=[None, 1, None], x=[1.0, 1.0, float("inf")]))
    good = letters("BABC", k=[None, 1, None, 1], x=[1.0] * 4)
    assert summary.feed(good).ask_all() == asked(**options).feed(good).ask_all()


def test_something_else_than_a_table() -> None:
    with pytest.raises(QueryError, match="NOT_A_TABLE"):
        asked().feed(17)


def test_summaries_are_values() -> None:
    assert asked() == asked().feed(letters("ABC"))
    assert asked() != asked(size=3)
    assert asked(time=["ts"], keys=["k"]) == asked(keys="k")


def test_pandas_without_types() -> None:
    frame = pd.DataFrame({"ts": pd.to_datetime(["2024-01-01", "2024-01-02"]), "kind": ["A", "C"]})
    assert asked(within="1 day").feed(frame).ask().count == 1
