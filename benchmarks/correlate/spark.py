"""A correlation on Spark: a replay through `ost.sql` over the floor, and the time of a stream's micro-batches.

The floor is what benchmarks/match has: read, bring keys together, go through Python, nothing sorted. What the stream is
compared with is a `foreachBatch` that writes its rows as they come.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from benchmarks.correlate.queries import Q1
from benchmarks.correlate.running import digest
from benchmarks.correlate.streams import FIRST_PRICE
from benchmarks.experiment import Scale, expect, interleaved_seconds
from benchmarks.match import sparks
from benchmarks.match.events import START_US, write_events
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.streams import TIMEOUT_SECONDS, batch_of, cut, fresh_folder, write_files
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

ROWS = {Scale.SMALL: 500_000, Scale.FULL: 5_000_000}
STREAM_ROWS = {Scale.SMALL: 100_000, Scale.FULL: 1_000_000}
FILES = 10
KEYS = 1_000
PERIOD = 50
SECONDS = 200
REGION = f"INTERVAL '{SECONDS}' SECOND"
ROUNDS = 3
ENOUGH_SECONDS = 30.0
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
    rows = STREAM_ROWS[scale]
    events = keyed_ticks(rows, KEYS)
    files = folder / "files"
    write_files(cut(events, rows // FILES), files)
    reader = spark.readStream.schema(spark.read.parquet(str(files)).schema).option("maxFilesPerTrigger", 1)
    live = reader.parquet(str(files))
    output, checkpoint = fresh_folder(folder), fresh_folder(folder)
    correlation = ost.correlate(Q1.text(REGION))
    started = correlation.start(live, output=str(output), checkpoint=str(checkpoint), trigger={"availableNow": True})
    ours = _median_seconds(started)
    rest = correlation.finish(live.sparkSession, str(checkpoint)).toArrow()
    given = pa.concat_tables([_written_results(output).cast(rest.schema), rest])
    expect("stream and batch", digest(given), digest(ost.correlate(Q1.text(REGION)).run(events).table))
    identity = _median_seconds(_writing(live, folder))
    case = f"Q1, {rows // FILES:,} rows a batch, {KEYS:,} keys, region {SECONDS} s"
    baseline = Baseline("rows written as they come", identity)
    return [Record("correlate", "spark", case, "time of a micro-batch", ours, "s", baseline)]


def _written_results(output: Path) -> pa.Table:
    """Without the column of the batches' folders."""
    return pq.read_table(output).drop_columns("batch_id")


def _writing(live: DataFrame, folder: Path) -> StreamingQuery:
    output = fresh_folder(folder)

    def write(rows: DataFrame, batch_id: int) -> None:
        rows.write.mode("overwrite").parquet(f"{output}/batch_id={batch_id}")

    writer = live.writeStream.option("checkpointLocation", str(fresh_folder(folder)))
    return writer.trigger(availableNow=True).foreachBatch(write).start()


def _median_seconds(query: StreamingQuery) -> float:
    """Times of batches with rows, without the first batch, which loads kernels."""
    if not query.awaitTermination(TIMEOUT_SECONDS):
        query.stop()
        raise TimeoutError(f"the stream didn't end within {TIMEOUT_SECONDS} s")
    batches = [batch_of(progress) for progress in query.recentProgress]
    return float(np.median([batch.seconds for batch in batches if batch.rows][1:]))
