"""The parts of `python -m benchmarks bounded`: streams, queries, how runs compare, few events through all of them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.bounded import answers, bounds, comparing, drift, many_patterns, sweeps
from benchmarks.bounded.answers import matches_of
from benchmarks.bounded.comparators.policies import POLICIES
from benchmarks.bounded.comparing import SHARP, Goals, compared, setting
from benchmarks.bounded.drift import ends_of
from benchmarks.bounded.parts import EXPERIMENT
from benchmarks.bounded.plot import draw, lines_of
from benchmarks.bounded.queries import many, q1_q2_of_length, q3_q4, q5_q6
from benchmarks.bounded.recorded import CRIMES, FOLDER_VARIABLE, TRIPS, bike_trips, crimes
from benchmarks.bounded.running import TARIFF, Mode, Whole, allowed_recall, bounded_run, selecting_run, without_bound
from benchmarks.bounded.streams import AFTER, BEFORE, DRIFTING_TYPE, drifting, ds1, ds2
from benchmarks.bounded.workloads import Work, event_work
from benchmarks.experiment import Scale, WrongAnswer
from benchmarks.records import Baseline, Record


@pytest.fixture(scope="module")
def work() -> Work:
    return event_work(q3_q4(), ds1(4_000, seed=4)).work


# --- streams and queries ---


def test_streams_are_drawn_as_the_paper_says() -> None:
    first, second = ds1(20_000, seed=1), ds2(20_000, seed=1)
    assert first.equals(ds1(20_000, seed=1))
    assert not first.equals(ds1(20_000, seed=2))
    for table, types, keys in ((first, 10, 10), (second, 6, 25)):
        assert len(table["kind"].unique()) == types
        assert sorted(table["id"].unique().to_pylist()) == list(range(1, keys + 1))
    assert np.degrees(np.abs(first["x"].to_numpy()).max()) == pytest.approx(90, abs=0.1)
    assert np.degrees(np.abs(first["y"].to_numpy()).max()) == pytest.approx(180, abs=0.1)
    assert first["v"].to_numpy().max() == pytest.approx(3e6, rel=1e-3)
    assert (second["x"].to_numpy().min(), second["x"].to_numpy().max()) == pytest.approx((1, 100), abs=0.1)


def test_values_of_one_type_drift_and_nothing_else() -> None:
    plain, drifts = ds1(4_000, seed=1), drifting(4_000, 2_000, seed=1)
    is_of_type = np.array(plain["kind"].to_pylist()) == DRIFTING_TYPE
    v = drifts["v"].to_numpy()
    assert (v[~is_of_type] == plain["v"].to_numpy()[~is_of_type]).all()
    for part, (least, most) in ((slice(0, 2_000), BEFORE), (slice(2_000, None), AFTER)):
        found = v[part][is_of_type[part]]
        assert least <= found.min() < found.max() <= most


def test_the_closure_makes_a_pattern_as_long_as_asked() -> None:
    assert "SEQ(A a, B b1, C c, D d)" in q1_q2_of_length(4)[0]
    assert "SEQ(A a, B b1, B b2, B b3, E e, F f)" in q1_q2_of_length(6)[1]
    assert "a.x + b1.x + b2.x + b3.x < e.x + f.x" in q1_q2_of_length(6)[1]


def test_what_is_shared_moves_back() -> None:
    assert "SEQ(A a, B b, C c, D d, E e, F f, G g)" in q3_q4()[0]
    assert "SEQ(H h, I i, A a, B b, C c, D d, J j)" in q3_q4(offset=2)[1]


def test_many_patterns_differ() -> None:
    assert len(set(many(200, 500))) == 200


def test_patterns_of_a_pair_share_states() -> None:
    for texts in (q3_q4(), q3_q4(offset=2), q5_q6(), q1_q2_of_length(5)):
        found = event_work(texts, ds1(50, seed=1)).work
        assert len(found.shared.nodes) < len(found.separate.nodes), texts


# --- runs ---


def test_every_way_to_shed_is_compared() -> None:
    assert set(comparing.POLICIES) == set(POLICIES)


def test_without_a_bound_all_modes_find_the_same(work: Work) -> None:
    found = [matches_of(without_bound(work, TARIFF, mode).outcome) for mode in get_args(Mode)]
    assert len(found[0]) > 50
    assert found[0] == found[1] == found[2]


def test_a_bound_costs_matches_and_never_adds_any(work: Work) -> None:
    whole = without_bound(work, TARIFF)
    bounded = bounded_run(work, 0.3, SHARP, TARIFF, whole)
    assert matches_of(bounded) < matches_of(whole.outcome)
    assert 0 < bounded.recall(whole.outcome) < 1
    assert bounded.report is not None
    assert [row.bound_ns for row in bounded.report.patterns] == pytest.approx((0.3 * whole.latency_ns).tolist())
    assert bounded_run(work, 0.3, SHARP, TARIFF, whole).found == bounded.found


def test_a_selection_keeps_less_of_less(work: Work) -> None:
    few, most = (selecting_run(work, ratio, SHARP, TARIFF).found for ratio in (0.2, 0.9))
    assert few < most <= without_bound(work, TARIFF).outcome.found


def test_latencies_are_those_of_the_tariff(work: Work) -> None:
    whole = without_bound(work, TARIFF)
    assert whole.event_ns >= TARIFF.ns_per_event
    assert (whole.latency_ns < whole.event_ns).all()
    # What is shared counts for both.
    assert whole.latency_ns.sum() > whole.event_ns


def test_each_match_needs_the_visit_that_completes_it(work: Work) -> None:
    outcome = without_bound(work, TARIFF).outcome
    one_visit_a_match = np.array([matches.count * TARIFF.ns_per_visit / len(work) for matches in outcome.matches])
    whole = Whole(outcome, 1.0, one_visit_a_match)
    assert allowed_recall(work, 0.25, whole) == pytest.approx(0.25)
    assert allowed_recall(work, 4.0, whole) == 1.0


def test_matches_count_where_they_end(work: Work) -> None:
    outcome = without_bound(work, TARIFF).outcome
    ends = ends_of(outcome, work.events.time)
    assert ends.sum(axis=1).tolist() == [matches.count for matches in outcome.matches]
    first = outcome.matches[0]
    assert ends[0, work.events.time[first.rows[first.offsets[1] - 1]]] >= 1


def test_sharp_stands_beside_the_best_of_the_others() -> None:
    at = setting("DS1", lambda length: ds1(length, 4), lambda table: event_work(q3_q4(), table).work, (8_000, 3_000))
    goals = Goals(recall=0.5, speed=1.0, not_below=True)
    records = compared("figure 4", "DS1, 30 %", at, 0.3, (SHARP, "random_state"), goals)
    by_name = {(record.case, record.metric): record for record in records}
    assert by_name["DS1, 30 %: random state", "time taken, by the bound"].value < 1.2
    beside = by_name["DS1, 30 %", "recall, best of others in time"]
    assert beside.value == by_name["DS1, 30 %: SHARP", "recall"].value
    assert beside.baseline == Baseline("random state", by_name["DS1, 30 %: random state", "recall"].value)
    assert {record.case for record in records if record.goal is not None} == {"DS1, 30 %", "DS1, 30 %: SHARP"}
    assert 0 <= by_name["DS1, 30 %", "events within the bound"].value <= 1


def test_a_match_too_many_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    found = event_work(q5_q6(), ds1(300, seed=5))
    answers._check_exact("Q5+Q6", found, without_bound(found.work, TARIFF).outcome)
    monkeypatch.setattr(type(found), "exactly", lambda self, query: self.in_order(_one_less(self)))
    with pytest.raises(WrongAnswer, match="Q5\\+Q6, query 1"):
        answers._check_exact("Q5+Q6", found, without_bound(found.work, TARIFF).outcome)


def _one_less(found):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    matches = without_bound(found.work, TARIFF).outcome.matches[0]
    end = matches.offsets[-2]
    return replace(
        matches,
        offsets=matches.offsets[:-1],
        rows=matches.rows[:end],
        labels=matches.labels[:end],
        window=matches.window[:-1],
    )


# --- recorded streams ---


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in (TRIPS, CRIMES):
        (tmp_path / path).parent.mkdir()
    rng = np.random.default_rng(7)
    trips = {
        "event_id": np.arange(4_000),
        "start_station_id": rng.choice(np.arange(1, 15), 4_000, p=np.arange(14, 0, -1) / 105),
        "end_lat": 40.7 + rng.uniform(0, 0.05, 4_000),
        "end_lng": -74.0 + rng.uniform(0, 0.05, 4_000),
        "duration_s": rng.integers(60, 4_000, 4_000),
    }
    kinds = np.array(["THEFT", "BATTERY", "NARCOTICS", "ASSAULT", "CRIMINAL DAMAGE"])
    rows = {
        "event_id": np.arange(3_200),
        "ts": np.arange(3_200).astype("datetime64[us]"),
        "primary_type": kinds[rng.integers(0, 5, 3_200)],
        "ward": rng.integers(1, 6, 3_200),
        "lat": pa.array(rng.uniform(41, 42, 3_200), mask=np.arange(3_200) == 3),
    }
    pq.write_table(pa.table(trips), tmp_path / TRIPS)
    pq.write_table(pa.table(rows), tmp_path / CRIMES)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("data_folder")
def test_trips_start_at_the_busiest_stations_and_tell_where_they_end() -> None:
    trips = bike_trips()
    assert trips is not None
    assert sorted(trips["id"].unique().to_pylist()) == list(range(1, 11))
    counts = {row["values"]: row["counts"] for row in trips["kind"].value_counts().to_pylist()}
    assert max(counts.values()) - min(counts.values()) <= 1
    south = trips["x"].to_numpy()[np.array(trips["kind"].to_pylist()) == "A"].max()
    assert south <= trips["x"].to_numpy()[np.array(trips["kind"].to_pylist()) == "B"].min()


@pytest.mark.usefixtures("data_folder")
def test_crimes_without_a_place_are_left_out() -> None:
    rows = crimes()
    assert rows is not None
    assert rows["event_id"].to_pylist()[:4] == [0, 1, 2, 4]


def test_without_a_folder_there_is_nothing_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert bike_trips() is None
    assert crimes() is None
    assert bounds.measure_bikes(Scale.SMALL) == bounds.measure_crimes(Scale.SMALL) == []


# --- all of it ---


@pytest.fixture
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(comparing.LENGTHS, Scale.SMALL, (3_000, 3_000))
    monkeypatch.setitem(comparing.RECORDED_LENGTHS, Scale.SMALL, (3_000, 3_000))
    monkeypatch.setitem(sweeps.PATTERN_LENGTHS, Scale.SMALL, (4,))
    monkeypatch.setitem(sweeps.LENGTH_EVENTS, Scale.SMALL, (2_000, 2_000))
    monkeypatch.setitem(comparing.SWEEP_LENGTHS, Scale.SMALL, (2_500, 2_500))
    monkeypatch.setitem(many_patterns.EVENTS, Scale.SMALL, 1_200)
    monkeypatch.setitem(many_patterns.NUMBERS, Scale.SMALL, (2, 5))
    monkeypatch.setattr(sweeps, "WINDOWS", (1,))
    monkeypatch.setitem(drift.SEEDS, Scale.SMALL, (1,))
    for module, name, few in (
        (answers, "EVENTS", 1_500),
        (bounds, "SHARES", (30,)),
        (sweeps, "MAX_V", (3,)),
        (sweeps, "OFFSETS", (1,)),
        (sweeps, "WINDOW_LENGTHS", (2_000, 2_000)),
        (drift, "WINDOWS", (1_000,)),
    ):
        monkeypatch.setattr(module, name, few)


@pytest.mark.slow
@pytest.mark.timeout(600)  # kernels may have to be compiled
@pytest.mark.usefixtures("few_events", "data_folder")
def test_every_part_checks_measures_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert EXPERIMENT.parts[0].figure == "answers"
    records = [record for part in EXPERIMENT.parts for record in part.measure(Scale.SMALL)]
    figures = {part.figure for part in EXPERIMENT.parts}
    assert {record.figure for record in records} == figures
    asked = {record.figure for record in records if record.goal is not None}
    assert {"figure 4", "figure 5", "figure 6", "figure 15", "sharing"} <= asked
    drawn = {path.name for path in draw(records, tmp_path)}
    assert drawn == {f"bounded-{figure.replace(' ', '-')}.png" for figure in figures - {"answers"}}


def test_lines_are_read_from_cases() -> None:
    records = [
        Record("bounded", "figure 4", "DS1, no bound", "speed", 5.0, "rows/s"),
        Record("bounded", "figure 4", "DS1, 30 %: SHARP", "speed", 7.0, "rows/s"),
        Record("bounded", "figure 11", "DS2, window 4,000: SHARP", "recall", 0.9, ""),
        Record("bounded", "figure 15", "Q3, window 1,000, event 9,500", "recall", 0.8, ""),
        Record("bounded", "sharing", "50 patterns", "time, shared", 0.1, "s", Baseline("separate", 0.3)),
    ]
    assert lines_of("figure 4", "speed", records) == {"SHARP": [(30, 7.0)]}
    assert lines_of("figure 11", "recall", records) == {"SHARP": [(4000, 0.9)]}
    assert lines_of("figure 15", "recall", records) == {"Q3, window 1,000": [(9500, 0.8)]}
    assert lines_of("sharing", "time, shared", records) == {"shared": [(50, 0.1)], "separate": [(50, 0.3)]}
