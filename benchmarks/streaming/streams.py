"""Folders of files as streams, and what Spark tells of a stream that ran to its end."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.match import sparks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

TIME = "ts"
OLDEST_FILE_S = 1_700_000_000
TIMEOUT_SECONDS = 1_800


def streaming_session() -> SparkSession:
    """The session of the other Spark parts with a state store for Python, and one state partition for each core."""
    from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

    session = sparks.spark_session().newSession()
    session.conf.set(STATE_STORE, ROCKSDB)
    session.conf.set("spark.sql.shuffle.partitions", str(sparks.CORES))
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


# --- input ------------------------------------------------------------------------------------------------------------


def write_files(tables: list[pa.Table], folder: Path) -> None:
    """One file for each table. Their times of change tell Spark which one comes first."""
    folder.mkdir(parents=True)
    for number, table in enumerate(tables):
        file = folder / f"{number:06d}.parquet"
        pq.write_table(table, file)
        os.utime(file, (OLDEST_FILE_S + number, OLDEST_FILE_S + number))


def cut(events: pa.Table, rows: int) -> list[pa.Table]:
    """Tables of so many rows each, in order; the last may be shorter."""
    return [events.slice(first, rows) for first in range(0, events.num_rows, rows)]


def read_files(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream that takes one file a batch. Files are in the order of time, so no row has to be waited for."""
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return stream.withWatermark(TIME, "0 seconds")


def answered(stream: DataFrame, clause: str, **options: Any) -> DataFrame:
    """The clause over the stream, with options of `ost.match_recognize`.

    The paper's patterns have no bound, which we would be warned of each time.
    """
    import ostinato as ost
    from ostinato.errors import OstinatoWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OstinatoWarning)
        return stream.transform(ost.match_recognize(clause, **options))


# --- running ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch as Spark reports it."""

    number: int
    rows: int
    seconds: float
    counts: Mapping[str, int]
    """What our operators counted, summed; empty where none is in the plan."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A stream that read all its files."""

    seconds: float
    """From its start to its end, by the clock."""
    batches: tuple[Batch, ...]

    def total(self, count: str) -> int:
        return sum(batch.counts.get(count, 0) for batch in self.batches)

    @property
    def seconds_with_rows(self) -> float:
        """Only of batches that read a file: without the start, and without the last batch, which reads none."""
        return sum(batch.seconds for batch in self.batches if batch.rows)


def run_stream(frame: DataFrame, checkpoint: Path, each: Callable[[DataFrame, int], None] | None = None) -> Ran:
    """All files, one a batch; rows are written nowhere, or given to `each`."""
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    started = time.perf_counter()
    query = _with_sink(writer, each).start()
    if not query.awaitTermination(TIMEOUT_SECONDS):
        query.stop()
        raise TimeoutError(f"the stream didn't end within {TIMEOUT_SECONDS} s")
    taken = time.perf_counter() - started
    return Ran(taken, tuple(batch_of(progress) for progress in query.recentProgress))


def _with_sink(writer: DataStreamWriter, each: Callable[[DataFrame, int], None] | None) -> DataStreamWriter:
    return writer.format("noop") if each is None else writer.foreachBatch(each)


def batch_of(progress: Mapping[str, Any]) -> Batch:
    """Spark's report -> what is measured of it.

    >>> batch_of(
    ...     {
    ...         "batchId": 3,
    ...         "numInputRows": 9,
    ...         "durationMs": {"triggerExecution": 1500},
    ...         "observedMetrics": {"ostinato-1": {"rows": 9, "matches": None}},
    ...     }
    ... )
    Batch(number=3, rows=9, seconds=1.5, counts={'rows': 9, 'matches': 0})
    """
    counts: dict[str, int] = {}
    for observed in progress["observedMetrics"].values():
        values = observed if isinstance(observed, dict) else observed.asDict()
        for name, value in values.items():
            if isinstance(value, str):  # what rules report beside counts
                continue
            counts[name] = counts.get(name, 0) + (value or 0)  # NULL: no bucket had anything to do
    seconds = progress["durationMs"]["triggerExecution"] / 1000
    return Batch(progress["batchId"], progress["numInputRows"], seconds, counts)


def interleaved_runs(streams: Mapping[str, DataFrame], folder: Path, rounds: int) -> dict[str, Ran]:
    """The shortest of several runs of each, in turns, after one to warm up; each from a checkpoint of its own."""
    runs: dict[str, list[Ran]] = {name: [] for name in streams}
    for done in range(rounds + 1):
        for name, frame in streams.items():
            ran = run_stream(frame, fresh_folder(folder))
            if done:
                runs[name].append(ran)
    return {name: min(found, key=lambda ran: ran.seconds) for name, found in runs.items()}


def fresh_folder(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder, prefix="checkpoint-"))
