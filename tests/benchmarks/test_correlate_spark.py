"""The part `spark` of `python -m benchmarks correlate`: few rows through it, and that a wrong answer is never timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks.correlate import spark as part
from benchmarks.correlate.running import Digest
from benchmarks.experiment import Scale, WrongAnswer
from benchmarks.match import sparks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def few_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparks, "spark_session", lambda: spark)
    monkeypatch.setitem(part.ROWS, Scale.SMALL, 4_000)
    monkeypatch.setitem(part.STREAM_ROWS, Scale.SMALL, 3_000)
    monkeypatch.setattr(part, "KEYS", 10)
    monkeypatch.setattr(part, "FILES", 3)
    monkeypatch.setattr(part, "WARM_UP_BATCHES", 1)
    monkeypatch.setattr(part, "ROUNDS", 1)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
def test_replay_and_stream_are_checked_and_compared() -> None:
    records = part.measure_spark(Scale.SMALL)
    metrics = ["time over the floor", "speed", "results"]
    streamed = [f"CPU time of a micro-batch, {name}" for name in part.STREAMED]
    assert [record.metric for record in records] == metrics + streamed
    assert records[0].case == "Q1, 4,000 rows, 10 keys, region 200 s"
    assert records[2].value > 0
    assert all(record.ratio is not None for record in records[3:])


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
def test_another_answer_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Digest] = []

    def never_twice_the_same(table: object) -> Digest:
        seen.append(Digest(len(seen), 0))
        return seen[-1]

    monkeypatch.setattr(part, "digest", never_twice_the_same)
    with pytest.raises(WrongAnswer, match="Spark and in process"):
        part.measure_spark(Scale.SMALL)
