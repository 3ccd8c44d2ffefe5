"""The parts of `python -m benchmarks summary`: what they count, how they compare, few events through all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.experiment import Scale, WrongAnswer
from benchmarks.records import Baseline, Record
from benchmarks.summary import (
    answers,
    case_studies,
    guarantee,
    keys,
    recall,
    relative_recall,
    speed,
    state_summary,
    sums,
)
from benchmarks.summary.cutting import cut_down
from benchmarks.summary.feeding import (
    Counter,
    counts_at,
    detected_matches,
    mean_ratio_orders,
    moments_of,
    part_of,
    states_at,
)
from benchmarks.summary.parts import EXPERIMENT
from benchmarks.summary.plot import draw
from benchmarks.summary.recorded import BARS, FOLDER_VARIABLE, TRIPS, bike_trips, minute_bars
from benchmarks.summary.relative_recall import Case, measured, moments_below_half
from benchmarks.summary.single_answers import ask
from benchmarks.summary.streams import CITI_BIKE, NASDAQ, NORMAL, SYNTHETIC, UNIFORM, ZIPF, Kind, Letters, summary_of
from benchmarks.summary.streams import uniform as uniform_letters

from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate


def letters(text: str, values: list[int] | None = None) -> Letters:
    kind = uniform_letters("".join(sorted(set(text))))
    places = np.array([kind.letters.index(letter) for letter in text])
    return Letters(kind, places, np.arange(len(text)), None if values is None else np.array(values))


# --- streams ---


@pytest.mark.parametrize("kind", [*SYNTHETIC, CITI_BIKE, NASDAQ], ids=lambda kind: kind.name)
def test_letters_come_as_often_as_they_should(kind: Kind) -> None:
    drawn = kind.draw(20_000, seed=1)
    shares = np.bincount(drawn.places, minlength=len(kind.letters)) / 20_000
    assert sum(kind.probabilities) == pytest.approx(1.0)
    assert shares == pytest.approx(np.array(kind.probabilities), abs=0.015)
    assert (kind.draw(20_000, seed=1).places == drawn.places).all()


def test_distributions_are_the_authors() -> None:
    assert ZIPF.probabilities[0] / ZIPF.probabilities[1] == pytest.approx(4.0)
    assert NORMAL.probabilities[2] == pytest.approx(NORMAL.probabilities[3])  # 3 and 4 lie around 3.5


# --- counting ---


def test_counts_and_sums_in_doubles_are_those_of_the_answer() -> None:
    stream = sums.with_values(UNIFORM.draw(600, seed=2), seed=2)
    summary = summary_of(UNIFORM, Strategy.CAPPED, 60, 40, aggregate=SummaryAggregate.SUM)
    state = states_at(summary, stream, [600])[0]
    answer = ask(summary, state)
    assert answer.count > 0
    assert Counter(summary).kept(state) == pytest.approx(answer.count, rel=1e-12)
    assert Counter(summary, sums=True).kept(state) == pytest.approx(answer.value, rel=1e-12)


def test_windows_end_where_they_should() -> None:
    stream = letters("abb")
    for window, right in ((0, 0), (1, 1), (2, 2)):
        summary = summary_of(stream.kind, Strategy.FIFO, 3, window, "ab")
        assert Counter(summary).stream(stream.events(summary)) == right


def test_a_match_is_detected_if_it_was_complete_once() -> None:
    stream = letters("abab")
    summary = summary_of(stream.kind, Strategy.FIFO, 2, 10, "ab")
    assert counts_at(summary, stream, [4]).tolist() == [1]
    assert detected_matches(summary, stream) == 2  # of three: the first a is gone when the last b comes


def test_hindsight_lets_the_event_in_the_fewest_matches_go() -> None:
    stream = letters("babb")
    whole = summary_of(stream.kind, Strategy.PRESENT, 4, 10, "ab")
    state = states_at(whole, stream, [4])[0]
    assert [event.number for event in ask(whole, cut_down(whole, state, 3)).kept] == [1, 2, 3]
    assert [event.number for event in ask(whole, cut_down(whole, state, 2)).kept] == [1, 3]
    assert len(state) == 4


def test_moments_are_sorted_and_within_the_stream() -> None:
    moments = moments_of(500, 100, 25, seed=3)
    assert moments == sorted(moments)
    assert 100 <= moments[0] <= moments[-1] <= 500
    assert moments != moments_of(500, 100, 25, seed=4)


# --- comparing ---


def test_moments_without_a_match_of_the_baseline_are_left_out() -> None:
    ours, theirs = np.array([10.0, 5.0, 1_000.0]), np.array([1.0, 0.0, 1.0])
    assert mean_ratio_orders(ours, theirs) == pytest.approx(np.log10(505))
    assert mean_ratio_orders(ours, np.zeros(3)) is None


def test_a_moment_counts_as_lost_below_half_of_the_better_baseline() -> None:
    counts = {Strategy.FIFO: np.array([999.0, 9.0, 0.0]), Strategy.RANDOM: np.array([9.0, 99.0, 0.0])}
    record = moments_below_half("figure 7", "here", np.array([600.0, 9.0, 0.0]), counts)
    assert (record.value, record.met) == (1, False)
    assert record.notes == ("of 3 moments; the worst is -1.0 orders behind the better of both",)


def test_each_baseline_has_its_records() -> None:
    case = Case(UNIFORM, 30, 20)
    records = measured("figure 7", case, [UNIFORM.draw(300, seed=1)])
    named = {(record.case, record.metric) for record in records}
    assert ("uniform, n 30, window 20: over fifo", "mean difference") in named
    assert ("uniform, n 30, window 20", "moments below half") in named
    assert {record.goal is None for record in records if record.case.endswith("present")} == {True}


def test_a_wrong_count_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PUBLISHED_EXAMPLE", ("A1 B2 C3", "AB*C", 2))
    # ABC and AC are two matches
    answers._check_whole_stream()
    monkeypatch.setattr(answers, "PUBLISHED_EXAMPLE", ("A1 B2 C3", "AB*C", 3))
    with pytest.raises(WrongAnswer, match="figure 2's stream: 2, should be 3"):
        answers._check_whole_stream()


# --- speed ---


@pytest.mark.parametrize("kind", SYNTHETIC, ids=lambda kind: kind.name)
def test_summaries_change_while_they_are_timed(kind: Kind) -> None:
    """Of 100 events and a window of 500 the one timed before had settled long ago: it refused everything."""
    at_work = speed.summaries_at_work(kind, Strategy.CAPPED, 100, 500, 200)
    assert [(len(one.state), len(one.events)) for one in at_work] == [(100, 100)] * 2
    assert speed.taken_in(at_work) > speed.LEAST_TAKEN_IN
    summary, stream = at_work[0].summary, kind.draw(1_100, seed=4)
    (settled,) = states_at(summary, stream, [1_000])
    later = speed.Filled(summary, settled, part_of(stream.events(summary), 1_000, 1_100))
    assert speed.taken_in([later]) == 0
    (long,) = speed.summaries_at_work(kind, Strategy.CAPPED, 100, 100, 500)
    assert len(long.events) == 500
    assert speed.taken_in([long]) > speed.LEAST_TAKEN_IN


# --- recorded streams ---


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in (TRIPS, BARS):
        (tmp_path / path).parent.mkdir()
    rng = np.random.default_rng(7)
    stations = np.array([f"S{number}" for number in range(40)])
    start, end = rng.integers(0, 40, 400), rng.integers(0, 40, 400)
    trips = {
        "event_id": np.arange(400),
        "duration_s": rng.integers(60, 2_000, 400),
        "start_station_id": stations[start],
        "end_station_id": stations[end],
        "start_lat": 40 + start / 100,
        "start_lng": -74 + start / 100,
        "user_type": rng.choice(["member", "casual"], 400),
    }
    first = np.full(300, 100.0)
    bars = {
        "event_id": np.arange(300),
        "open": first,
        "high": np.where(np.arange(300) % 3 == 0, 102.0, 100.25),
        "low": np.full(300, 99.8),
        "close": np.where(np.arange(300) % 3 == 0, 101.0, 100.2),
        "volume": np.full(300, 1_000),
    }
    pq.write_table(pa.table(trips), tmp_path / TRIPS)
    pq.write_table(pa.table(bars), tmp_path / BARS)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("data_folder")
def test_letters_of_bars_follow_the_first_rule_that_holds() -> None:
    bars = minute_bars()
    assert bars is not None
    assert [bars.kind.letters[place] for place in bars.places[:4]] == ["A", "F", "F", "A"]
    assert dict(zip(bars.kind.letters, bars.kind.probabilities, strict=True))["A"] == pytest.approx(1 / 3)


@pytest.mark.usefixtures("data_folder")
def test_every_trip_has_a_letter() -> None:
    trips = bike_trips()
    assert trips is not None
    assert len(trips) == 400
    assert {"A", "C", "E", "J"} <= {trips.kind.letters[place] for place in trips.places}


def test_without_a_folder_there_is_nothing_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert bike_trips() is None
    assert minute_bars() is None


# --- all of it ---


@pytest.fixture
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, few in (
        (relative_recall, "ROWS", 300),
        (relative_recall, "SIZES", (30,)),
        (relative_recall, "WINDOWS", (20,)),
        (relative_recall, "SEEDS", 1),
        (guarantee, "SEEDS", 1),
        (recall, "SEEDS", 1),
        (recall, "DETECTING_SEEDS", 1),
        (sums, "SEEDS", 1),
        (speed, "ROWS", 400),
        (speed, "SIZES", (20, 40)),
        (speed, "WINDOWS", (20,)),
        (speed, "TIMED_EVENTS", 20),
        (state_summary, "LARGEST_ENUMERATED", 4),
        (case_studies, "ROWS", 600),
        (case_studies, "SEEDS", 1),
        (keys, "ROWS", 2_000),
    ):
        monkeypatch.setitem(getattr(module, name), Scale.SMALL, few)
    monkeypatch.setattr(relative_recall, "USUAL_SIZE", 40)
    monkeypatch.setattr(relative_recall, "MOMENT_COUNTS", (5,))
    monkeypatch.setattr(guarantee, "AT_RANDOM", ("g?da",))
    monkeypatch.setattr(guarantee, "CHOSEN", ("a(b|g)*a",))
    monkeypatch.setattr(guarantee, "ROWS", 600)
    for module in (recall, sums):
        monkeypatch.setattr(module, "ROWS", 300)
    monkeypatch.setattr(recall, "SIZES", (40,))
    monkeypatch.setattr(recall, "WINDOWS", (30,))
    monkeypatch.setattr(sums, "SETTINGS", ((40, 30),))
    monkeypatch.setattr(state_summary, "SIZES", (2, 4, 8))
    monkeypatch.setattr(case_studies, "SETTINGS", ((40, 30),))
    monkeypatch.setattr(keys, "KEYS", (1, 50))
    monkeypatch.setattr(speed, "PAPERS", {(40, 30): 1.0})
    monkeypatch.setattr(speed, "FACTORS", {(40, 30): 10.0})


@pytest.mark.slow
@pytest.mark.timeout(600)  # kernels may have to be compiled
@pytest.mark.usefixtures("few_events", "data_folder")
def test_every_part_checks_measures_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert EXPERIMENT.parts[0].figure == "answers"
    records = [record for part in EXPERIMENT.parts for record in part.measure(Scale.SMALL)]
    assert {record.figure for record in records} == {part.figure for part in EXPERIMENT.parts}
    asked = {record.figure for record in records if record.goal is not None}
    assert {"speed", "figure 7", "figure 8b", "guarantee", "figure 12"} <= asked
    speeds = [record for record in records if record.figure == "speed" and record.goal is not None]
    assert {record.baseline for record in speeds} == {Baseline("SuSe", 1.0, speed.SOURCE)}
    drawn = {path.name for path in draw(records, tmp_path)}
    assert drawn == {f"summary-figure-{name}.png" for name in ("7", "8b", "8c", "10", "11", "12", "13")}


def test_pictures_need_records_of_their_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    record = Record("summary", "figure 11", "ABCD, i = 4", "time", 0.1, "s", Baseline("enumerating", 0.2))
    assert [path.name for path in draw([record], tmp_path)] == ["summary-figure-11.png"]
    assert draw([], tmp_path) == []
