"""Kills streams at random moments inside their micro-batches, and starts them again, until they have read everything.

Several streams run in one process, so that one kill, which costs the start of a JVM, hits all of them. A moment isn't
a time, but a number of files that checkpoints and outputs gained since the process began: the same seed kills at
similar points on fast and on slow machines.

    python -m tests.spark.streams.kill_campaign FOLDER NAME=MODULE:FUNCTION ...
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from tests.spark.streams.spark_streams import Source
from tests.spark.streams.stream_processes import MOST_SECONDS, Start, batches, wait_until

from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

Describe = Callable[[Source], DataStreamWriter]
"""A function of a module: a source -> the stream over it and its sink. The campaign adds checkpoint and trigger."""
_MOST_FILES = 40
"""A micro-batch of a small stream makes ten to thirty."""


def begin(describe: Describe, source: Source) -> StreamingQuery:
    """Starts a stream, which ends when it has read all files that are there. Returns after its first micro-batch: on a
    busy machine, the Python workers of several new streams would start too slowly for Spark."""
    writer = describe(source).option("checkpointLocation", source.checkpoint).trigger(availableNow=True)
    query = writer.start()
    while query.isActive and query.lastProgress is None:
        query.awaitTermination(0.05)
    return query


@dataclass
class KillCampaign:
    """Add files to the sources, call `kill` several times, then `settle`. Compare the outputs with a batch.

    Streams are started in the order of `streams`, so the first come further than the last: kill inside the first ones
    first, before they have read everything."""

    folder: Path
    session: SparkSession
    streams: Mapping[str, Describe]
    start: Start
    seed: int = 7
    sources: dict[str, Source] = field(init=False)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self.sources = {}
        for name in self.streams:
            (self.folder / name).mkdir()
            self.sources[name] = Source(self.folder / name, self.session)

    def kill(self, inside: Collection[str]) -> None:
        """Runs all streams up to a random moment at which the named ones are inside a micro-batch, and kills them."""
        files, before = self._rng.randrange(_MOST_FILES), self._files()
        victim = self.start("-m", "tests.spark.streams.kill_campaign", str(self.folder), *self._specs())

        def is_moment() -> bool:
            """The named streams have run, too: batches that an earlier kill left open are open from the start."""
            new = self._files() - before
            have_run = {name for name, _ in new}
            return len(new) > files and set(inside) <= have_run & self._open()

        while True:
            wait_until(is_moment, victim)
            os.killpg(victim.pid, signal.SIGSTOP)  # nothing moves while the streams are looked at
            if set(inside) <= self._open():
                break
            os.killpg(victim.pid, signal.SIGCONT)
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait()

    def settle(self) -> None:
        """Runs all streams to their ends, in the session of the test."""
        queries = [begin(describe, self.sources[name]) for name, describe in self.streams.items()]
        for query in queries:
            assert query.awaitTermination(MOST_SECONDS)

    def _specs(self) -> list[str]:
        return [f"{name}={describe.__module__}:{describe.__name__}" for name, describe in self.streams.items()]

    def _open(self) -> set[str]:
        """The streams that have begun a micro-batch and not ended it."""
        return {
            name for name, source in self.sources.items() if batches(source, "offsets") - batches(source, "commits")
        }

    def _files(self) -> set[tuple[str, str]]:
        """The files of checkpoints and outputs, each with the name of its stream."""
        return {
            (stream, os.path.join(folder, name))
            for stream in self.streams
            for folder, _, names in os.walk(self.folder / stream)
            for name in names
        }


def _run(folder: str, *specs: str) -> None:
    """The victim: all streams at once."""
    settings = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
    session = local_session(cores=2, **settings)
    queries = []
    for spec in specs:
        name, _, place = spec.partition("=")
        module, _, function = place.partition(":")
        queries.append(begin(getattr(import_module(module), function), Source(Path(folder) / name, session)))
    for query in queries:
        query.awaitTermination()


if __name__ == "__main__":
    _run(*sys.argv[1:])
