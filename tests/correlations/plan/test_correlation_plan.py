"""Tests the plan of a correlation: name resolution, indexed equalities, and time columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.correlations.language.correlation_parser import read_correlation
from ostinato.correlations.plan.correlation_plan import (
    CorrelationPlan,
    Equality,
    PairTimeColumns,
    TimeColumns,
    clocks_of,
    plan_correlation,
)
from ostinato.errors import QueryError
from ostinato.expressions.parsing import parse_expression

TEXT = """SELECT {items} FROM x MATCH_RECOGNIZE (PARTITION BY s ORDER BY {order}
      MEASURES LAST(p) AS low, A.v AS venue, LAST(p) + 1 AS more INCREMENTAL MATCHES PATTERN (A B+)
      DEFINE B AS p < PREV(p, 2)) AS live
    JOIN y MATCH_RECOGNIZE (PARTITION BY k ORDER BY {archive_order} MEASURES LAST(p) AS low, A.v AS place
      MAXIMAL MATCHES PATTERN (A B+) DEFINE B AS p > PREV(p)) AS archive
    ON live.s = archive.k AND RECENT(archive, live, {distance}) {more}"""
LIVE_COLUMNS = ("S", "t", "e", "n", "p", "v")
ARCHIVE_COLUMNS = ("k", "t", "e", "n", "p", "v")
TIME, DAY = pa.timestamp("us", "UTC"), pa.date32()


def plan(
    more: str = "", *, items: str = "*", order: str = "t", archive_order: str = "", distance: str = "INTERVAL 1 DAY"
) -> CorrelationPlan:
    text = TEXT.format(
        items=items, order=order, archive_order=archive_order or order, distance=distance, more=more and f"AND {more}"
    )
    return plan_correlation(read_correlation(text).correlation, LIVE_COLUMNS, ARCHIVE_COLUMNS)


def clocks(planned: CorrelationPlan, **types: pa.DataType) -> PairTimeColumns:
    known = {"S": pa.string(), "k": pa.string(), "t": TIME, "e": TIME, "n": pa.int32(), **types}
    return clocks_of(planned, known.__getitem__, known.__getitem__)


def test_keys_have_the_names_of_their_columns() -> None:
    planned = plan()
    assert planned.keys == (("S", "k"),)
    assert planned.condition is None


def test_references_are_resolved() -> None:
    planned = plan("LIVE.low < archive.LOW AND more > 1 AND correlation_end > correlation_start")
    expected = "live.`low` < archive.`low` AND live.`more` > 1 AND `correlation_end` > `correlation_start`"
    assert planned.condition == parse_expression(expected)


@pytest.mark.parametrize(
    ("condition", "code"),
    [("low > 1", "AMBIGUOUS_COLUMN"), ("archive.more > 1", "UNKNOWN_COLUMN"), ("p > 1", "UNKNOWN_COLUMN")],
)
def test_unresolved_references_raise(condition: str, code: str) -> None:
    with pytest.raises(QueryError, match=code) as caught:
        plan(condition)
    error = caught.value
    assert error.span is not None and error.text is not None
    assert error.text[error.span.start : error.span.end] == condition.split(maxsplit=1)[0]


def test_stars_select_the_columns_of_their_sides() -> None:
    def selected(items: str) -> list[str]:
        query = read_correlation(
            TEXT.format(items=items, order="t", archive_order="t", distance="INTERVAL 1 DAY", more="")
        )
        return [name for name, _ in plan().names.selected(query.items)]

    live, archive = ["S", "low", "venue", "more"], ["k", "low", "place"]
    assert selected("*") == ["correlation_start", "correlation_end", *live, *archive]
    assert selected("Archive.*, live.low + 1 AS one") == [*archive, "one"]
    with pytest.raises(QueryError, match="UNKNOWN_COLUMN"):
        selected("z.*")


def test_equalities_of_plain_values_are_indexed() -> None:
    planned = plan("archive.place = live.venue AND live.low = archive.low AND live.more = archive.low AND live.low > 1")
    assert planned.equalities == (Equality("venue", "place", 1, 1), Equality("low", "low", 0, 0))
    assert planned.declined == {
        "live.more = archive.low": "a side's column isn't a plain value of the match",
        "live.low > 1": "not an equality of two columns",
    }
    assert plan("live.s = archive.place").declined == {
        "live.s = archive.place": "a side's column isn't a plain value of the match"
    }
    assert plan("live.low = live.more").declined == {"live.low = live.more": "both columns are of one side"}


def test_one_time_column_is_a_point_in_time_and_two_are_an_interval() -> None:
    assert clocks(plan()) == PairTimeColumns(TimeColumns("t", "t", TIME), TimeColumns("t", "t", TIME))
    assert clocks(plan(order="t, e")).live.has_intervals
    assert not clocks(plan(order="t, n")).live.has_intervals  # a tie-breaker
    mixed = clocks(plan(order="t, e", archive_order="t"), t=DAY, e=DAY)
    assert (mixed.live.has_intervals, mixed.archive.has_intervals, mixed.type) == (True, False, DAY)
    assert clocks(plan(order="n", distance="7")).type == pa.int32()
    assert clocks(plan(order="n, e", distance="7 ROWS")).live == TimeColumns("n", "n", pa.int32())


@pytest.mark.parametrize(
    ("order", "types", "pointed_at"),
    [
        ("p", {"p": pa.float64()}, "p"),
        ("p", {"p": pa.string()}, "p"),
        ("t, e", {"e": DAY}, "e"),
        ("t, e DESC", {}, "e"),
    ],
)
def test_orders_without_a_time_raise(order: str, types: dict[str, pa.DataType], pointed_at: str) -> None:
    with pytest.raises(QueryError) as caught:
        clocks(plan(order=order, distance="7 ROWS"), **types)
    error = caught.value
    assert error.code == "CORRELATION_ORDER" and error.span is not None and error.text is not None
    assert error.text[error.span.start : error.span.end] == pointed_at


def test_both_sides_need_the_same_types_of_time_and_keys() -> None:
    with pytest.raises(QueryError, match="CORRELATION_ORDER"):
        clocks(plan(order="t", archive_order="n"))
    with pytest.raises(QueryError, match="CORRELATION_KEYS"):
        clocks(plan(), k=pa.int64())


@pytest.mark.parametrize(("order", "distance"), [("t", "7"), ("n", "INTERVAL '7' SECOND")])
def test_the_distance_must_fit_the_order(order: str, distance: str) -> None:
    with pytest.raises(QueryError, match="RECENT_DISTANCE") as caught:
        clocks(plan(order=order, distance=distance))
    assert caught.value.span is not None
