"""`ost.correlate` in this process: the paper's example, steps and state, the archive read back, several queries."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from benchmarks.correlate import window_first

import ostinato as ost
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.task.archive_reader import TableReader
from ostinato.correlations.task.correlation_worker import CorrelationOptions, Correlator, StoredStep
from ostinato.correlations.task.wanted_schema import FROM, ROWS_BEFORE, TO, wanted_key
from ostinato.errors import MatchError, QueryError
from ostinato.expressions.types import Settings
from ostinato.local.local_correlations import LocalCorrelation

FALL = "PATTERN (A B+) DEFINE B AS price < PREV(price)"
RISE = "PATTERN (A B+) DEFINE B AS price > PREV(price)"
TICK = """PATTERN (A B+ C* D) DEFINE B AS price < PREV(price), C AS price > PREV(price),
    D AS price > PREV(price) AND price > A.price"""
PAPER = [10, 6, 6, 5, 7, 6, 11, 8, 8, 3, 3]
STRATEGIES = [
    (window_first.NAME, False),
    ("eager", True),
    ("live_first", True),
    ("live_first", False),
    ("archive_first", True),
    ("archive_first", False),
]
TABLE_1 = [(2, 5, 7, 6, 6, 7), (2, 7, 11, 8, 6, 7), (2, 9, 8, 3, 6, 7), (4, 7, 11, 8, 7, 11), (4, 9, 8, 3, 7, 11)]


def query(
    live: str = FALL,
    archive: str = TICK,
    recency: str = "7",
    *,
    modes: tuple[str, str] = ("INCREMENTAL MATCHES", "MAXIMAL MATCHES"),
    order: str = "t",
    measures: str = "FIRST(price) AS first, LAST(price) AS last",
    also: str = "",
    select: str = "correlation_start, correlation_end, live.first, live.last, archive.first, archive.last",
) -> str:
    def clause(mode: str, pattern: str) -> str:
        return f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY {order} MEASURES {measures} {mode} {pattern})"

    return f"""SELECT {select} FROM stock {clause(modes[0], live)} AS live
        JOIN stock {clause(modes[1], archive)} AS archive
        ON live.symbol = archive.symbol AND RECENT(archive, live, {recency}) {also}"""


def prices(*values: int | None, symbol: str = "X") -> pa.Table:
    return pa.table({"symbol": [symbol] * len(values), "t": range(len(values)), "price": pa.array(values, pa.int64())})


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def correlation(text: str, *, strategy: Any = "auto", **options: Any) -> ost.CorrelationQuery:
    """Also by the comparator of the benchmarks."""
    if strategy == window_first.NAME:
        return window_first.by_window_first(ost.correlate(text, **options))
    return ost.correlate(text, strategy=strategy, **options)


def answer(text: str, live: pa.Table, **options: Any) -> list[tuple[Any, ...]]:
    return rows(correlation(text, **options).run(live).table)


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step_rows", [1, 2, 3, 100])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_the_papers_table_1(strategy: str, cache: bool, step_rows: int) -> None:
    found = answer(query(), prices(*PAPER), strategy=strategy, cache=cache, step_rows=step_rows)
    assert found == TABLE_1


@pytest.mark.parametrize("step_rows", [1, 100])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_the_archive_is_as_of_the_live_match(strategy: str, cache: bool, step_rows: int) -> None:
    live = "PATTERN (A B) DEFINE B AS price > PREV(price)"
    found = answer(query(live, RISE), prices(1, 2, 3, 4), strategy=strategy, cache=cache, step_rows=step_rows)
    assert [(start, end, last) for start, end, _, _, _, last in found] == [(0, 2, 2), (0, 3, 3), (1, 3, 3)]


@pytest.mark.parametrize("step_rows", [1, 100])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_live_matches_come_from_the_full_history(strategy: str, cache: bool, step_rows: int) -> None:
    archive = "PATTERN (A B) DEFINE B AS price < PREV(price)"
    assert (
        answer(query(FALL, archive), prices(9, 8, 7, 6, 5), strategy=strategy, cache=cache, step_rows=step_rows) == []
    )


@pytest.mark.parametrize("strategy", ["eager", "live_first", "archive_first"])
def test_keys_stay_apart(strategy: str) -> None:
    both = pa.concat_tables([prices(*PAPER), prices(*PAPER, symbol="Y"), prices(1, 2, symbol="Z")])
    text = query(select="live.symbol, correlation_start, correlation_end")
    found = answer(text, both, strategy=strategy)
    assert found == [(key, start, end) for key in "XY" for start, end, *_ in TABLE_1]


def test_rows_without_a_key_join_nothing() -> None:
    unknown = prices(*PAPER).set_column(0, "symbol", pa.array([None] * len(PAPER), pa.string()))
    assert answer(query(), unknown) == []


def test_equal_starts_are_ordered_by_the_end() -> None:
    table = pa.table({"symbol": ["X"] * 4, "t": [4, 4, 5, 6], "price": [1, 1, 1, 1]})
    found = answer(query("PATTERN (A)", "PATTERN (A)", "9"), table)
    assert [row[:2] for row in found] == [(4, 5), (4, 5), (4, 6), (4, 6), (5, 6)]


def test_a_region_of_rows() -> None:
    found = answer(query(recency="4 ROWS"), prices(*PAPER))
    assert [row[:2] for row in found] == [(2, 5), (4, 7)]


def test_the_standards_matches_on_both_sides() -> None:
    modes = ("AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW")
    reluctant = "PATTERN (A B+?) DEFINE B AS price > PREV(price)"
    found = answer(query(FALL, reluctant, modes=modes), prices(1, 2, 3, 2, 1, 5))
    assert [(start, end, last) for start, end, _, _, _, last in found] == [(0, 4, 2), (1, 4, 3)]


def test_an_archive_of_its_own() -> None:
    history = prices(6, 5, 7)
    live = pa.table({"symbol": ["X"] * 2, "t": [5, 6], "price": [9, 8]})
    assert rows(ost.correlate(query(), archive=history).run(live).table) == [(0, 6, 9, 8, 6, 7)]


@pytest.mark.parametrize("strategy", ["eager", "live_first", "archive_first"])
@pytest.mark.parametrize("step_rows", [2, 100])
def test_equal_values_find_their_pairs(strategy: str, step_rows: int) -> None:
    """The join attributes index the result cache; a start's value may differ from growth to growth."""
    table = prices(1, 2, 3, 2, 4, 3, 3, 4, 3, None, 4, 3)
    plain = [row for row in answer(query(FALL, RISE), table) if row[3] == row[5]]
    indexed = answer(
        query(FALL, RISE, also="AND live.last = archive.last"), table, strategy=strategy, step_rows=step_rows
    )
    assert plain
    assert indexed == plain


def test_intervals_inside_one_another() -> None:
    # The event from 1 to 9 isn't over when the live match ends at 6: the archive as of it is the events 2 and 3.
    table = pa.table(
        {
            "symbol": ["X"] * 4,
            "t": pa.array([1, 2, 4, 5], pa.timestamp("us")),
            "u": pa.array([9, 3, 4, 6], pa.timestamp("us")),
            "price": [1, 2, 3, 2],
        }
    )
    text = query(FALL, RISE, "INTERVAL '1' SECOND", order="t, u", measures="FIRST(price) AS first, count(*) AS last")
    assert [row[2:] for row in answer(text, table)] == [(3, 2, 2, 2)]


def test_an_interval_that_ends_first_is_an_error() -> None:
    times = [pa.array([value], pa.timestamp("us")) for value in (5, 4)]
    table = pa.table([pa.array(["X"]), *times, pa.array([1])], names=["symbol", "t", "u", "price"])
    with pytest.raises(MatchError) as caught:
        answer(query(recency="INTERVAL '1' SECOND", order="t, u"), table)
    assert caught.value.code == "INTERVAL_ENDS_FIRST"


# --- steps and state --------------------------------------------------------------------------------------------------


def correlator(text: str, schema: pa.Schema, **options: Any) -> tuple[LocalCorrelation, Correlator]:
    asked = LocalCorrelation(text, schema, None, Settings(), Limits())
    return asked, Correlator(asked.task, CorrelationOptions(**options))


def by_minute(text: str, table: pa.Table, **options: Any) -> list[StoredStep]:
    """One row a step, the state as bytes in between."""
    asked, engine = correlator(text, table.schema, **options)
    arriving = asked.live_rows(table)
    state, steps = b"", []
    for minute in range(table.num_rows):
        steps.append(engine.advance(state, arriving.slice(minute, 1), None, minute))
        state = steps[-1].state
    return [*steps, engine.advance(state, None, None, table.num_rows, finished=True)]


@pytest.mark.parametrize("strategy", ["live_first", "archive_first", "eager"])
def test_results_are_given_when_no_earlier_one_can_come(strategy: str) -> None:
    steps = by_minute(query(), prices(*PAPER), strategy=strategy)
    given = {minute: step.results.num_rows for minute, step in enumerate(steps) if step.results.num_rows}
    assert given == {5: 1, 7: 1, 9: 3}


def test_unordered_results_are_given_at_once() -> None:
    steps = by_minute(query(), prices(*PAPER), strategy="live_first", ordered=False)
    assert {minute: step.results.num_rows for minute, step in enumerate(steps) if step.results.num_rows} == {
        5: 1,
        7: 2,
        9: 2,
    }


def test_buffer_and_cache_stay_small() -> None:
    """Table 5: the buffer holds what lies between live matches, the cache one entry a start; without it all of P."""
    fall_and_rise = [9, 8, 7, 8, 9, 10, *([10] * 14)] * 20
    cached = ost.correlate(query(recency="100"), strategy="live_first", step_rows=1).run(prices(*fall_and_rise))
    anew = ost.correlate(query(recency="100"), strategy="live_first", cache=False, step_rows=1).run(
        prices(*fall_and_rise)
    )
    assert cached.table == anew.table
    assert cached.statistics.buffered_rows <= 22  # and the row that PREV reads
    assert cached.statistics.cached_entries <= 10  # two starts for each of five falls
    assert 99 <= anew.statistics.buffered_rows <= 101


def test_late_rows_are_dropped_and_counted() -> None:
    table = prices(*PAPER)
    asked, engine = correlator(query(), table.schema)
    arriving = asked.live_rows(table)
    first = engine.advance(None, arriving.slice(0, 6), None, 5)
    late = engine.advance(first.state, arriving.slice(2, 2), None, 5)
    assert (late.counts.rows, late.counts.late_rows) == (2, 2)
    assert engine.advance(late.state, arriving.slice(6), None, 0, finished=True).results.num_rows == 4


def test_rows_wait_for_the_watermark() -> None:
    table = prices(*PAPER)
    asked, engine = correlator(query(), table.schema)
    mixed = asked.live_rows(table).take([5, 3, 1, 0, 2, 4, 10, 9, 8, 7, 6])
    first = engine.advance(None, mixed, None, 5)
    assert first.results.num_rows == 1
    assert engine.advance(first.state, None, None, 100).results.num_rows == 4


def test_a_state_belongs_to_its_query() -> None:
    table = prices(*PAPER)
    asked, engine = correlator(query(), table.schema)
    state = engine.advance(None, asked.live_rows(table), None, 5).state
    other, another = correlator(query(recency="8"), table.schema)
    with pytest.raises(MatchError) as caught:
        another.advance(state, other.live_rows(table), None, 7)
    assert caught.value.code == "STATE_OF_OTHER_QUERY"
    with pytest.raises(MatchError) as caught:
        engine.advance(state[:-40], None, None, 7)
    assert caught.value.code == "STATE_FORMAT"


# --- the archive read back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recency", ["7", "6 ROWS"])
@pytest.mark.parametrize("recent_rows", [1, 2, 5])
@pytest.mark.parametrize(("strategy", "cache"), STRATEGIES)
def test_a_small_buffer_gives_the_same(strategy: str, cache: bool, recent_rows: int, recency: str) -> None:
    table = prices(*PAPER, *PAPER, *reversed(PAPER))
    text = query(recency=recency)
    options = {"strategy": strategy, "cache": cache, "step_rows": 2}
    assert answer(text, table, recent_rows=recent_rows, **options) == answer(text, table)


def test_a_wanted_range_has_key_times_and_rows_before() -> None:
    table = prices(*PAPER)
    asked, engine = correlator(query(), table.schema, strategy="live_first", cache=False, recent_rows=2)
    arriving = asked.live_rows(table)
    state = engine.advance(None, arriving.slice(0, 5), None, 4).state
    wants = engine.advance(state, arriving.slice(5, 1), None, 5)
    assert wants.results.num_rows == 0
    assert wants.wanted.to_pylist() == [{wanted_key(0): "X", FROM: 0, TO: 2, ROWS_BEFORE: 1}]
    history = TableReader(asked.task, arriving).read(wants.wanted)
    assert history.column("t").to_pylist() == [0, 1]
    again = engine.advance(state, arriving.slice(5, 1), None, 5, history=history)
    assert again.wanted.num_rows == 0
    assert again.counts.held_results == 1  # without the cache nothing says that the starts before it have no match


# --- several, statistics, errors --------------------------------------------------------------------------------------


def test_several_correlations_share_their_live_matches() -> None:
    table = prices(*PAPER)
    asked = {"ticks": query(), "rises": query(archive=RISE), "near": query(recency="3 ROWS")}
    together = ost.correlate(asked, strategy="live_first").run_all(table)
    assert {name: rows(found.table) for name, found in together.items()} == {
        name: answer(text, table) for name, text in asked.items()
    }
    searched = [found.statistics.totals.live_rows_searched for found in together.values()]
    assert searched == [len(PAPER)] * 3  # what the first of them searched


def test_statistics_show_factors_and_costs() -> None:
    table = prices(*(PAPER * 5_000))  # enough for a trial of the strategies
    found = ost.correlate(query()).run(table)
    factors = found.statistics.factors
    assert factors is not None
    assert factors.live_region <= 8
    text = str(found.report)
    assert text.startswith("What ran\n")
    assert found.report.table.num_rows == 1
    assert found.explain().text.endswith(text)
    assert "archive-first with cache" in text
    assert "<- chosen" in text


def test_explain_shows_the_correlation_and_both_clauses() -> None:
    text = ost.explain(ost.correlate(query())).text
    assert text.startswith("The correlation\n")
    assert "at most 7 before the live match ends" in text
    assert "MATCH_RECOGNIZE 2 of 2" in text


def test_a_strategy_that_cannot_count_live_matches_is_refused() -> None:
    text = query(measures="MATCH_NUMBER() AS n, FIRST(price) AS first", select="live.n").replace(
        "MATCH_NUMBER() AS n, FIRST(price) AS first MAXIMAL", "FIRST(price) AS first MAXIMAL"
    )
    assert [row[0] for row in answer(text, prices(*PAPER))] == [3, 4, 5, 4, 5]
    with pytest.raises(QueryError) as caught:
        answer(text, prices(*PAPER), strategy="archive_first")
    assert caught.value.code == "CORRELATION_STRATEGY"
