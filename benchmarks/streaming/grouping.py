"""Two ways to keep all rows of a stream: by the user's key, or packed by bucket. Both emit how many groups and rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from ostinato.spark.streams.stream_packing import BUCKET, ROWS, PackByBucket, unpack_table
from ostinato.streams.stream_settings import DEFAULT_BUCKETS

SHIPPED = pa.schema(
    [pa.field("key", pa.string()), pa.field("ts", pa.timestamp("us", "UTC")), pa.field("price", pa.float64())]
)
PACKED = s.StructType([s.StructField(BUCKET, s.IntegerType()), s.StructField(ROWS, s.BinaryType())])
_COUNTS = s.StructType([s.StructField("groups", s.LongType()), s.StructField("rows", s.LongType())])
_KEPT = s.StructType([s.StructField("rows", s.BinaryType())])


def by_key(stream: DataFrame) -> DataFrame:
    return stream.groupBy("key").transformWithState(KeepRows(), _COUNTS, "Append", "None")


def by_bucket(stream: DataFrame) -> DataFrame:
    bucket = F.pmod(F.hash("key"), F.lit(DEFAULT_BUCKETS)).cast("int").alias(BUCKET)
    packed = stream.select(bucket, *SHIPPED.names).mapInArrow(PackByBucket(SHIPPED), PACKED)
    return packed.groupBy(BUCKET).transformWithState(KeepPacks(), _COUNTS, "Append", "None")


class _Keep(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getValueState("rows", _KEPT)

    def _add(self, came: bytes) -> None:
        before = self._kept.get()
        self._kept.update((came if before is None else bytes(before[0]) + came,))


class KeepRows(_Keep):
    """The state of one key."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        came = [f"{row.ts.timestamp()} {row.price};".encode() for row in rows]
        self._add(b"".join(came))
        yield Row(groups=1, rows=len(came))


class KeepPacks(_Keep):
    """The state of one bucket of keys."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        packs = [bytes(row[1]) for row in rows]
        self._add(b"".join(packs))
        yield Row(groups=1, rows=unpack_table(packs, SHIPPED).num_rows)
