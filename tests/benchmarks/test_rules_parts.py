"""The parts of `python -m benchmarks rules` at a tiny scale: their answers are checked there."""

from __future__ import annotations

import pytest
from benchmarks.experiment import Scale
from benchmarks.rules import console, rule_tests
from pyspark.sql import SparkSession

from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE


def test_tests_of_rules_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rule_tests.RULES, Scale.SMALL, 3)
    monkeypatch.setattr(rule_tests, "ROUNDS", 1)
    (record,) = rule_tests.measure_rule_tests(Scale.SMALL)
    assert (record.case, record.met) == ("3 rules, 6 tests", True)


@pytest.mark.spark
def test_a_stream_is_measured_with_the_console_beside_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn")
    streaming = spark.newSession()
    streaming.conf.set(STATE_STORE, ROCKSDB)
    streaming.conf.set("spark.sql.shuffle.partitions", "2")
    monkeypatch.setattr(console, "streaming_session", lambda: streaming)
    monkeypatch.setitem(console.RULES, Scale.SMALL, 2)
    monkeypatch.setitem(console.ROWS_PER_BATCH, Scale.SMALL, 200)
    monkeypatch.setitem(console.BATCHES, Scale.SMALL, 3)
    monkeypatch.setitem(console.ROUNDS, Scale.SMALL, 1)
    monkeypatch.setattr(console, "WARM_UP_ROUNDS", 0)
    monkeypatch.setattr(console, "WARM_UP_BATCHES", 0)
    records = console.measure_console(Scale.SMALL)
    assert [(record.unit, record.goal is not None) for record in records[:2]] == [("µs", True), ("s", False)]
    assert all(record.value > 0 for record in records)
