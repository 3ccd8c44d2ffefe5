"""The parts of `python -m benchmarks trends`: few events through all of them, real data, memory and pictures."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.experiment import Scale
from benchmarks.records import Baseline, Record
from benchmarks.trends import (
    answers,
    decisions,
    fifty_queries,
    figures,
    growth,
    matches,
    memory,
    real_data,
    ridesharing,
    static_sharing,
)
from benchmarks.trends.parts import EXPERIMENT
from benchmarks.trends.plot import draw
from benchmarks.trends.recorded import FOLDER_VARIABLE, SMART_HOME, TAXI, plug_loads, taxi_trips
from benchmarks.trends.streams import MINUTE_US, SECOND_US, TYPES
from benchmarks.trends.streams import ridesharing as rides
from benchmarks.trends.techniques import GRETA, PLAIN, TWO_STEP, Technique
from benchmarks.trends.workloads import alike, diverse

import ostinato as ost
from ostinato.kernels.numbers.python_numbers import Extended


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with few trips and measurements that OSTINATO_DATA names."""
    rng = np.random.default_rng(7)
    for path in (TAXI, SMART_HOME):
        (tmp_path / path).parent.mkdir()
    start = np.datetime64("2023-12-01T00:00:00", "us").astype(np.int64)
    trips = {
        "event_id": np.arange(600),
        "ts": pa.array(start + np.sort(rng.integers(0, 3600, 600)) * SECOND_US, pa.timestamp("us")),
        "pickup_zone_id": rng.zipf(1.3, 600) % 30,
        "passenger_count": rng.integers(1, 4, 600),
        "distance_mi": rng.uniform(0.1, 9, 600),
    }
    loads = {
        "event_id": np.arange(500),
        "ts": pa.array(start + np.arange(500) // 100 * SECOND_US, pa.timestamp("us")),
        "event_type": np.where(np.arange(500) % 2 == 0, "LOAD", "WORK"),
        "value": rng.choice([0.0, 12.5], 500),
        "house_id": rng.integers(0, 40, 500),
    }
    pq.write_table(pa.table(trips), tmp_path / TAXI)
    pq.write_table(pa.table(loads), tmp_path / SMART_HOME)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fifty_queries, "WINDOWS", (10_000,))
    monkeypatch.setattr(fifty_queries, "PER_MINUTE", 10_000)
    monkeypatch.setattr(growth, "WINDOWS", (100, 1_000))
    monkeypatch.setattr(growth, "WINDOW", 1_000)
    monkeypatch.setattr(growth, "QUERY_COUNTS", (2, 4))
    for sizes, few in (
        (fifty_queries.LEAST_EVENTS, 1_000),
        (growth.EVENTS, 1_000),
        (ridesharing.PER_MINUTE, (600, 800)),
        (static_sharing.PER_MINUTE, (100, 200)),
        (static_sharing.QUERY_COUNTS, (10,)),
        (real_data.QUERY_COUNTS, (4,)),
    ):
        monkeypatch.setitem(sizes, Scale.SMALL, few)
    monkeypatch.setattr(ridesharing, "LEAST_PER_MINUTE", 600)
    monkeypatch.setattr(ridesharing, "DRIVERS", 30)
    monkeypatch.setattr(static_sharing, "USUAL_PER_MINUTE", 100)
    monkeypatch.setattr(decisions, "USUAL_PER_MINUTE", 1_000)
    monkeypatch.setattr(matches, "SIZES", (4, 32))
    monkeypatch.setattr(
        real_data, "DATA_SETS", tuple(replace(data, window_us=MINUTE_US) for data in real_data.DATA_SETS)
    )


@pytest.mark.slow
@pytest.mark.timeout(900)  # all kernels of all engines may have to be compiled
@pytest.mark.usefixtures("few_events", "data_folder")
def test_every_part_checks_measures_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert EXPERIMENT.parts[0].figure == "answers"
    parts = [part for part in EXPERIMENT.parts if part.figure != "spark"]  # test_trends_spark.py
    records = [record for part in parts for record in part.measure(Scale.SMALL)]
    assert {record.figure for record in records} == {part.figure for part in parts}
    assert all(record.value > 0 for record in records)
    asked = {record.figure for record in records if record.goal is not None}
    assert {"50 queries", "growth with queries", "growth with windows", "figure 12", "decisions", "matches"} == asked
    drawn = {path.name for path in draw(records, tmp_path)}
    assert {"trends-figure-9.png", "trends-figure-11-nyc-taxi.png", "trends-figure-11-smart-home.png"} <= drawn


# --- records ---


def test_speeds_stand_beside_the_baseline_and_samples_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, stream = ridesharing.workload(600, 10, Scale.SMALL)
    compared = (PLAIN, Technique(GRETA.name, GRETA.run, exact=False, every=5))
    records, times = figures.measured("figure 9", "here", queries, stream, compared, PLAIN)
    plain, latency, visiting, _ = records
    assert (plain.case, plain.baseline) == ("here: plain big integers", None)
    assert visiting.baseline == Baseline(PLAIN.name, plain.value)
    assert visiting.notes == ("one query in 5 was run, and its time multiplied: it shares nothing",)
    assert latency.value == pytest.approx(times.seconds[PLAIN.name], rel=0.01)  # the stream lasts one window
    faster = figures.over("figure 9", "here", compared[1], PLAIN, times, len(stream))
    assert faster.ratio == pytest.approx(times.seconds[PLAIN.name] / times.seconds[GRETA.name])


def test_doctests() -> None:
    for module in (figures, fifty_queries):
        done = doctest.testmod(module)
        assert done.attempted > 0
        assert done.failed == 0


def test_answers_are_checked_with_every_technique() -> None:
    names = {technique.name for technique in answers.LOOP_TECHNIQUES}
    assert {technique.name for technique in ridesharing.TECHNIQUES} - names == {"two-step"}
    assert {technique.name for technique in static_sharing.TECHNIQUES} <= names


def test_texts_say_what_the_programs_say() -> None:
    """Spark runs the texts; everything else runs the programs."""
    stream = rides(1_000, per_minute=1_000, drivers=10, shared=0.2)
    for queries in (alike(3, TYPES, MINUTE_US), diverse(8, TYPES, ("speed", "duration", "most", "least"))):
        programs = [query.program() for query in queries]
        found = GRETA.run(programs, stream.events(queries[0].values))
        asked = ost.Workload([query.text(stream.types) for query in queries], sharing="never").run(stream.table())
        for number, of_query in enumerate(found, start=1):
            assert isinstance(of_query.count, Extended)
            right = np.ldexp(of_query.count.mantissa, of_query.count.exponent).tolist()
            assert sorted(map(int, asked[f"q{number}"]["count(*)"].to_pylist())) == sorted(map(int, right))


def test_growth_with_and_without_types_of_their_own() -> None:
    queries, stream = growth._workload_apart(100, 10_000)
    kinds = [step.kind for query in queries for step in query.steps if not step.kleene]
    assert len(set(kinds)) == len(kinds) == 200
    assert len(stream.types) == len(set(stream.types)) == 201
    queries, stream = growth._workload(100, 10_000)
    assert len(stream.types) == 20


def test_time_within_decisions_is_added_up() -> None:
    taken: list[float] = []
    double = decisions._timing(lambda number: 2 * number, taken)
    assert [double(1), double(2)] == [2, 4]
    assert len(taken) == 2
    assert min(taken) >= 0


def test_all_matches_of_four_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "SIZES", (2, 8))
    records = matches.measure_matches(Scale.SMALL)
    assert [record.case for record in records] == ["SEQ(A, B, C, D), i = 2", "SEQ(A, B, C, D), i = 8"]
    assert all(record.value > 0 for record in records)


# --- real data ---


@pytest.mark.usefixtures("data_folder")
def test_trips_are_of_the_busiest_zones_at_the_rate_asked_for() -> None:
    trips = taxi_trips(400, 200)
    assert trips is not None
    assert len(trips) == 400
    assert len(trips.types) == 20
    counts = np.bincount(trips.kind, minlength=20)
    assert counts[0] == counts.max()
    assert (np.diff(trips.time_us) >= 0).all()
    assert trips.time_us[-1] - trips.time_us[0] == pytest.approx(2 * MINUTE_US, rel=0.02)


@pytest.mark.usefixtures("data_folder")
def test_loads_are_spread_over_their_seconds_and_repeated() -> None:
    loads = plug_loads(1_200, 20_000)
    assert loads is not None
    assert len(loads) == 1_200
    assert (np.diff(loads.time_us) > 0).all()
    assert np.array_equal(loads.kind[500:1_000], loads.kind[:500])
    assert 0.1 < (loads.kind == 0).mean() < 0.4


def test_without_data_the_part_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in ("", str(tmp_path)):
        monkeypatch.setenv(FOLDER_VARIABLE, folder)
        records = real_data.measure_real_data(Scale.SMALL)
        assert [record.case for record in records] == ["NYC taxi", "smart home"]
        assert all("not measured" in record.notes[0] for record in records)


# --- memory ---


def test_memory_is_that_of_the_technique_alone() -> None:
    def many_bytes(programs: object, events: object) -> tuple[()]:
        np.ones(1_000_000)
        return ()

    queries, stream = ridesharing.workload(1_000, 5, Scale.SMALL)
    assert 10_000 < memory.peak_bytes(PLAIN, queries, stream) < 4_000_000
    hungry = Technique("hungry", many_bytes, exact=True)
    assert 8_000_000 < memory.peak_bytes(hungry, queries, stream) < 10_000_000


def test_memory_of_all_techniques_beside_greta_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridesharing, "TECHNIQUES", (GRETA, TWO_STEP))
    monkeypatch.setattr(ridesharing, "settings", lambda scale: [(600, 5)])
    greta, two_step = memory.measure_ridesharing_memory(Scale.SMALL)
    assert (greta.case, two_step.case) == ("600 events/min, 5 queries: GRETA", "600 events/min, 5 queries: two-step")
    assert two_step.baseline == Baseline("GRETA", greta.value)


# --- pictures ---


def test_what_was_measured_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    def record(figure: str, case: str, metric: str, value: float) -> Record:
        return Record("trends", figure, case, metric, value, "s")

    records = [
        record("figure 9", f"{rate} events/min, {queries} queries: {technique}", metric, 1.0)
        for rate, queries in (("10,000", 25), ("20,000", 25), ("10,000", 5))
        for technique in ("GRETA", "shared")
        for metric in ("latency of a window", "throughput")
    ]
    records += [
        record("figure 11", f"NYC taxi, {rate} events/min, 50 queries: GRETA", "throughput", 5.0) for rate in (100, 200)
    ]
    records += [record("figure 12", "2,000 events/min, 50 queries: dynamic over always", "time", 1.0)]
    drawn = draw(records, tmp_path)
    assert [path.name for path in drawn] == ["trends-figure-9.png", "trends-figure-11-nyc-taxi.png"]
    assert all(path.stat().st_size > 5_000 for path in drawn)
    assert draw([], tmp_path) == []
