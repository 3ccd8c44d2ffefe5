"""The state of one bucket in Spark's state store: which variables it lies in, and when they are read and written.

A call of the store costs more than the bytes of a small bucket, so the header and small waiting rows share one value.
Rows are in lists. A list is only read if a step needs its rows, and rows that a step adds are appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import ListState, StatefulProcessorHandle

from ostinato.spark.streams.stream_buckets import BUCKET_STATE, DEFINITION, HEADER, OPEN_ROWS, WAITING, WAITING_HERE
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.step import GAUGES, Counts, Step
from ostinato.streams.stored_segments import StoredSegments, size_of

MOST_BYTES_BESIDE_HEADER = 1 << 17
"""More waiting rows than this are in a list. Every change of the value writes all of it."""
_BUCKET = s.StructType(
    [
        s.StructField(HEADER, s.BinaryType()),
        s.StructField(WAITING_HERE, s.ArrayType(s.BinaryType())),
        s.StructField("timer_ms", s.LongType()),
        s.StructField("gauges", s.ArrayType(s.LongType())),
        s.StructField("state_bytes", s.LongType()),
        s.StructField("open_segments", s.LongType()),
        s.StructField("open_bytes", s.LongType()),
        s.StructField("listed_waiting", s.LongType()),
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
        self._open_rows = handle.getListState(OPEN_ROWS, _SEGMENT)
        self._waiting = handle.getListState(WAITING, _SEGMENT)
        self._definition = handle.getValueState(DEFINITION, _TEXT)

    def load(self, definition: str) -> StoredBucket:
        """The state of the bucket. A new bucket also stores the definition."""
        value = self._bucket.get()
        if value is None:
            self.store_definition(definition)
            return StoredBucket(EMPTY, None, [0] * len(GAUGES), 0, None)
        header, waiting, timer_ms, gauges, state_bytes, open_segments, open_bytes, listed = value
        header, waiting = bytes(header), tuple(map(bytes, waiting))
        open_rows: Sequence[bytes] = ()
        if open_segments:
            open_rows = StoredSegments(open_segments, open_bytes, lambda: _segments(self._open_rows))
        here: Sequence[bytes] = waiting
        if listed:
            size = state_bytes - len(header) - open_bytes
            here = StoredSegments(listed, size, lambda: _segments(self._waiting))
        value = (header, list(waiting), timer_ms, list(gauges), *value[4:])
        return StoredBucket(BucketState(header, open_rows, here), timer_ms, list(gauges), state_bytes, value)

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
        state = step.state
        _update(self._open_rows, before.state.open_rows, state.open_rows)
        waiting = self._store_waiting(before.state.waiting, state.waiting)
        timer_ms = None if step.wake_at_us is None or not self._has_timers else -(-step.wake_at_us // 1000)
        if timer_ms != before.timer_ms:
            if before.timer_ms is not None and not timer_fired:
                self._handle.deleteTimer(before.timer_ms)
            if timer_ms is not None:
                self._handle.registerTimer(timer_ms)
        value = (
            state.header,
            waiting,
            timer_ms,
            step.counts.gauges,
            state.size,
            len(state.open_rows),
            size_of(state.open_rows),
            0 if waiting else len(state.waiting),
        )
        if value != before.value:
            self._bucket.update(value)
        return StoredBucket(state, timer_ms, step.counts.gauges, state.size, value)

    def _store_waiting(self, before: Sequence[bytes], after: Sequence[bytes]) -> list[bytes]:
        """The segments to store beside the header. More bytes than that go to the list."""
        was_listed = isinstance(before, StoredSegments)
        if size_of(after) > MOST_BYTES_BESIDE_HEADER:
            _update(self._waiting, before if was_listed else (), after)
            return []
        if was_listed:
            self._waiting.clear()
        return list(after)


def _segments(stored: ListState) -> list[bytes]:
    return [bytes(segment) for (segment,) in stored.get()]


def _update(stored: ListState, before: Sequence[bytes], after: Sequence[bytes]) -> None:
    """Writes the changes. If segments were only appended, the earlier ones aren't written again."""
    if isinstance(after, StoredSegments) and after.extends(before):
        if after.added:
            stored.appendList([(segment,) for segment in after.added])
    elif after:
        stored.put([(segment,) for segment in after])
    elif before:
        stored.clear()
