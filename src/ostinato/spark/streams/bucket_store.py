"""The state of one bucket in Spark's state store: which variables it lies in, and when they are read and written.

A call of the store costs more than the bytes of a small bucket, so the header and few rows share one value. More rows
are in lists. A list is only read if a step needs its rows, and rows that a step adds are appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import ListState, StatefulProcessorHandle

from ostinato.spark.streams.stream_buckets import (
    BUCKET_STATE,
    DEFINITION,
    HEADER,
    OPEN_HERE,
    OPEN_ROWS,
    WAITING,
    WAITING_HERE,
)
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.step import GAUGES, Counts, Step
from ostinato.streams.stored_segments import StoredSegments, size_of

MOST_OPEN_BYTES_BESIDE_HEADER = 1 << 15
"""More open rows than this are in a list, to which new ones are appended. Every change of the value writes all of it.
Reading and writing a list costs about as much as 64 KB in the value (benchmarks/streaming/micro_batch.py)."""
MOST_WAITING_BYTES_BESIDE_HEADER = 1 << 17
"""More waiting rows than this are in a list. Most steps replace all of them, wherever they are."""
_BUCKET = s.StructType(
    [
        s.StructField(HEADER, s.BinaryType()),
        s.StructField(OPEN_HERE, s.ArrayType(s.BinaryType())),
        s.StructField(WAITING_HERE, s.ArrayType(s.BinaryType())),
        s.StructField("listed", s.ArrayType(s.LongType())),  # segments and bytes: of open rows, and of waiting ones
        s.StructField("timer_ms", s.LongType()),
        s.StructField("gauges", s.ArrayType(s.LongType())),
    ]
)
_SEGMENT = s.StructType([s.StructField("segment", s.BinaryType())])
_TEXT = s.StructType([s.StructField("json", s.StringType()), s.StructField("since_batch", s.LongType())])
_BATCH = "streaming.sql.batchId"
"""The property by which Spark tells tasks the number of the batch."""


@dataclass(frozen=True, slots=True)
class StoredBucket:
    """The state of a bucket, and its counts for the metrics."""

    state: BucketState
    timer_ms: int | None
    gauges: list[int]
    state_bytes: int
    value: tuple[Any, ...] | None
    """The stored value; None for a new bucket."""


class BucketStore:
    """The variables of the current bucket. Spark selects the bucket."""

    def __init__(self, handle: StatefulProcessorHandle, *, has_timers: bool) -> None:
        self._handle = handle
        self._has_timers = has_timers
        self._bucket = handle.getValueState(BUCKET_STATE, _BUCKET)
        self._open_rows = _Rows(handle.getListState(OPEN_ROWS, _SEGMENT), MOST_OPEN_BYTES_BESIDE_HEADER)
        self._waiting = _Rows(handle.getListState(WAITING, _SEGMENT), MOST_WAITING_BYTES_BESIDE_HEADER)
        self._definition = handle.getValueState(DEFINITION, _TEXT)

    def load(self, definition: str) -> StoredBucket:
        """The state of the bucket. A new bucket also stores the definition."""
        value = self._bucket.get()
        if value is None:
            self.store_definition(definition)
            return StoredBucket(EMPTY, None, [0] * len(GAUGES), 0, None)
        header, open_here, waiting_here, listed, timer_ms, gauges = value
        open_rows = self._open_rows.load(open_here, *listed[:2])
        state = BucketState(bytes(header), open_rows, self._waiting.load(waiting_here, *listed[2:]))
        return StoredBucket(state, timer_ms, list(gauges), state.size, _value(state, timer_ms, list(gauges)))

    def begin(self, definition: str, state: BucketState, wake_at_us: int | None) -> None:
        """Stores the first state of a bucket. Its next step counts the open runs as new."""
        self.store_definition(definition)
        self.store(StoredBucket(EMPTY, None, [0] * len(GAUGES), 0, None), Step(None, state, wake_at_us, Counts()))

    def store_definition(self, definition: str) -> None:
        """Stores it with the number of the batch. The latest of all buckets is the one that the stream ran with."""
        context = TaskContext.get()
        batch = None if context is None else context.getLocalProperty(_BATCH)
        self._definition.update((definition, int(batch or 0)))

    def stored_definition(self) -> str | None:
        """The definition that the state of the bucket belongs to."""
        stored = self._definition.get()
        return None if stored is None else str(stored[0])

    def store(self, before: StoredBucket, step: Step[Any], *, timer_fired: bool = False) -> StoredBucket:
        """Writes the changes. Spark itself deletes a timer that fired."""
        open_rows = self._open_rows.store(before.state.open_rows, step.state.open_rows)
        waiting = self._waiting.store(before.state.waiting, step.state.waiting)
        state = BucketState(step.state.header, open_rows, waiting)
        timer_ms = None if step.wake_at_us is None or not self._has_timers else -(-step.wake_at_us // 1000)
        if timer_ms != before.timer_ms:
            if before.timer_ms is not None and not timer_fired:
                self._handle.deleteTimer(before.timer_ms)
            if timer_ms is not None:
                self._handle.registerTimer(timer_ms)
        value = _value(state, timer_ms, step.counts.gauges)
        if value != before.value:
            self._bucket.update(value)
        return StoredBucket(state, timer_ms, step.counts.gauges, state.size, value)


def _value(state: BucketState, timer_ms: int | None, gauges: list[int]) -> tuple[Any, ...]:
    """The value to store: segments that aren't in a list, and the number and size of those that are."""
    sections = (state.open_rows, state.waiting)
    here = ([] if isinstance(rows, StoredSegments) else list(rows) for rows in sections)
    listed = [
        number
        for rows in sections
        for number in ((len(rows), size_of(rows)) if isinstance(rows, StoredSegments) else (0, 0))
    ]
    return (state.header, *here, listed, timer_ms, gauges)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one section. Few are in the bucket's value, more are in a list."""

    listed: ListState
    most_bytes: int
    """In the value."""

    def load(self, here: Sequence[Any], segments: int, size: int) -> Sequence[bytes]:
        """The segments in the value, or those of the list, which isn't read yet."""
        if not segments:
            return tuple(map(bytes, here))
        return StoredSegments(segments, size, lambda: [bytes(segment) for (segment,) in self.listed.get()])

    def store(self, before: Sequence[bytes], after: Sequence[bytes]) -> Sequence[bytes]:
        """Writes the changes of the list. Segments that are only appended to it don't write the earlier ones again."""
        if isinstance(after, StoredSegments) and after.extends(before):
            if after.added:
                self.listed.appendList([(segment,) for segment in after.added])
            return after
        if size_of(after) > self.most_bytes:
            self.listed.put([(segment,) for segment in after])
            return StoredSegments(len(after), size_of(after), lambda: after)
        if isinstance(before, StoredSegments):
            self.listed.clear()
        return tuple(after)
