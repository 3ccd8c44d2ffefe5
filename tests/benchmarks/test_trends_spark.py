"""The part `spark` of `python -m benchmarks trends`: few events through it, and that a wrong answer is never timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from benchmarks.experiment import Scale, WrongAnswer
from benchmarks.match import sparks
from benchmarks.trends import spark as part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_totals_are_results_and_all_trends() -> None:
    counts = pa.StructArray.from_arrays([pa.array([3, None, 4])], ["count(*)"])
    assert part.totals_of_table(pa.table({"aggregates": counts})) == (3, 7)


@pytest.fixture
def few_events(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparks, "spark_session", lambda: spark)
    monkeypatch.setitem(part.EVENTS, Scale.SMALL, 4_000)
    monkeypatch.setattr(part, "KEYS", 4)
    monkeypatch.setattr(part, "QUERY_COUNTS", (1, 3))
    monkeypatch.setattr(part, "ROUNDS", 1)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("few_events")
def test_workloads_are_checked_and_compared_with_the_floor() -> None:
    records = part.measure_spark(Scale.SMALL)
    assert [record.case for record in records[::2]] == [
        "1 query, 4,000 events, 4 keys",
        "3 queries, 4,000 events, 4 keys",
    ]
    assert {record.metric for record in records} == {"time over the floor", "speed"}
    assert all(record.goal is not None for record in records[::2])


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("few_events")
def test_another_answer_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "totals_of_table", lambda rows: (0, 0))
    with pytest.raises(WrongAnswer, match="Spark, 1 query, 4,000 events, 4 keys"):
        part.measure_spark(Scale.SMALL)
