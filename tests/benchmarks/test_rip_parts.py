"""The parts of `python -m benchmarks rip`: few rows through all of them, and what is computed from measured times."""

from __future__ import annotations

import doctest
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.experiment import Scale, WrongAnswer
from benchmarks.queries import QUERIES, PatternQuery, Q, Shape, prices
from benchmarks.records import Record
from benchmarks.rip import answers, cost_model, library, run_based, schedule, state_figures, variants
from benchmarks.rip.linear_query import linear_query
from benchmarks.rip.parts import EXPERIMENT
from benchmarks.rip.plot import draw
from benchmarks.rip.quotes import FOLDER_VARIABLE, repeated_bids
from benchmarks.rip.run_based import sequential, slice_seconds
from benchmarks.rip.run_figures import measure_quotes
from benchmarks.rip.state_based import state_seconds

from ostinato.local import local_clause as local
from ostinato.slices.slice_threads import run_in_slices

FEW_ROWS = 25_000


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with quotes that OSTINATO_DATA names."""
    bids = np.round(prices(1_000) / 10)
    quotes = pa.table({"event_id": np.arange(1_000)[::-1], "bid": bids[::-1]})
    (tmp_path / "taq").mkdir()
    pq.write_table(quotes, tmp_path / "taq" / "quotes.parquet")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (variants.ROWS, schedule.ROWS):
        monkeypatch.setitem(rows, Scale.SMALL, FEW_ROWS)
    monkeypatch.setattr(answers, "ROWS", 2_000)
    monkeypatch.setattr(variants, "ROUNDS", 1)
    monkeypatch.setattr(library, "ROUNDS", 1)
    monkeypatch.setattr(state_figures, "SMALL_TRANSFER_ROWS", 2_000)


def cases(records: list[Record], figure: str) -> list[str]:
    return [record.case for record in records if record.figure == figure]


@pytest.mark.usefixtures("few_rows", "data_folder")
def test_every_part_checks_measures_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert EXPERIMENT.parts[0].figure == "answers"
    parts = [part for part in EXPERIMENT.parts if part.figure != "spark"]  # test_rip_spark.py
    records = [record for part in parts for record in part.measure(Scale.SMALL)]
    assert {record.figure for record in records} == {part.figure for part in parts}
    assert all(record.value > 0 for record in records if record.figure != "answers")
    for figure, variant in (("figure 8", "RB"), ("table 2", "SB+"), ("figure 14", "SB"), ("figure 15", "RB+")):
        assert any(f", {variant}, " in case for case in cases(records, figure))
        assert any(", library, 2 units" in case for case in cases(records, figure))
    goals = {(record.figure, record.case) for record in records if record.goal is not None}
    assert {("figure 9", f"{name}, library, 2 units") for name in ("Q1", "Q3", "Q9")} <= goals
    drawn = {path.name for path in draw(records, tmp_path)}
    assert drawn == {f"rip-figure-{number}.png" for number in range(8, 16)} | {"rip-slice-size.png", "rip-schedule.png"}
    assert all((tmp_path / name).stat().st_size > 5_000 for name in drawn)


def test_what_was_not_measured_is_not_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert draw([], tmp_path) == []


def test_doctests() -> None:
    for module in (cost_model, schedule, variants):
        done = doctest.testmod(module)
        assert done.attempted > 0
        assert done.failed == 0


# --- real quotes ---


@pytest.mark.usefixtures("data_folder")
def test_bids_are_in_order_and_repeated() -> None:
    bids = repeated_bids(2_500)
    assert bids is not None
    assert len(bids) == 3_000
    assert np.array_equal(bids[:1_000], np.round(prices(1_000) / 10))
    assert np.array_equal(bids[1_000:2_000], bids[:1_000])


def test_without_quotes_the_part_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in ("", str(tmp_path)):
        monkeypatch.setenv(FOLDER_VARIABLE, folder)
        (record,) = measure_quotes(Scale.SMALL)
        assert record.goal is None
        assert "not measured" in record.notes[0]


# --- the library's lines ---


def test_the_library_must_find_as_many_matches_as_the_variants() -> None:
    price = prices(3_000)
    right = len(sequential(linear_query(Q["Q2"]), price).matches)
    one, two = library.measure_library("figure 9", Q["Q2"], price, right)
    assert (one.case, two.case) == ("Q2, library, 1 unit", "Q2, library, 2 units")
    assert two.baseline is not None
    assert two.baseline.value == one.value
    with pytest.raises(WrongAnswer, match="figure 9, Q2, library"):
        library.measure_library("figure 9", Q["Q2"], price, right + 1)


@pytest.mark.parametrize("query", [*QUERIES, state_figures.BALANCED], ids=lambda query: query.name)
def test_on_two_units_the_library_matches_in_slices(query: PatternQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its second line would time one thread again, as for fixed lengths, where slices gain nothing."""
    workers: list[int] = []

    def spy(*arguments: Any) -> Any:
        workers.append(arguments[-1].workers)
        return run_in_slices(*arguments)

    monkeypatch.setattr(local, "run_in_slices", spy)
    monkeypatch.setattr(library, "ROUNDS", 1)
    price = prices(500)
    records = library.measure_library("figure 9", query, price, len(sequential(linear_query(query), price).matches))
    assert workers == ([2, 2] if query.shape is Shape.VARIABLE else [])  # checked, timed
    assert {record.metric for record in records} == {"speed, table to table"}


# --- the cost model and the schedule ---


def test_the_model_is_bounded_by_the_slowest_state_and_by_the_cores() -> None:
    assert cost_model.predicted_speed_up(6.0, [1.0, 2.0, 3.0]) == 2.0
    assert cost_model.predicted_speed_up(6.0, [2.0, 2.0, 2.0]) == 3.0
    assert cost_model.predicted_speed_up(6.0, [2.0, 2.0, 2.0], cores=2) == 2.0


def test_in_the_balanced_query_all_states_try_the_same() -> None:
    query = linear_query(state_figures.BALANCED)
    counts = sequential(query, prices(5_000)).evaluations
    assert counts.max() - counts.min() <= len(query.variables)


def test_each_state_and_each_slice_has_its_time() -> None:
    query = linear_query(Q["Q6"])
    assert len(state_seconds(query, prices(3_000), 500)) == 6
    assert all(taken > 0 for taken in state_seconds(query, prices(3_000), 500))
    times = slice_seconds(query, prices(3_000), 505, rounds=2)
    assert times.shape == (2, 6)
    assert (times > 0).all()


def test_no_array_grows_in_a_slice_that_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curve of many workers once showed which slice came when the array of matches doubled."""
    query, grown = linear_query(Q["Q12"]), []
    slices, double = len(run_based.slices_of(60_000, 2_000, query.shared_rows)), run_based.doubled
    readings = itertools.count()

    def doubled(runs: run_based.Runs) -> run_based.Runs:
        grown.append(next(readings) // (2 * slices))  # in which round
        return double(runs)

    monkeypatch.setattr(run_based, "doubled", doubled)
    monkeypatch.setattr(run_based.time, "thread_time", lambda: float(next(readings)))
    slice_seconds(query, prices(60_000), 2_000, rounds=2)
    assert len(grown) > 1
    assert set(grown) == {0}


def test_idle_workers_take_the_next_slice() -> None:
    times = [5.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert [schedule.idle_takes_next(times, workers) for workers in (1, 2, 3, 9)] == [10.0, 5.0, 5.0, 5.0]
    assert [schedule.shared_out_before(times, workers) for workers in (1, 2, 3, 6)] == [10.0, 7.0, 6.0, 5.0]


def test_skewed_prices_are_the_same_prices_in_another_order() -> None:
    even, skewed = prices(10_000), schedule.trending_prices(10_000)
    changed = np.flatnonzero(even != skewed)
    assert 5_000 <= changed.min() < changed.max() < 6_000
    assert np.array_equal(np.sort(even), np.sort(skewed))
    ramps = skewed[5_000:5_960].reshape(-1, 2, schedule.RAMP_ROWS)
    assert (np.diff(ramps[:, 0]) > 0).all()
    assert (np.diff(ramps[:, 1]) < 0).all()
    query = linear_query(Q["Q1"])
    assert sequential(query, skewed).evaluations.sum() > 1.5 * sequential(query, even).evaluations.sum()
