"""`ost.correlate` with matches that depend on later rows, with rows of equal times, and with wrong arguments."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from tests.api.test_correlations import FALL, STRATEGIES, TICK, answer, prices, query

import ostinato as ost
from ostinato.correlations.language.correlation_parser import read_correlation
from ostinato.errors import OstinatoError
from ostinato.reference.correlation_oracle import correlate_rows

ANY = "PATTERN (A)"


def expected(text: str, live: pa.Table, archive: pa.Table | None = None) -> list[tuple[Any, ...]]:
    """The start and end of the oracle's results, and the first and last price of both matches."""
    history = live if archive is None else archive
    correlation = read_correlation(text).correlation
    results: list[Any] = correlate_rows(
        correlation, live.column_names, live.to_pylist(), history.column_names, history.to_pylist()
    )
    sides = [(row["correlation_start"], row["correlation_end"], row["live"], row["archive"]) for row in results]
    return [(start, end, live["first"], live["last"], old["first"], old["last"]) for start, end, live, old in sides]


# --- later rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step_rows", [1, 2, 3])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_a_live_match_that_the_next_row_decides(strategy: str, cache: bool, step_rows: int) -> None:
    # Between two steps the condition of the last row is unknown, not false. So its partial match stays open.
    text = query("PATTERN (A B) DEFINE B AS price < NEXT(price)", ANY, "4")
    table = prices(4, 1, 4, 2, 5, 1)
    assert expected(text, table) == [(0, 3, 4, 2, 4, 4), (1, 3, 4, 2, 1, 1)]
    assert answer(text, table, strategy=strategy, cache=cache, step_rows=step_rows) == expected(text, table)


@pytest.mark.parametrize("step_rows", [2, 100])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_a_live_match_at_the_end_of_its_key(strategy: str, cache: bool, step_rows: int) -> None:
    text = query("PATTERN (A B+ $) DEFINE B AS price > A.price", ANY, "9 ROWS")
    table = prices(5, 5, 6, 7, 3, 1, 2, 4, 3)
    assert [row[1] for row in expected(text, table)] == [8] * 5
    assert answer(text, table, strategy=strategy, cache=cache, step_rows=step_rows) == expected(text, table)


@pytest.mark.parametrize("step_rows", [1, 5])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_rows_in_which_no_live_match_can_start(strategy: str, cache: bool, step_rows: int) -> None:
    # After the first step, no match can start in the last known row of Y, although no match was reported for that row.
    text = query(
        "PATTERN (A) DEFINE A AS price > 0", ANY, "INTERVAL '5' DAY", order="t, u", modes=("", "MAXIMAL MATCHES")
    )
    days = [("Y", 2, 7, 1), ("Y", 4, 5, 1), ("Y", 14, 14, 0), ("X", 16, 17, 4), ("X", 18, 23, 1), ("X", None, None, 2)]
    table = pa.table(
        {
            "symbol": [key for key, *_ in days],
            "t": [day and date(2024, 1, day) for _, day, _, _ in days],
            "u": [day and date(2024, 1, day) for _, _, day, _ in days],
            "price": [price for *_, price in days],
        }
    )
    results = answer(text, table, strategy=strategy, cache=cache, step_rows=step_rows)
    assert sorted(results) == sorted(expected(text, table))


def lasting(*days: tuple[int, int]) -> pa.Table:
    """Events that last from one day to another."""
    starts, ends = ([date(2024, 1, day) for day in each] for each in zip(*days, strict=True))
    return pa.table({"symbol": ["X"] * len(days), "t": starts, "u": ends, "price": [1] * len(days)})


@pytest.mark.parametrize("step_rows", [1, 2, 100])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_an_archive_event_inside_a_longer_one(strategy: str, cache: bool, step_rows: int) -> None:
    # At day 5, the event of days 2 to 7 hasn't ended. The event of days 3 to 4, which follows it, has.
    text = query("PATTERN (A B)", ANY, "INTERVAL '5' DAY", order="t, u")
    live, archive = lasting((4, 5), (5, 5), (25, 26)), lasting((2, 7), (3, 4))
    results = answer(text, live, archive=archive, strategy=strategy, cache=cache, step_rows=step_rows)
    assert results == [(date(2024, 1, 3), date(2024, 1, 5), 1, 1, 1, 1)]


@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_results_of_nested_live_events_are_ordered(strategy: str, cache: bool) -> None:
    # The event of days 4 to 7 is known at day 7. The event of day 6 waits for its predecessor until day 10. Its result
    # comes first.
    text = query("PATTERN (A)", ANY, "INTERVAL '9' DAY", order="t, u", modes=("", "MAXIMAL MATCHES"))

    live, archive = lasting((2, 3), (4, 7), (5, 10), (6, 6), (7, 7), (12, 12)), lasting((1, 1))
    options: dict[str, Any] = {"strategy": strategy, "cache": cache, "archive": archive}
    for step_rows in (1, 2, 100):
        results = answer(text, live, step_rows=step_rows, **options)
        assert [end.day for _, end, *_ in results] == [3, 6, 7, 7, 10]


# --- equal times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_rows_of_the_same_time_are_read_back_together(strategy: str, cache: bool) -> None:
    # A region of 4 rows needs only the second of two archive rows at time 5. Its PREV is the first of them.
    def table(times: list[int], values: list[int | None]) -> pa.Table:
        return pa.table({"symbol": ["p"] * len(times), "t": times, "price": pa.array(values, pa.int64())})

    live = table([9, 12, 15, 16], [3, 3, 1, 4])
    archive = table([4, 5, 5, 7, 7, 9], [2, None, None, 0, 0, 2])
    text = query(
        "PATTERN (A B+) DEFINE B AS price >= 2",
        "PATTERN (A+ B) DEFINE B AS price <> A.price",
        "4 ROWS",
        modes=("", "AFTER MATCH SKIP TO NEXT ROW"),
        measures="PREV(FIRST(price)) AS first, LAST(price) AS last",
    )
    expected_rows = expected(text, live, archive)
    assert len(expected_rows) == 6
    options: dict[str, Any] = {"strategy": strategy, "cache": cache, "step_rows": 1, "recent_rows": 4}
    assert answer(text, live, archive=archive, **options) == expected_rows


# --- wrong arguments --------------------------------------------------------------------------------------------------


def code_of(queries: Any, live: pa.Table, **options: Any) -> str:
    with pytest.raises(OstinatoError) as caught:
        ost.correlate(queries, **options).run(live)
    return caught.value.code


@pytest.mark.parametrize(
    "options",
    [{"strategy": "both"}, {"recent_rows": 0}, {"recent_rows": 1.5}, {"step_rows": "many"}, {"max_partial_matches": 0}],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    assert code_of(query(), prices(1), **options) == "INVALID_OPTION"


def test_two_tables_need_an_archive() -> None:
    text = query().replace("JOIN stock", "JOIN history")
    assert code_of(text, prices(1)) == "INVALID_OPTION"
    assert answer(text, prices(1), archive=prices(1)) == []


@pytest.mark.parametrize("queries", [7, [], {}, [7], {"one": None}])
def test_arguments_that_are_no_queries_are_refused(queries: Any) -> None:
    assert code_of(queries, prices(1)) == "NOT_A_QUERY"


def test_a_condition_must_be_boolean() -> None:
    assert code_of(query(also="AND live.first"), prices(1)) == "NOT_A_CONDITION"
    assert answer(query(also="AND NULL"), prices(10, 6, 6, 5, 7, 6)) == []


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        (query(archive=TICK.replace("D AS price", "D AS pirce")), "UNKNOWN_COLUMN", "pirce"),
        (query(live=FALL.replace("price <", "upper(price, 1) <")), "WRONG_NUMBER_OF_ARGUMENTS", "upper(price, 1)"),
        (query(measures="nope(LAST(price)) AS first, 1 AS last"), "UNKNOWN_FUNCTION", "nope(LAST(price))"),
        (query(order="symbol"), "CORRELATION_ORDER", "symbol"),
        (query(also="AND live.nope"), "UNKNOWN_COLUMN", "live.nope"),
    ],
)
def test_carets_point_into_the_statement(text: str, code: str, word: str) -> None:
    with pytest.raises(OstinatoError) as caught:
        ost.correlate(text).run(prices(1))
    error = caught.value
    assert (error.code, error.text) == (code, text) and error.span is not None
    assert text[error.span.start : error.span.end] == word


@pytest.mark.parametrize("times", [[-(2**63), 0], [-(2**62), 0], [0, 2**62], [0, 2**63 - 1]])
def test_times_too_far_apart_to_subtract_raise(times: list[int]) -> None:
    table = pa.table({"symbol": ["X"] * 2, "t": times, "price": [1, 2]})
    assert code_of(query(ANY, ANY), table) == "ARITHMETIC_OVERFLOW"
