"""Killed in the middle of a batch, or stopped by Ctrl-C, and started again: no row lost, none twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.streams import Source, asked, pieces, rows, trades

import ostinato as ost

pytestmark = pytest.mark.slow

CLAUSE = """
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l, MATCH_NUMBER() AS number
    PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""
VICTIM = """
import sys
from pathlib import Path

from ostinato.runtimes.spark.session import local_session
from ostinato.runtimes.spark.stream_checks import ROCKSDB, STATE_STORE
from tests.spark.streams import Source, asked

settings = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
source = Source(Path(sys.argv[1]), local_session(cores=2, **settings))
source.run(source.read().transform(asked(sys.argv[2])))
"""


def in_a_process(*words: str) -> subprocess.Popen[str]:
    """Leads a group of its own, so that its JVM and workers can be killed with it."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, *words], env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
    )


def batches(source: Source, log: str) -> set[int]:
    folder = Path(source.checkpoint) / log
    return {int(file.name) for file in folder.iterdir() if file.name.isdigit()} if folder.is_dir() else set()


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Looks often: the moment to kill is between two files of the checkpoint."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "the stream didn't come so far"
        time.sleep(0.005)


def test_killed_in_the_middle_of_a_batch(source: Source) -> None:
    table = trades()
    source.add(*pieces(table, 100, 200, 300, 400, 500))
    victim = in_a_process("-c", VICTIM, str(source.folder), CLAUSE)
    # Batch 3 is begun: rows wait, runs are open, and matches have been written.
    wait_until(lambda: 3 in batches(source, "offsets"), victim)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.communicate()
    assert 3 not in batches(source, "commits")
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SETTLED"):
        source.finish()
    found = source.run(source.read().transform(asked(CLAUSE)))
    assert min(batch.batchId for batch in source.progress) == 3  # went on, did not begin anew
    assert rows(found, source.finish()) == rows(ost.match(CLAUSE, table))


def test_ctrl_c_lets_the_batch_end(source: Source) -> None:
    table = trades()
    first, second = pieces(table, 300)
    query = f"SELECT * FROM trades MATCH_RECOGNIZE ({CLAUSE})"
    source.add(first)
    folders = ["--input", f"trades={source.input}", "--checkpoint", source.checkpoint, "--output", source.output]
    words = ["-m", "ostinato.cli", "run", "-e", query, "--stream", *folders, "--delay", "5 seconds"]
    running = in_a_process(*words)
    wait_until(lambda: 0 in batches(source, "commits"), running)
    os.kill(running.pid, signal.SIGINT)
    told = running.communicate(timeout=60)[1]
    assert running.returncode == 0, told
    assert "stopped: " in told
    assert "Traceback" not in told
    source.add(second)
    again = in_a_process(*words, "--once")
    assert "done: " in again.communicate(timeout=60)[1]
    found = source.session.read.parquet(source.output).toArrow()
    assert rows(found, source.finish()) == rows(ost.match(CLAUSE, table))
