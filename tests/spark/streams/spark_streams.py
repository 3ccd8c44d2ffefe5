"""Shared by the tests of streams: a folder of files as a stream, and rows to put there."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import ostinato as ost
from ostinato.spark.streams.stream_metrics import observed_counts

START = datetime(2024, 3, 1, tzinfo=UTC)
ABC = """
    PARTITION BY k ORDER BY ts MEASURES LAST(ts) AS at PATTERN (A B* (C | D)) WITHIN INTERVAL '1' HOUR
    DEFINE A AS x = 'a', B AS x = 'b', C AS x = 'c', D AS x = 'd'"""


def seconds(*after: int) -> pa.Array:
    """Times so long after START."""
    return pa.array([START + timedelta(seconds=int(at)) for at in after], pa.timestamp("us", "UTC"))


def letters(key: str, word: str, first: int) -> pa.Table:
    """One row a second for each letter of the word, of one key."""
    at = seconds(*range(first, first + len(word)))
    return pa.table({"k": [key] * len(word), "ts": at, "x": list(word)})


def trades(rows: int = 600, symbols: int = 7, seed: int = 7) -> pa.Table:
    """Rows in the order of their times, four a second, with ties and a NULL key."""
    rng = np.random.default_rng(seed)
    names = np.array([None, *"ABCDEFGHIJ"], dtype=object)[:symbols]
    return pa.table(
        {
            "symbol": pa.array(names[rng.integers(0, symbols, rows)].tolist(), pa.string()),
            "ts": seconds(*np.sort(rng.integers(0, rows // 4, rows))),
            "price": pa.array(rng.integers(1, 6, rows).astype(float)),
            "id": pa.array(np.arange(rows)),
        }
    )


def pieces(table: pa.Table, *cuts: int) -> list[pa.Table]:
    edges = [0, *cuts, table.num_rows]
    return [table.slice(first, end - first) for first, end in itertools.pairwise(edges)]


def split(table: pa.Table, row: int) -> tuple[pa.Table, pa.Table]:
    """The rows up to the time of a row, and those after it."""
    border = table["ts"][row].as_py()
    is_live = pa.array([moment > border for moment in table["ts"].to_pylist()])
    return table.filter(pc.invert(is_live)), table.filter(is_live)


def rows(*tables: pa.Table) -> list[str]:
    """All rows, comparable whatever their order."""
    return sorted(repr(tuple(row.values())) for table in tables for row in table.to_pylist())


def matching(clause: str, **options: Any) -> Callable[[DataFrame], DataFrame]:
    """Few buckets, because tests have few keys."""
    return ost.match_recognize(clause, **{"buckets": 4, **options})


@dataclass
class Source:
    """A folder of files that are read one a batch, in the order in which they were added."""

    folder: Path
    session: SparkSession
    files: int = 0
    progress: list[Any] = field(default_factory=list)

    @property
    def input(self) -> str:
        return str(self.folder / "in")

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "checkpoint")

    @property
    def output(self) -> str:
        return str(self.folder / "out")

    def add(self, *tables: pa.Table) -> Source:
        Path(self.input).mkdir(exist_ok=True)
        for table in tables:
            file = Path(self.input) / f"{self.files}.parquet"
            pq.write_table(table, file)
            os.utime(file, (1_700_000_000 + self.files, 1_700_000_000 + self.files))  # Spark reads the oldest first
            self.files += 1
        return self

    def read(self, delay: str | None = "5 seconds", schema: StructType | None = None) -> DataFrame:
        schema = schema or self.session.read.parquet(self.input).schema
        df = self.session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(self.input)
        return df if delay is None else df.withWatermark("ts", delay)

    def run(self, answer: DataFrame) -> pa.Table:
        """All rows that the sink has once every file was read."""
        writer = answer.writeStream.option("checkpointLocation", self.checkpoint).trigger(availableNow=True)
        query = writer.format("parquet").option("path", self.output).start()
        assert query.awaitTermination(120)
        self.progress += query.recentProgress
        return self.session.read.schema(answer.schema).parquet(self.output).toArrow()

    def finish(self) -> pa.Table:
        return ost.finish_stream(self.session, self.checkpoint).toArrow()

    def count(self, name: str) -> int:
        """The sum of one of the observed counts over all batches and clauses."""
        observed = (row for batch in self.progress for row in batch.observedMetrics.values())
        return sum(observed_counts(row)[name] for row in observed)


def bounded_victim(module: str) -> str:
    """A program to be killed: the stream of the module's `bounded`, in the folder that it is given."""
    return f"""
import sys
from pathlib import Path

from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from tests.spark.streams.spark_streams import Source
from tests.spark.{module} import bounded

settings = {{"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}}
source = Source(Path(sys.argv[1]), local_session(cores=2, **settings))
source.run(bounded(source.read()))
"""
