"""`ostinato doctor` with Spark, in the tests' own session."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from ostinato.cli import doctor, main
from ostinato.cli.doctor import State
from ostinato.spark.shipping import worker_probe
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE


def test_a_session_and_its_workers(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("ok      workers     1 asked: same ostinato, Python") for line in lines)
    assert any("kernels are compiled" in line for line in lines)
    assert any(line.startswith(("ok      java", "ok      session")) for line in lines)


def test_the_state_store_of_streams(spark: SparkSession) -> None:
    session = spark.newSession()
    finding = doctor.stream_settings(session)
    assert finding.state is State.MISSING and STATE_STORE in finding.mend
    session.conf.set(STATE_STORE, ROCKSDB)
    assert doctor.stream_settings(session).state is State.GOOD


def test_workers_that_lack_kernels_are_slow(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "this installation brings none"
    found = {"host": "a", "python": "3.11", "numba": "0.68", "stored": [0, 55], "problem": problem}
    monkeypatch.setattr(worker_probe, "ask_workers", lambda session: [found])
    first, second = doctor.workers(spark)
    assert (first.state, second.state) == (State.GOOD, State.SLOW)
    assert "this installation brings none" in second.words and "docs/deployment.md" in second.mend


def test_workers_that_fail(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(session: SparkSession) -> None:
        raise RuntimeError("WORKERS_DIFFER: the workers' Python has no module 'ostinato' | hint: install it [ostinato]")

    monkeypatch.setattr(worker_probe, "ask_workers", fail)
    (finding,) = doctor.workers(spark)
    assert finding.state is State.BAD and "no module 'ostinato'" in finding.words
