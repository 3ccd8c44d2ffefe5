"""The part `spark` of `python -m benchmarks rip`: what it compares, and that a wrong answer is never timed."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.experiment import Scale, WrongAnswer
from benchmarks.match import sparks
from benchmarks.match.events import keyed_events, write_events
from benchmarks.rip import spark as part

import ostinato as ost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 3_000
TIMES = {1: {part.FLOOR: 3.0, part.RANGES: 4.0, part.OURS: 6.0}, 2: {part.FLOOR: 2.0, part.RANGES: 2.5, part.OURS: 4.5}}


def test_records_compare_times_on_two_cores_and_speeds_with_one() -> None:
    records = part.records_of("Q1", 9_000, TIMES)
    assert [round(record.ratio or 0, 3) for record in records] == [2.25, 1.8, 1.25, 1.333, 1.5]
    assert [record.met for record in records] == [False, None, None, None, None]
    assert records[3].value == 2_000


def answered_by_process(monkeypatch: pytest.MonkeyPatch, wrong_on: int | None) -> list[list[str]]:
    """Processes that answer rightly at once, but wrongly on so many cores; what they were asked."""
    asked: list[list[str]] = []

    def fresh(module: str, cores: str, totals: str, *folders: str) -> str:
        asked.append([module, cores, *(Path(folder).name for folder in folders)])
        right = sparks.Totals(**json.loads(totals))
        found = replace(right, last_price=0) if int(cores) == wrong_on else right
        return json.dumps([{"totals": asdict(found), "seconds": TIMES[int(cores)]} for _ in folders])

    monkeypatch.setitem(part.ROWS, Scale.SMALL, ROWS)
    monkeypatch.setattr(part, "in_fresh_process", fresh)
    return asked


def test_a_process_for_each_number_of_cores_answers_both_arrivals(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered_by_process(monkeypatch, wrong_on=None)
    records = part.measure_spark(Scale.SMALL)
    assert asked == [["benchmarks.rip.spark", cores, "in order", "at random"] for cores in ("1", "2")]
    assert {record.case for record in records} == {"Q1, 3,000 rows in order", "Q1, 3,000 rows at random"}


def test_another_answer_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    answered_by_process(monkeypatch, wrong_on=2)
    with pytest.raises(WrongAnswer, match=r"Spark, local\[2\], Q1, 3,000 rows in order"):
        part.measure_spark(Scale.SMALL)


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> DataFrame:
    write_events(keyed_events(ROWS, 1).drop_columns("key"), tmp_path / "events")
    return spark.read.parquet(str(tmp_path / "events"))


@pytest.mark.spark
def test_only_a_right_answer_is_timed(events: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "ROUNDS", 1)
    right = sparks.totals_of_table(ost.match(part.clause(), keyed_events(ROWS, 1)))
    assert right.rows > 0
    found = part.check_and_time(events, right)
    assert found.totals == right
    assert set(found.seconds) == {part.FLOOR, part.RANGES, part.OURS}
    assert part.check_and_time(events, replace(right, first_price=0)) == part.Alone(right, {})


@pytest.mark.spark
def test_ours_is_cut_into_ranges_and_the_floor_sorts_nothing(
    events: DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = {}
    for name, frame in part.frames(events).items():
        frame.explain()
        plans[name] = capsys.readouterr().out
    assert "rangepartitioning" in plans[part.OURS]
    assert "SliceTask" in plans[part.OURS]
    assert "rangepartitioning" in plans[part.RANGES]
    assert "hashpartitioning" in plans[part.FLOOR]
    assert "Sort" not in plans[part.FLOOR]
    assert all("Exchange SinglePartition" not in plan for plan in plans.values())
