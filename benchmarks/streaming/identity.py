"""The floor of a stream: the same packed rows by the same buckets through a `transformWithState` that matches nothing.

In each batch it loads the state of a bucket and stores as many bytes as the query kept there after the same batch. It
emits a count. It sets no timers, so what the query does in the last batch, when the watermark has passed the last
file, is counted for the query only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from benchmarks.streaming.do_nothing import packed_as_ours
from ostinato.spark.streams.stream_buckets import BUCKET_STATE, OPEN_HERE, WAITING_HERE
from ostinato.spark.streams.stream_checkpoint import open_checkpoint
from ostinato.spark.streams.stream_packing import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VALUE = s.StructType([s.StructField("calls", s.LongType()), s.StructField("header", s.BinaryType())])
_SEGMENT = s.StructType([s.StructField("segment", s.BinaryType())])
_ROW_BYTES = "value.listed[1] + value.listed[3]" + "".join(
    f" + aggregate(value.{here}, 0L, (sum, segment) -> sum + length(segment))" for here in (OPEN_HERE, WAITING_HERE)
)
"""SQL of the bytes of open and waiting rows: those in lists, and those beside the header."""
_COUNT = s.StructType([s.StructField("bytes", s.LongType())])


@dataclass(frozen=True, slots=True)
class Kept:
    """The size of a bucket's state after a batch."""

    header: int
    rows: int
    """Bytes of kept rows."""


Sizes = Mapping[int, tuple[Kept, ...]]
"""By bucket, then by batch."""


def measured_sizes(spark: SparkSession, checkpoint: Path) -> Sizes:
    """What a query kept after each of its batches, read from its checkpoint."""
    last = open_checkpoint(spark, str(checkpoint))
    sizes: dict[int, list[Kept]] = {}
    for batch in range(last.batch + 1):
        buckets = replace(last, batch=batch).variable(BUCKET_STATE)
        for bucket, header, rows in buckets.selectExpr(f"key.{BUCKET}", "length(value.header)", _ROW_BYTES).collect():
            sizes.setdefault(bucket, []).append(Kept(header, rows))
    return {bucket: tuple(kept) for bucket, kept in sizes.items()}


def largest_state(sizes: Sizes) -> int:
    """Bytes of all buckets after the batch that left most."""
    batches = max(len(kept) for kept in sizes.values())
    return max(
        sum(size.header + size.rows for kept in sizes.values() for size in kept[i : i + 1]) for i in range(batches)
    )


class KeepBytes(StatefulProcessor):
    """Loads, stores as many bytes of what came as it is told to, and counts the bytes that came."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._value = handle.getValueState("value", _VALUE)
        self._segments = handle.getListState("segments", _SEGMENT)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        kept = self._value.get()
        calls = 0 if kept is None else kept[0]
        for _ in self._segments.get():
            pass
        came = b"".join(bytes(row[1]) for row in rows)
        sizes = self.sizes[key[0]]
        size = sizes[min(calls, len(sizes) - 1)]
        self._value.update((calls + 1, stretched(came, size.header)))
        self._segments.put([(stretched(came, size.rows),)])
        yield Row(bytes=len(came))


def stretched(content: bytes, size: int) -> bytes:
    """So many bytes of the content, repeated as often as it takes.

    >>> stretched(b"abc", 7), stretched(b"abc", 2)
    (b'abcabca', b'ab')
    """
    return (content * -(-size // max(len(content), 1)))[:size]


def packed_identity(stream: DataFrame, clause: str, sizes: Sizes) -> DataFrame:
    """As `ost.match_recognize` up to the grouping, then KeepBytes."""
    rows = packed_as_ours(stream, clause).rows
    return rows.groupBy(BUCKET).transformWithState(KeepBytes(sizes), _COUNT, "Append", "EventTime")
