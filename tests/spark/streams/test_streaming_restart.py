"""Killed in the middle of a batch, or stopped by Ctrl-C, and started again: no row lost, none twice."""

from __future__ import annotations

import os
import signal

import pyarrow.parquet as pq
import pytest
from tests.spark.streams.spark_streams import Source, matching, pieces, rows, split, trades
from tests.spark.streams.stream_processes import MOST_SECONDS, TOLD, Start, batches, in_a_process, wait_until

import ostinato as ost

__all__ = ["in_a_process"]  # a fixture
pytestmark = pytest.mark.slow

CLAUSE = """
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l, MATCH_NUMBER() AS number
    PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""
VICTIM = """
import sys
from pathlib import Path

from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from tests.spark.streams.spark_streams import Source, matching

settings = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
source = Source(Path(sys.argv[1]), local_session(cores=2, **settings))
options = {"history": source.session.read.parquet(path) for path in sys.argv[3:]} or {"match_id": "found"}
source.run(source.read().transform(matching(sys.argv[2], **options)))
"""


@pytest.mark.timeout(600)  # two processes with kernels of their own
def test_killed_in_the_middle_of_a_batch(source: Source, in_a_process: Start) -> None:
    table = trades()
    source.add(*pieces(table, 100, 200, 300, 400, 500))
    victim = in_a_process("-c", VICTIM, str(source.folder), CLAUSE)
    # Batch 3 is begun: rows wait, runs are open, and matches have been written.
    wait_until(lambda: 3 in batches(source, "offsets"), victim)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert 3 not in batches(source, "commits")
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SETTLED"):
        source.finish()
    result = source.run(source.read().transform(matching(CLAUSE, match_id="found")))
    assert min(batch.batchId for batch in source.progress) == 3  # the stream resumed
    assert rows(result, source.finish()) == rows(ost.match(CLAUSE, table, match_id="found"))


@pytest.mark.timeout(600)
def test_killed_in_the_batch_that_reads_the_archive(source: Source, in_a_process: Start) -> None:
    """The first batch is repeated, and reads the archive again."""
    table = trades()
    past, live = split(table, 200)
    path = str(source.folder / "archive.parquet")
    pq.write_table(past, path)
    source.add(*pieces(live, 150))
    victim = in_a_process("-c", VICTIM, str(source.folder), CLAUSE, path)
    wait_until(lambda: 0 in batches(source, "offsets"), victim)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert not batches(source, "commits")
    archive = source.session.read.parquet(path)
    result = source.run(source.read().transform(matching(CLAUSE, history=archive)))
    decided = archive.transform(ost.match_recognize(CLAUSE, end="open")).toArrow()
    assert rows(decided, result, source.finish()) == rows(ost.match(CLAUSE, table))


def test_ctrl_c_lets_the_batch_end(source: Source, in_a_process: Start) -> None:
    table = trades()
    first, second = pieces(table, 300)
    query = f"SELECT * FROM trades MATCH_RECOGNIZE ({CLAUSE})"
    source.add(first)
    folders = ["--input", f"trades={source.input}", "--checkpoint", source.checkpoint, "--output", source.output]
    options = ["--delay", "5 seconds", "--match-id", "found"]
    words = ["-m", "ostinato.cli", "run", "-e", query, "--stream", *folders, *options]
    running = in_a_process(*words)
    wait_until(lambda: 0 in batches(source, "commits"), running)
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(MOST_SECONDS) == 0
    output = (source.folder / TOLD).read_text()
    assert "stopped: " in output
    assert "Traceback" not in output
    source.add(second)
    restarted = in_a_process(*words, "--once")
    assert restarted.wait(MOST_SECONDS) == 0
    assert "done: " in (source.folder / TOLD).read_text()
    result = source.session.read.parquet(source.output).toArrow()
    assert rows(result, source.finish()) == rows(ost.match(CLAUSE, table, match_id="found"))
