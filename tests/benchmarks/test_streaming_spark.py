"""The parts of `python -m benchmarks streaming` that run Spark, at a tiny scale: their answers are checked there."""

from __future__ import annotations

import pytest
from benchmarks.experiment import Scale
from benchmarks.streaming import bucket_counts, buckets, micro_batch, open_runs, rules, throughput
from pyspark.sql import SparkSession

from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE


@pytest.fixture
def session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    streaming = spark.newSession()
    streaming.conf.set(STATE_STORE, ROCKSDB)
    streaming.conf.set("spark.sql.shuffle.partitions", "2")
    for module in (buckets, micro_batch, open_runs, rules, throughput):
        monkeypatch.setattr(module, "streaming_session", lambda: streaming)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_a_stream_is_measured_over_the_packed_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(throughput.ROWS, Scale.SMALL, 600)
    monkeypatch.setattr(throughput, "ROWS_PER_FILE", 300)
    monkeypatch.setattr(throughput, "KEYS", (5,))
    monkeypatch.setattr(throughput, "FLINK_ROWS_PER_S", {"Q12": 1})
    records = throughput.measure_throughput(Scale.SMALL)
    assert [record.metric for record in records] == ["time", "speed, two cores", "state, at most"]
    assert all(record.value > 0 for record in records)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_a_micro_batch_is_measured_over_operators_that_match_nothing_and_over_sparks_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(micro_batch.SIZES, Scale.SMALL, (400,))
    monkeypatch.setitem(micro_batch.ROUNDS, Scale.SMALL, 1)
    monkeypatch.setattr(micro_batch, "BATCHES", 3)
    monkeypatch.setattr(micro_batch, "WARM_UP_BATCHES", 1)
    monkeypatch.setattr(micro_batch, "WARM_UP_ROUNDS", 0)
    records = micro_batch.measure_micro_batches(Scale.SMALL)
    baselines = [record.baseline.name for record in records if record.baseline]
    assert baselines == [micro_batch.NOTHING, micro_batch.STORING, micro_batch.COUNT]
    assert all(record.value > 0 and record.ratio for record in records)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_open_runs_and_silent_keys_have_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("OPEN_RUNS", (5, 50)), ("SILENT_KEYS", 40), ("TIMED_BATCHES", 1)):
        monkeypatch.setitem(getattr(open_runs, name), Scale.SMALL, value)
    monkeypatch.setattr(open_runs, "PASSING_ROWS", 20)
    found = {record.case: record.value for record in open_runs.measure_state(Scale.SMALL)}
    assert found["a silent key: PREV needs its last row"] > found["a silent key: no row is needed"]


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_rules_are_measured_over_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"RULES": 3, "SEPARATE": 1, "ROWS_PER_BATCH": 2_000, "BATCHES": 2, "ARRIVALS": 1}
    for name, value in sizes.items():
        monkeypatch.setitem(getattr(rules, name), Scale.SMALL, value)
    records = rules.measure_rules(Scale.SMALL)
    assert all(record.value > 0 for record in records[:-1])  # the memory of a tiny stream is noise
    assert [record.metric for record in records][-2:] == [
        "time until its micro-batch has reported it",
        "memory of the JVM and the workers above the idle session",
    ]


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_buckets_are_measured_by_their_number_and_against_groups_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(micro_batch.SIZES, Scale.SMALL, (200,))
    monkeypatch.setitem(micro_batch.ROUNDS, Scale.SMALL, 1)
    monkeypatch.setattr(micro_batch, "BATCHES", 3)
    monkeypatch.setattr(micro_batch, "WARM_UP_BATCHES", 1)
    monkeypatch.setattr(micro_batch, "WARM_UP_ROUNDS", 0)
    monkeypatch.setattr(bucket_counts, "BUCKETS", (16,))
    monkeypatch.setitem(buckets.ROWS, Scale.SMALL, 300)
    monkeypatch.setattr(buckets, "WARM_UP_ROWS", 10)
    records = [*bucket_counts.measure_bucket_counts(Scale.SMALL), *buckets.measure_buckets(Scale.SMALL)]
    assert all(record.value > 0 and record.baseline for record in records)


def test_minutes_that_end_before_the_last_row_are_counted() -> None:
    assert list(micro_batch.in_turn(["a", "b"], 1)) == ["b", "a"]
    assert micro_batch.rows_of_ended_minutes(micro_batch.events(400, 1)) == 367
