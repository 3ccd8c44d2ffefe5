"""A correlation on a stream, killed in the middle of a batch and started again: no row lost, none twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.spark.correlations.spark_correlations import QUERY, comparable, in_process
from tests.spark.streams.spark_streams import Source, pieces, trades

import ostinato as ost

pytestmark = pytest.mark.slow

NAMED = QUERY.replace("*", "correlation_start, correlation_end, live.symbol, f, l, af, al", 1)
_MOST_SECONDS = 240
"""On a free machine it takes a tenth of that; kernels may have to be compiled first."""
VICTIM = """
import sys
from pathlib import Path

from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from tests.spark.streams.spark_streams import Source
from tests.spark.correlations.test_correlation_restart import run

settings = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
run(Source(Path(sys.argv[1]), local_session(cores=2, **settings)), sys.argv[2])
"""


def run(source: Source, archive: str) -> None:
    """Reads all files that are there. `archive`: "written" by the stream, or kept in its "state"."""
    is_written = archive == "written"
    path = str(source.folder / "archive") if is_written else None
    correlation = ost.correlate(NAMED, archive=path, recent_rows=2, buckets=3)
    folders = {"output": source.output, "checkpoint": source.checkpoint, "write_archive": is_written}
    started = correlation.start(source.read(), **folders, trigger={"availableNow": True})
    assert started.awaitTermination(_MOST_SECONDS)


def batches(folder: Path) -> set[int]:
    return {int(file.name) for file in folder.iterdir() if file.name.isdigit()} if folder.is_dir() else set()


@pytest.mark.timeout(3 * _MOST_SECONDS)
@pytest.mark.parametrize("archive", ["written", "state"])
def test_killed_in_the_middle_of_a_batch(source: Source, archive: str) -> None:
    table = trades(300, symbols=5)
    source.add(*pieces(table, 60, 120, 180, 240))
    offsets = Path(source.checkpoint) / "offsets"
    path = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "TZ": "UTC"}  # the time zone of the tests' own session
    command = [sys.executable, "-c", VICTIM, str(source.folder), archive]
    victim = subprocess.Popen(command, env=environment, start_new_session=True)  # a group of its own, with its JVM
    try:
        deadline = time.monotonic() + _MOST_SECONDS
        while 2 not in batches(offsets):  # batch 2 is begun: its state, output and archive are on their way
            assert victim.poll() is None, "the stream ended before its time"
            assert time.monotonic() < deadline, "the stream didn't come so far"
            time.sleep(0.005)
    finally:
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait()
    assert 2 not in batches(Path(source.checkpoint) / "commits")
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SETTLED"):
        ost.finish_stream(source.session, source.checkpoint)
    run(source, archive)
    written = source.session.read.parquet(source.output)
    rest = ost.finish_stream(source.session, source.checkpoint)
    assert comparable(written.drop("batch_id"), rest) == in_process(NAMED, table)
    if archive == "written":
        assert source.session.read.parquet(str(source.folder / "archive")).count() == table.num_rows
