"""`python -m benchmarks.streaming.soak --minutes 30`: does a stream stay as it is? Memory, state and time of batches.

Files come at a fixed rate, a query with WITHIN runs over them. Every ten seconds a line; at the end the answer is
checked, and least-squares lines say what grew.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.colour_schemes import in_both_schemes
from benchmarks.experiment import WrongAnswer, expect
from benchmarks.records import table, this_machine
from benchmarks.streaming.processes import resident_memory
from benchmarks.streaming.soak_input import ChunkWriter, Rate, chunk
from benchmarks.streaming.soak_samples import Sample, draw, records_of, write_csv
from benchmarks.streaming.streams import TIME, Batch, answered, batch_of, streaming_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SAMPLE_SECONDS = 10.0
CLAUSE = """
    PARTITION BY key ORDER BY ts
    MEASURES FIRST(price) AS first_price, LAST(price) AS last_price
    PATTERN (A B* C) WITHIN INTERVAL '10' SECOND
    DEFINE A AS A.price < 60, B AS B.price < 145, C AS C.price > 149
"""
"""Matches are rare, so almost every key has an open run, which only WITHIN ends."""


class Follower:
    """A running query -> its samples. Sums what Spark reports batch by batch."""

    def __init__(self, query: StreamingQuery) -> None:
        self.query = query
        self.last_batch = -1
        self.counts: dict[str, int] = {}

    def new_batches(self) -> list[Batch]:
        """Those that ended since the last call; each is reported once."""
        batches = [batch_of(progress) for progress in self.query.recentProgress]
        # Spark reports an idle trigger too, under the number of the batch that it didn't run.
        new = [batch for batch in batches if batch.number > self.last_batch and batch.counts]
        for batch in new:
            self.last_batch = batch.number
            for name, value in batch.counts.items():
                self.counts[name] = self.counts.get(name, 0) + value
        return new

    def sample(self, seconds: float) -> Sample | None:
        """None where no batch ended."""
        new = self.new_batches()
        if not new:
            return None
        memory = resident_memory()
        return Sample(
            seconds=round(seconds, 1),
            batches=len(new),
            batch_seconds=sum(batch.seconds for batch in new) / len(new),
            rows=sum(batch.rows for batch in new),
            open_runs=self.counts["open_runs_change"],
            state_bytes=self.counts["state_bytes_change"],
            jvm_bytes=memory.jvm,
            worker_bytes=memory.workers,
            driver_bytes=memory.driver,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """0: ran, and its lines say what grew. 1: a wrong answer."""
    options = _options(arguments)
    rate = Rate(options.rows_per_second, options.keys)
    case = f"{options.minutes:g} minutes, {rate.rows_per_second:,} rows/s, {rate.keys:,} keys"
    print(f"soak, {case}: {this_machine()}", flush=True)
    samples: list[Sample] = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for sample in soak(Path(folder), rate, 60 * options.minutes):
                samples.append(sample)
                print(sample.line(), flush=True)
                if options.csv is not None:  # as it goes, so that an interrupted run leaves what it has
                    write_csv(samples, options.csv)
    except WrongAnswer as wrong:
        print(f"soak: WRONG ANSWER: {wrong}", file=sys.stderr)
        return 1
    print(table(records_of(samples, case)))
    if options.plot is not None:
        in_both_schemes(lambda folder: [draw(samples, folder / options.plot.name)], options.plot.parent)
        print(f"drawn: {options.plot.name}, dark/{options.plot.name}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rows-per-second", type=int, default=5_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the samples there")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw them there, and for dark pages in the sub-folder dark"
    )
    return parser.parse_args(arguments)


def soak(folder: Path, rate: Rate, seconds: float) -> Iterator[Sample]:
    """Samples while it runs; then what the stream gave is compared with batch."""
    spark = streaming_session()
    files = folder / "in"
    files.mkdir()
    writer = ChunkWriter(rate, files)
    query = _start(answered(_read(spark, files), CLAUSE), folder / "checkpoint")
    follower = Follower(query)
    writer.start()
    started = time.monotonic()
    try:
        while (now := time.monotonic() - started) < seconds:
            # Ends early, with Spark's error, if the query fails.
            query.awaitTermination(min(SAMPLE_SECONDS, max(seconds - now, 1)))  # type: ignore[arg-type]
            sample = follower.sample(time.monotonic() - started)
            if sample is not None:
                yield sample
        writer.stop()
        query.processAllAvailable()
        follower.new_batches()
    finally:
        writer.stop()
        query.stop()
    _check(spark, follower, folder / "checkpoint", rate, writer.written)


def _read(spark: SparkSession, files: Path) -> DataFrame:
    """Files are deleted once read, and forgotten: what is measured is the query, not a folder that fills up."""
    schema = "key BIGINT, ts TIMESTAMP, price DOUBLE"
    reader = spark.readStream.schema(schema).option("cleanSource", "delete").option("maxFileAge", "5m")
    return reader.parquet(str(files)).withWatermark(TIME, "0 seconds")


def _start(answer: DataFrame, checkpoint: Path) -> StreamingQuery:
    writer = answer.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime="2 seconds").start()


def _check(spark: SparkSession, follower: Follower, checkpoint: Path, rate: Rate, chunks: int) -> None:
    """No row lost, none late, and as many matches as in a batch over all chunks."""
    from ostinato.clause.language.clause_parser import parse_clause
    from ostinato.local.local_clause import match_table
    from ostinato.spark.checkpoints.finish import finish_stream

    counts = follower.counts
    expect("rows and late rows", (counts["rows"], counts["late_rows"]), (chunks * rate.rows_per_second, 0))
    events = pa.concat_tables(chunk(rate, second) for second in range(chunks))
    right = match_table(parse_clause(CLAUSE), events).num_rows
    expect("matches", counts["matches"] + finish_stream(spark, str(checkpoint)).count(), right)


if __name__ == "__main__":
    sys.exit(main())
