"""The streaming benchmark measures what it says: inputs, floor, records and slopes. No JVM here."""

from __future__ import annotations

import csv
import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.experiment import Scale
from benchmarks.match.sparks import Totals
from benchmarks.records import Baseline, Record
from benchmarks.streaming import open_run_growth, open_runs, rules, soak, soak_samples, throughput
from benchmarks.streaming.plot import draw
from benchmarks.streaming.soak_input import ChunkWriter, Rate, chunk, write_chunk
from benchmarks.streaming.soak_samples import Sample, growth_percent, judged, slope, write_csv
from benchmarks.streaming.streams import Batch, Ran, batch_of, cut, interleaved_runs, write_files

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table


def progress(number: int, rows: int, ms: int, /, **counts: int | None) -> dict[str, Any]:
    """As Spark reports a batch."""
    observed = {"ostinato-abc-1": counts} if counts else {}
    return {
        "batchId": number,
        "numInputRows": rows,
        "durationMs": {"triggerExecution": ms},
        "observedMetrics": observed,
    }


# --- streams ---


def test_files_are_whole_in_order_and_the_first_is_the_oldest(tmp_path: Path) -> None:
    events = pa.table({"n": range(25)})
    write_files(cut(events, 10), tmp_path / "in")
    files = sorted((tmp_path / "in").iterdir(), key=lambda file: file.stat().st_mtime)
    assert [pq.read_table(file)["n"].to_pylist() for file in files] == [
        list(range(10)),
        list(range(10, 20)),
        list(range(20, 25)),
    ]


def test_counts_of_a_run_are_summed_over_batches_and_clauses() -> None:
    two_clauses = progress(0, 5, 1_000, rows=5) | {"observedMetrics": {"a": {"rows": 5}, "b": {"rows": 2}}}
    ran = Ran(9.0, (batch_of(two_clauses), batch_of(progress(1, 3, 500, rows=3)), batch_of(progress(2, 0, 250))))
    assert ran.total("rows") == 10
    assert ran.total("matches") == 0
    assert ran.seconds_with_rows == 1.5


def test_the_shortest_run_after_a_warm_up_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times = iter([1.0, 1.0, 5.0, 7.0, 4.0, 8.0])  # the first of each is the warm-up
    checkpoints = []

    def run(frame: object, checkpoint: Path) -> Ran:
        checkpoints.append(checkpoint)
        return Ran(next(times), ())

    monkeypatch.setattr("benchmarks.streaming.streams.run_stream", run)
    best = interleaved_runs({"a": None, "b": None}, tmp_path, 2)  # type: ignore[dict-item]
    assert {name: ran.seconds for name, ran in best.items()} == {"a": 4.0, "b": 7.0}
    assert len(set(checkpoints)) == 6


# --- rules ---


def test_a_rule_is_a_clause_with_matches() -> None:
    table = rules.events(2_000)
    assert [rules.expected_matches(number, table) > 0 for number in range(3)] == [True] * 3
    assert len({rules.rule_text(number) for number in range(35)}) == 35


def test_separate_streams_are_scaled_to_the_number_of_rules() -> None:
    def ran(seconds: float, state: int) -> Ran:
        return Ran(9.0, tuple(Batch(i, 10, seconds, {"state_bytes_change": state}) for i in range(3)))

    records = rules.records_of(100, 10, ran(4.0, 50), [ran(1.0, 5), ran(3.0, 7)], [2.0, 1.0, 9.0])
    assert [(record.value, record.ratio) for record in records] == [
        (4.0, pytest.approx(4 / 200)),
        (2.5, pytest.approx(50.0)),
        (150, pytest.approx(150 / 1_800)),
        (2.0, None),
    ]


# --- throughput ---


def test_totals_of_parts_add_up() -> None:
    assert throughput.added([Totals(1, 20, 300), Totals(2, 30, 400)]) == Totals(3, 50, 700)


def test_the_goal_is_about_the_floor_and_flink_is_orientation() -> None:
    runs = {
        "ours": Ran(6.0, (Batch(0, 10, 4.0, {}), Batch(1, 0, 1.0, {}))),
        "identity": Ran(5.0, (Batch(0, 10, 5.0, {}), Batch(1, 0, 0.1, {}))),
    }
    time, speed, state = throughput._records("Q12", "case", 600, runs, 1_000)
    assert (time.ratio, time.met) == (pytest.approx(1.2), True)
    assert time.notes == ("batches that read a file: 4.00 s over 5.00 s, 0.80",)
    assert (speed.value, speed.ratio, speed.met) == (100, None, None)
    assert speed.baseline is not None
    assert speed.baseline.value == 169_000
    assert state.value == 1_000


# --- open runs ---


def test_every_key_has_one_run_that_nothing_ends() -> None:
    rows = pa.concat_tables([open_runs.passing(0), open_runs.opening(1, 20), open_runs.passing(2)])
    clause = parse_clause(open_runs.CLAUSE)
    assert match_table(clause, rows).num_rows == 0
    ended = open_runs._rows("open", np.arange(20), 3, np.full(20, 3.0))
    assert match_table(clause, pa.concat_tables([rows, ended])).num_rows == 20
    times = rows["ts"].to_pylist()
    assert times == sorted(times)
    assert open_runs.opening(1, 0).schema == open_runs.passing(0).schema


def test_batches_that_open_the_runs_are_not_timed() -> None:
    times = [90, 80, 70, 3, 1, 2, 50]
    batches = [Batch(i, 0 if i == 6 else 9, float(seconds), {}) for i, seconds in enumerate(times)]
    assert open_runs.batch_seconds(Ran(0, tuple(batches))) == 2


def growth(at_100: float, at_10: float = 2.0) -> Record:
    records = open_runs.records_of({0: 1.0, 1: 1.1, 10: at_10, 100: at_100}, {1: 500, 10: 2_000, 100: 10_000})
    assert [record.value for record in records if record.unit == "B"] == [500, 200, 100]
    assert [record.goal for record in records[:-1]] == [None] * 6
    return records[-1]


def test_linear_growth_meets_the_goal_and_quadratic_growth_does_not() -> None:
    assert growth(11.0).ratio == pytest.approx(1.0)
    assert growth(11.0).met is True
    assert growth(101.0).met is False


@pytest.mark.parametrize(("at_100", "at_10"), [(11.0, 0.9), (0.9, 2.0)])
def test_growth_that_drowns_in_noise_is_not_judged(at_100: float, at_10: float) -> None:
    assert growth(at_100, at_10).met is None
    assert "not judged" in growth(at_100, at_10).notes[0]


# --- soak ---

RATE = Rate(rows_per_second=500, keys=20)


def sample(seconds: float, batch_seconds: float = 1.0, jvm_bytes: int = 100) -> Sample:
    return Sample(seconds, 5, batch_seconds, 1_000, 3, 40, jvm_bytes, 100, 100)


def test_chunks_are_the_same_each_time_and_follow_each_other() -> None:
    assert chunk(RATE, 3).equals(chunk(RATE, 3))
    assert not chunk(RATE, 3)["price"].equals(chunk(RATE, 4)["price"])
    times = pa.concat_tables([chunk(RATE, 0), chunk(RATE, 1)])["ts"].cast(pa.int64()).to_pylist()
    assert times == sorted(set(times))


def test_the_soak_has_matches_and_runs_that_only_time_ends() -> None:
    events = pa.concat_tables(chunk(RATE, second) for second in range(60))
    found = match_table(parse_clause(soak.CLAUSE), events).num_rows
    assert 0 < found < events.num_rows / 100


def test_a_written_chunk_is_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_chunk(RATE, 7, tmp_path)
    assert os.listdir(tmp_path) == ["000007.parquet"]
    assert pq.read_table(tmp_path / "000007.parquet").equals(chunk(RATE, 7))


def test_the_writer_makes_up_for_lost_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once as many chunks as seconds went by; told to stop while it waits for the next."""
    now = itertools.chain([0.0], itertools.repeat(3.5))
    writer = ChunkWriter(RATE, tmp_path, clock=lambda: next(now))
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return seconds > 0

    monkeypatch.setattr(writer._told_to_stop, "wait", wait)
    writer.run()
    assert writer.written == 4
    assert waits == [0, 0, 0, 0, 0.5]


def test_slopes_are_of_the_least_squares_line() -> None:
    times = np.arange(50.0)
    noise = np.random.default_rng(1).normal(0, 1, 50)
    assert slope(times, 3 * times + noise) == pytest.approx(np.polyfit(times, 3 * times + noise, 1)[0])
    assert slope([1.0], [2.0]) == slope([], []) == 0


def test_the_warm_up_is_not_judged() -> None:
    samples = [sample(at, batch_seconds=9.0 if at < 20 else 2.0) for at in range(0, 61, 10)]
    assert [shown.seconds for shown in judged(samples)] == [20, 30, 40, 50, 60]
    assert growth_percent(judged(samples), "batch_seconds") == pytest.approx(0)
    assert judged([]) == []


def test_memory_that_grows_misses_the_goal() -> None:
    samples = [sample(float(at), jvm_bytes=1_000_000 + 10_000 * at) for at in range(0, 61, 10)]
    records = {record.metric: record for record in soak_samples.records_of(samples, "case")}
    grown = records["growth of memory of the JVM"]
    assert grown.value == pytest.approx(100 * 40 * 10_000 / 1_400_000)
    assert grown.met is False
    assert grown.notes == ("1.4 MB on average, 36.0 MB more each hour",)
    assert all(record.met for record in records.values() if record is not grown)


def test_samples_go_to_a_table_that_other_programs_read(tmp_path: Path) -> None:
    write_csv([sample(10.0), sample(20.0)], tmp_path / "soak.csv")
    with (tmp_path / "soak.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["seconds"] for row in rows] == ["10.0", "20.0"]
    assert rows[0]["state_bytes"] == "40"


class Query:
    """Stands for Spark's: what it reports."""

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []


def test_a_follower_counts_each_batch_once() -> None:
    pytest.importorskip("psutil")
    query = Query()
    follower = soak.Follower(query)  # type: ignore[arg-type]
    assert follower.sample(0.0) is None
    counts = {"rows": 10, "open_runs_change": 4, "state_bytes_change": 100}
    query.recentProgress = [progress(0, 10, 2_000, **counts), progress(1, 10, 1_000, **counts)]
    first = follower.sample(10.0)
    assert first is not None
    assert (first.batches, first.batch_seconds, first.rows, first.open_runs, first.state_bytes) == (2, 1.5, 20, 8, 200)
    assert first.driver_bytes > 0
    query.recentProgress.append(progress(2, 0, 3))  # idle: nothing ran
    assert follower.sample(20.0) is None
    query.recentProgress.append(progress(2, 5, 4_000, rows=5, open_runs_change=-8, state_bytes_change=-150))
    last = follower.sample(30.0)
    assert last is not None
    assert (last.batches, last.rows, last.open_runs, last.state_bytes) == (1, 5, 0, 50)


def test_a_line_says_what_matters() -> None:
    shown = replace(sample(90.0), state_bytes=1_500_000, jvm_bytes=900_000_000).line()
    assert "5 batches of 1.00 s, 1,000 rows; 3 open runs, state 1.5 MB; JVM 900.0 MB" in shown


# --- pictures ---


def test_pictures_are_drawn_of_what_was_measured(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    time = Record("streaming", "throughput", "Q1, 9 rows", "time", 2.0, "s", Baseline("i", 1.9), throughput.GOAL)
    state = open_runs.records_of({0: 1.0, 1: 1.1, 10: 2.0}, {1: 50, 10: 300})
    assert [path.name for path in draw([time], tmp_path)] == ["streaming-throughput.png"]
    assert [path.name for path in draw([time, *state], tmp_path)] == ["streaming-throughput.png", "streaming-state.png"]
    soak_samples.draw([sample(10.0), sample(20.0)], tmp_path / "soak.png")
    assert (tmp_path / "soak.png").stat().st_size > 1_000


def test_a_batch_beside_growing_runs_writes_as_much_as_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(open_run_growth.KEYS, Scale.SMALL, 20)
    records = {record.metric: record for record in open_run_growth.measure_growth(Scale.SMALL)}
    assert set(records) == {"CPU time of a batch", "bytes written by a batch"}
    written = records["bytes written by a batch"]
    assert written.baseline is not None
    assert written.value <= 1.2 * written.baseline.value
