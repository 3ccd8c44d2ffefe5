"""Streams in processes of their own: started, watched through their checkpoints, and killed with their JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.spark.streams.spark_streams import Source

MOST_SECONDS = 120
"""On a free machine it takes a quarter of that; kernels may have to be compiled first."""
TOLD = "stderr.txt"
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def in_a_process(tmp_path: Path) -> Iterator[Start]:
    """Starts Python as the leader of a process group, with its JVM. At the end, the group is killed."""
    path = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "TZ": "UTC"}  # the time zone of the tests' own session
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *words]
        with (tmp_path / TOLD).open("w") as output:  # not a pipe: nobody reads it while the process runs
            started.append(subprocess.Popen(command, env=environment, start_new_session=True, stderr=output))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def batches(source: Source, log: str) -> set[int]:
    """The micro-batches in one of Spark's logs: `offsets` are begun, `commits` are done."""
    folder = Path(source.checkpoint) / log
    return {int(file.name) for file in folder.iterdir() if file.name.isdigit()} if folder.is_dir() else set()


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Looks often: the moment to kill is between two files of the checkpoint."""
    deadline = time.monotonic() + 2 * MOST_SECONDS
    while not condition():
        assert process.poll() is None, "the stream ended before its time"
        assert time.monotonic() < deadline, "the stream didn't come so far"
        time.sleep(0.005)
