"""A correlation on Spark: a replay through `ost.sql` over the floor, and the CPU time of a stream's micro-batches.

The floor is what benchmarks/match has: read, bring keys together, go through Python, nothing sorted. What the stream is
compared with is a `foreachBatch` that writes its rows as they come.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from benchmarks.correlate.queries import Q1
from benchmarks.correlate.running import Digest, digest
from benchmarks.correlate.streams import FIRST_PRICE
from benchmarks.experiment import Scale, expect, interleaved_seconds
from benchmarks.match import sparks
from benchmarks.match.events import START_US, write_events
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.processes import cpu_seconds_so_far
from benchmarks.streaming.streams import TIMEOUT_SECONDS, cut, fresh_folder, write_files
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

ROWS = {Scale.SMALL: 500_000, Scale.FULL: 5_000_000}
STREAM_ROWS = {Scale.SMALL: 100_000, Scale.FULL: 1_000_000}
FILES = 10
WARM_UP_BATCHES = 2
KEYS = 1_000
PERIOD = 50
SECONDS = 200
REGION = f"INTERVAL '{SECONDS}' SECOND"
ROUNDS = 3
ENOUGH_SECONDS = 30.0
STREAMED: dict[str, dict[str, Any]] = {
    "stream operator": {"buckets": 16, "write_archive": False},
    "archive in files, 16 buckets": {"buckets": 16, "write_archive": True},
    "archive in files, 1 bucket": {"buckets": 1, "write_archive": True},
}
FLOOR_GOAL = Goal(Sense.AT_MOST, 1.5, of_ratio=True)


def keyed_ticks(rows: int, keys: int) -> pa.Table:
    """Every key has one row a second and a tick every 50 seconds. Keys have their ticks at different times."""
    number, second = np.arange(rows) % keys, np.arange(rows) // keys
    turn, phase = np.divmod(second + number * 7, PERIOD)
    price = FIRST_PRICE + turn + np.select([phase == 1, phase == 2, phase > 2], [-1.0, -2.0, 1.0])
    names = pa.array([f"k{key:05d}" for key in range(keys)])
    return pa.table(
        {
            "symbol": names.take(pa.array(number)),
            "ts": pa.array(START_US + 1_000_000 * second, pa.timestamp("us", tz="UTC")),
            "price": price,
        }
    )


def measure_spark(scale: Scale) -> list[Record]:
    """Both parts share a session."""
    spark = sparks.spark_session()
    spark.conf.set(STATE_STORE, ROCKSDB)
    with tempfile.TemporaryDirectory() as folder:
        return [*_replayed(spark, scale, Path(folder)), *_streamed(spark, scale, Path(folder))]


# --- batch ------------------------------------------------------------------------------------------------------------


def _replayed(spark: SparkSession, scale: Scale, folder: Path) -> list[Record]:
    rows = ROWS[scale]
    events = keyed_ticks(rows, KEYS)
    write_events(events, folder / "events")
    stock = spark.read.parquet(str(folder / "events"))
    ours = ost.sql(Q1.text(REGION), spark=spark, stock=stock)
    right = digest(ost.correlate(Q1.text(REGION)).run(events).table)
    expect("Spark and in process", digest(ours.toArrow()), right)
    floor = stock.repartition("symbol").mapInArrow(sparks.same, stock.schema)
    jobs = {"floor": partial(sparks.run, floor), "ours": partial(sparks.run, ours)}
    seconds = interleaved_seconds(jobs, ROUNDS, enough_seconds=ENOUGH_SECONDS)
    case = f"Q1, {rows:,} rows, {KEYS:,} keys, region {SECONDS} s"
    record = partial(Record, "correlate", "spark", case)
    return [
        record("time over the floor", seconds["ours"], "s", Baseline("floor", seconds["floor"]), FLOOR_GOAL),
        record("speed", rows / seconds["ours"], "rows/s"),
        record("results", right.rows, "results"),
    ]


# --- stream -----------------------------------------------------------------------------------------------------------


def _streamed(spark: SparkSession, scale: Scale, folder: Path) -> list[Record]:
    """The CPU time of a micro-batch: on the stream operator, in `foreachBatch` with an archive, and only written."""
    rows = STREAM_ROWS[scale]
    events = keyed_ticks(rows, KEYS)
    files = folder / "files"
    write_files(cut(events, rows // FILES), files)
    reader = spark.readStream.schema(spark.read.parquet(str(files)).schema).option("maxFilesPerTrigger", 1)
    live = reader.parquet(str(files))
    right = digest(ost.correlate(Q1.text(REGION)).run(events).table)
    seconds = {
        name: statistics.median(_checked_run(live, options, fresh_folder(folder), right) for _ in range(ROUNDS))
        for name, options in STREAMED.items()
    }
    written = statistics.median(_written_run(live, fresh_folder(folder)) for _ in range(ROUNDS))
    case = f"Q1, {rows // FILES:,} rows a batch, {KEYS:,} keys, region {SECONDS} s"
    record = partial(Record, "correlate", "spark", case)
    baseline = Baseline("rows written as they come", written)
    return [record(f"CPU time of a micro-batch, {name}", ours, "s", baseline) for name, ours in seconds.items()]


def _checked_run(live: DataFrame, options: Mapping[str, Any], folder: Path, right: Digest) -> float:
    archive = {"archive": str(folder / "archive")} if options["write_archive"] else {}
    correlation = ost.correlate(Q1.text(REGION), buckets=options["buckets"], **archive)
    moments, checkpoint = Moments(folder / "found"), str(folder / "checkpoint")
    query = correlation.start(
        live,
        output=moments,
        checkpoint=checkpoint,
        trigger={"availableNow": True},
        write_archive=options["write_archive"],
    )
    seconds = moments.of_a_batch(query)
    rest = correlation.finish(live.sparkSession, checkpoint).toArrow()
    given = pa.concat_tables([_written_results(folder / "found").cast(rest.schema), rest])
    expect("stream and batch", digest(given), right)
    return seconds


def _written_results(output: Path) -> pa.Table:
    """Without the column of the batches' folders."""
    return pq.read_table(output).drop_columns("batch_id")


def _written_run(live: DataFrame, folder: Path) -> float:
    moments = Moments(folder / "found")
    writer = live.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    return moments.of_a_batch(writer.trigger(availableNow=True).foreachBatch(moments).start())


@dataclass(slots=True)
class Moments:
    """For foreachBatch: writes the rows, and notes the CPU time of all processes before."""

    output: Path
    found: list[float] = field(default_factory=list)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        self.found.append(cpu_seconds_so_far())
        rows.write.mode("overwrite").parquet(f"{self.output}/batch_id={batch_id}")

    def of_a_batch(self, query: StreamingQuery) -> float:
        """The median from one batch with rows to the next, without the first ones, which start workers."""
        if not query.awaitTermination(TIMEOUT_SECONDS):
            query.stop()
            raise TimeoutError(f"the stream didn't end within {TIMEOUT_SECONDS} s")
        return statistics.median(
            after - before for before, after in itertools.pairwise(self.found[WARM_UP_BATCHES:FILES])
        )
