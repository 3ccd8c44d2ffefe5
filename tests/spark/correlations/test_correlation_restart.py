"""A correlation on a stream, killed in the middle of a batch and started again: no row lost, none twice."""

from __future__ import annotations

import os
import signal

import pytest
from tests.spark.correlations.spark_correlations import QUERY, comparable, in_process
from tests.spark.streams.spark_streams import Source, pieces, trades
from tests.spark.streams.stream_processes import MOST_SECONDS, Start, batches, in_a_process, wait_until

import ostinato as ost
from ostinato.spark.correlations import correlation_checkpoint

__all__ = ["in_a_process"]  # a fixture
pytestmark = pytest.mark.slow

NAMED = QUERY.replace("*", "correlation_start, correlation_end, live.symbol, f, l, af, al", 1)
VICTIM = """
import sys
from pathlib import Path

from ostinato.spark.correlations import correlation_checkpoint
from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from tests.spark.streams.spark_streams import Source
from tests.spark.correlations.test_correlation_restart import run

settings = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
correlation_checkpoint.SLOTS = 3
run(Source(Path(sys.argv[1]), local_session(cores=2, **settings)), sys.argv[2])
"""


def run(source: Source, archive: str) -> None:
    """Reads all files that are there. `archive`: "written" by the stream, or kept in its "state"."""
    is_written = archive == "written"
    path = str(source.folder / "archive") if is_written else None
    correlation = ost.correlate(NAMED, archive=path, recent_rows=2, buckets=3)
    folders = {"output": source.output, "checkpoint": source.checkpoint, "write_archive": is_written}
    started = correlation.start(source.read(), **folders, trigger={"availableNow": True})
    assert started.awaitTermination(2 * MOST_SECONDS)


@pytest.mark.timeout(6 * MOST_SECONDS)
@pytest.mark.parametrize("archive", ["written", "state"])
def test_killed_in_the_middle_of_a_batch(
    source: Source, archive: str, in_a_process: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlation_checkpoint, "SLOTS", 3)  # they are overwritten after three batches
    table = trades(300, symbols=5)
    source.add(*pieces(table, 60, 120, 180, 240))
    victim = in_a_process("-c", VICTIM, str(source.folder), archive)
    wait_until(lambda: 2 in batches(source, "offsets"), victim)  # its state, output and archive are on their way
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert 2 not in batches(source, "commits")
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SETTLED"):
        ost.finish_stream(source.session, source.checkpoint)
    run(source, archive)
    written = source.session.read.parquet(source.output)
    rest = ost.finish_stream(source.session, source.checkpoint)
    assert comparable(written.drop("batch_id"), rest) == in_process(NAMED, table)
    if archive == "written":
        assert source.session.read.parquet(str(source.folder / "archive")).count() == table.num_rows
