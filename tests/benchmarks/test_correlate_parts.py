"""The parts of `python -m benchmarks correlate`: matches where a stream wants them, few rows through all of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.correlate import anew, answers, buffer, figures, running, sweep
from benchmarks.correlate.parts import EXPERIMENT
from benchmarks.correlate.plot import draw, panels_of
from benchmarks.correlate.queries import Q1, Q2, PairQuery
from benchmarks.correlate.running import AUTO, EAGER, LIVE, LIVE_CACHED, Case, Ran, Setup, digest
from benchmarks.correlate.spark import PERIOD, keyed_ticks
from benchmarks.correlate.streams import FOLDER_VARIABLE, QUOTES, Clusters, Marks, Quotes, Stream, Ticks, quotes_file
from benchmarks.correlate.sweep import Point, speeds
from benchmarks.experiment import Scale, WrongAnswer
from benchmarks.records import Baseline, Record

import ostinato as ost

Range = tuple[int, int]


def ranges(query: PairQuery, table: pa.Table) -> tuple[list[Range], list[Range]]:
    """First and last times of the live and of the archive matches, each matched by itself."""
    found = []
    for mode, pattern in (("INCREMENTAL", query.live), ("MAXIMAL", query.archive)):
        clause = f"ORDER BY ts MEASURES FIRST(ts) AS s, LAST(ts) AS e {mode} MATCHES {pattern}"
        found.append([(row["s"], row["e"]) for row in ost.match(clause, table).to_pylist()])
    return found[0], found[1]


# --- streams ---


def test_a_tick_holds_two_falls_and_two_ticks() -> None:
    live, archive = ranges(Q1, Ticks(100).table())
    assert live == [(0, 1), (0, 2), (50, 51), (50, 52)]
    assert archive == [(0, 3), (1, 3), (50, 53), (51, 53)]


@pytest.mark.parametrize("slow", [2, 8, 32])
def test_marks_are_all_the_matches_there_are(slow: int) -> None:
    live, archive = ranges(Q2, Marks(400, 20, 50, rise=slow, fall=slow).table())
    assert live == [(row - 1, row) for row in range(9, 400, 20)]
    assert archive == [(row - 1, row) for row in range(4, 400, 50)]


@pytest.mark.parametrize("rising", [0.0, 0.5, 1.0])
def test_a_region_covers_a_cluster_and_its_hot_spot(rising: float) -> None:
    stream = Clusters(1_000, rising, every=500, matches=5, stretch=64, length=16)
    live, archive = ranges(Q2, stream.table())
    assert [start for start, _ in archive] == [begin + 4 * i for begin in (0, 500) for i in range(5)]
    assert [end for _, end in live] == [begin + 85 + 4 * i for begin in (0, 500) for i in range(5)]
    assert live[4][1] - archive[0][0] <= stream.span < 500
    steps = stream.steps_of_stretch()
    assert len(steps) == 64
    assert (steps > 0).sum() == rising * 60
    assert (steps < 0).sum() == (1 - rising) * 60


def test_keys_have_ticks_at_moments_of_their_own() -> None:
    table = keyed_ticks(3_000, 10)
    assert len(table["symbol"].unique()) == 10
    prices = table["price"].to_numpy().reshape(-1, 10)
    falls = [set(np.flatnonzero(np.diff(prices[:, key]) < 0) % PERIOD) for key in range(10)]
    assert all(len(found) == 2 for found in falls)
    assert falls[0] != falls[1]


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / QUOTES
    path.parent.mkdir(parents=True)
    rows = 400
    quotes = {
        "symbol": ["XXX"] * rows,
        "ts": pa.array(np.arange(rows) // 2 * 1_000, pa.timestamp("us")),  # two quotes at a time
        "event_id": np.arange(rows),
        "bid": np.random.default_rng(7).integers(0, 20, rows) / 4,
    }
    pq.write_table(pa.table(quotes), path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))


@pytest.mark.usefixtures("data_folder")
def test_quotes_are_read_in_their_order() -> None:
    table = Quotes(50).table()
    assert table.column_names == ["symbol", "ts", "event_id", "price"]
    assert table["event_id"].to_pylist() == list(range(50))


def test_without_data_quotes_are_skipped_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert quotes_file() is None
    (record,) = figures.measure_quotes(Scale.SMALL)
    assert FOLDER_VARIABLE in record.notes[0]


# --- comparing ---


def ran(seconds: float) -> Ran:
    return Ran(rows=1_000, core_seconds=seconds, results=5, searched=1_000)


def point(stream: Stream | None = None) -> Point:
    return Point("figure 10", "Q1", "region", "40", Case(Q1, stream or Ticks(120, period=12), "40"))


def test_digests_see_every_value_and_no_order() -> None:
    table = pa.table({"a": [1, 2, 3], "b": [0.5, 0.25, 4.0]})
    assert digest(table) == digest(table.take([2, 0, 1]))
    assert digest(table) != digest(table.slice(0, 2))
    assert digest(table) != digest(pa.table({"a": [1, 2, 3], "b": [0.25, 0.5, 4.0]}))


def test_speeds_are_compared_with_live_first_without_a_cache() -> None:
    first, second = speeds(point(), {LIVE: ran(2.0), LIVE_CACHED: ran(0.5)})
    assert (first.case, first.value, first.ratio) == ("Q1, region 40: live first, no cache", 500.0, None)
    assert (second.value, second.ratio) == (2_000.0, 4.0)


def test_a_strategy_with_another_answer_is_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def drops_a_row(case: Case, setup: Setup) -> SimpleNamespace:
        counts = SimpleNamespace(live_rows_searched=0, archive_rows_searched=0)
        return SimpleNamespace(
            table=pa.table({"a": [1, 2]}).slice(int(setup == EAGER)), statistics=SimpleNamespace(totals=counts)
        )

    monkeypatch.setattr(running, "answer", drops_a_row)
    with pytest.raises(WrongAnswer, match="eager"):
        running.measured(point(Ticks(7)).case)


def test_slow_strategies_are_called_twice_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_000))
    monkeypatch.setattr("time.process_time", lambda: float(next(clock)))  # a second passes with every look
    calls: list[str] = []
    times = running.core_seconds({"slow": lambda: calls.append("slow")})
    assert times == {"slow": 1.0}
    assert len(calls) == 3  # two rounds are 2 s, which isn't more than enough


def planned(monkeypatch: pytest.MonkeyPatch, auto_seconds: dict[str, float]) -> list[Record]:
    """The planner's records where live-first with a cache takes 1 s everywhere, and auto what is given."""
    points = [Point("figure 10", "Q1", "region", x, Case(Q1, Ticks(100), x)) for x in auto_seconds]
    monkeypatch.setattr(sweep, "all_points", lambda scale: points)
    others = {setup: ran(3.0) for setup in running.ALL}
    seconds = {each.case: others | {LIVE_CACHED: ran(1.0), AUTO: ran(auto_seconds[each.x])} for each in points}
    monkeypatch.setattr(figures, "measured", seconds.__getitem__)
    return figures.measure_planner(Scale.SMALL)


def test_the_planner_is_judged_by_every_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    near, worst = planned(monkeypatch, {"10": 1.05, "50": 1.5, "90": 0.9})
    assert (near.value, near.met) == (2, False)
    assert near.notes == ("figure 10, Q1, region 50: 1.50 times live first, cache",)
    assert (worst.value, worst.met) == (1.5, False)
    near, worst = planned(monkeypatch, {"10": 1.0, "50": 1.1})
    assert (near.met, worst.met) == (True, True)


# --- the archive on disk ---


def test_an_archive_gives_the_rows_of_a_range_and_some_before(tmp_path: Path) -> None:
    archive, table = buffer.Archive(tmp_path), Ticks(40).table()
    for first in range(0, 40, 10):
        archive.write(table.slice(first, 10))
    read = archive.read(18, 31, rows_before=2)
    assert read is not None
    assert read["ts"].to_pylist() == list(range(16, 31))
    assert archive.read(40, 50, rows_before=0) is None


@pytest.mark.slow
@pytest.mark.timeout(600)  # kernels may have to be compiled
def test_what_is_kept_is_that_of_table_5() -> None:
    without_cache, _ = buffer.largest_sizes(200, LIVE)
    rows, entries = buffer.largest_sizes(200, LIVE_CACHED)
    assert without_cache in (200, 201)  # and the row that PREV reads
    assert rows in range(49, 54)
    assert entries in (6, 7)


# --- the published baseline ---


@pytest.mark.usefixtures("data_folder")
def test_regions_matched_anew_give_the_oracles_rows() -> None:
    case = Case(Q1, Quotes(150), "30 ROWS", order_by="ts, event_id")
    found = anew.answer_anew(Q1, Quotes(150).table(), 30)
    right = answers.oracle_rows(case)
    assert answers.rows_of(found) == right
    assert len(right) > 20


# --- all of it ---


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (sweep, "ROWS", 2_000),
        (sweep, "QUOTE_ROWS", 400),
        (sweep, "REGIONS", (10, 500)),
        (buffer, "ROWS", 1_000),
        (buffer, "BUFFERS", (1, 500)),
        (buffer, "KEPT_REGIONS", (50,)),
    ):
        monkeypatch.setitem(getattr(module, name), Scale.SMALL, value)
    monkeypatch.setattr(figures, "WINDOW_ROWS", 300)
    monkeypatch.setattr(running, "ROUNDS", 1)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("few_rows", "data_folder")
def test_every_part_checks_measures_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert EXPERIMENT.parts[0].figure == "answers"
    parts = [part for part in EXPERIMENT.parts if part.figure != "spark"]
    records = [record for part in parts for record in part.measure(Scale.SMALL)]
    assert {record.figure for record in records} == {part.figure for part in parts}
    asked = {record.figure for record in records if record.goal is not None}
    assert asked == {"table 5", "figure 11", "figure 14", "planner"}
    drawn = {path.name for path in draw(records, tmp_path)}
    assert drawn == {f"correlate-figure-{name}.png" for name in ("9", "10", "12a", "12b", "13a", "13b", "14")}


# --- drawing ---


def test_a_case_says_where_it_is_drawn() -> None:
    cases = ["regions apart, ratio 1:10: eager", "regions apart, ratio 1:1: eager", "quotes, region 500: best"]
    records = [Record("correlate", "figure 13a", case, "speed", 1.0, "rows/s") for case in cases]
    assert panels_of(records) == {
        "regions apart": {"eager": [("1:10", 1.0), ("1:1", 1.0)]},
        "quotes": {"best": [("500", 1.0)]},
    }


def test_pictures_need_records_of_their_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    record = Record("correlate", "figure 14", "quotes, region 10: eager", "speed", 1e5, "rows/s", Baseline("x", 1.0))
    assert [path.name for path in draw([record], tmp_path)] == ["correlate-figure-14.png"]
    assert draw([], tmp_path) == []
