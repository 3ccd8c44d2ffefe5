"""One bucket of keys inside transformWithState: loads its state, advances the core, stores, sets a timer, emits."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import Row
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    ListState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.errors import OstinatoError, carried
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.spark.shipping.worker_check import Rebuilt, Reduced
from ostinato.spark.streams.portable_processor import RecordingHandle, processor_or_stand_in
from ostinato.spark.streams.stream_buckets import BUCKET_STATE, DEFINITION, HEADER, OPEN_ROWS, WAITING
from ostinato.spark.streams.stream_packing import pack_results, unpack_table
from ostinato.spark.streams.stream_task import BucketTask
from ostinato.streams.bucket_state import EMPTY, OTHER_QUERY, BucketState, other_query
from ostinato.streams.stored_definition import definition_changes

if TYPE_CHECKING:
    from ostinato.streams.step import Step

RESULTS = f"{PREFIX}results"
COUNTS = ("rows", "late_rows", "matches", "open_runs_change", "state_bytes_change")
"""The counts that each bucket reports for a batch. They are added up."""
EMITTED = s.StructType(
    [
        s.StructField(RESULTS, s.BinaryType()),
        s.StructField(ERROR, s.StringType()),
        *(s.StructField(f"{PREFIX}{name}", s.LongType()) for name in COUNTS),
    ]
)

_BUCKET = s.StructType(
    [
        s.StructField(HEADER, s.BinaryType()),
        s.StructField("timer_ms", s.LongType()),
        s.StructField("open_runs", s.LongType()),
        s.StructField("state_bytes", s.LongType()),
    ]
)
_SEGMENT = s.StructType([s.StructField("segment", s.BinaryType())])
_TEXT = s.StructType([s.StructField("json", s.StringType())])


@dataclass(frozen=True, slots=True)
class StoredBucket:
    """The state of a bucket in Spark's store."""

    state: BucketState
    timer_ms: int | None
    open_runs: int
    state_bytes: int


class BucketProcessor(StatefulProcessor):
    """Moves bytes between Spark's state store and the core, which does the matching."""

    def __init__(self, task: BucketTask, *, has_watermark: bool) -> None:
        self.task = task
        self.has_watermark = has_watermark

    def __reduce__(self) -> Reduced:
        """Checked, and readable in the worker that Spark starts beside the driver, which may lack this package."""
        make = functools.partial(type(self), has_watermark=self.has_watermark)
        handle = RecordingHandle()
        make(self.task).init(cast(StatefulProcessorHandle, handle))
        pickled = CloudPickleSerializer().dumps(Rebuilt(make, (self.task,)))  # type: ignore[no-untyped-call]
        return processor_or_stand_in(pickled, handle.declared)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._bucket = handle.getValueState(BUCKET_STATE, _BUCKET)
        self._open_rows = handle.getListState(OPEN_ROWS, _SEGMENT)
        self._waiting = handle.getListState(WAITING, _SEGMENT)
        self._definition = handle.getValueState(DEFINITION, _TEXT)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        arrived = unpack_table((row[1] for row in rows), self.task.shipped)
        return self._advance(arrived, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        return self._advance(self.task.shipped.empty_table(), timerValues)

    def _advance(self, arrived: pa.Table, now: TimerValues, **more: Any) -> Iterator[Row]:
        """Loads, advances, stores and emits. `more` is for the `_step` of a subclass."""
        try:
            before = self._load()
            step = self._step(before.state, arrived, self._watermark_us(now), **more)
            rows = self.task.rows(step.results)
        except Exception as error:  # sent as a row: Spark would wrap an exception in a Python traceback
            yield _emitted(error=carried(self._explained(ours_or_raise(error))))
            return
        after = self._store(before, step)
        counts = step.counts
        changes = (after.open_runs - before.open_runs, after.state_bytes - before.state_bytes)
        packs = [*pack_results(rows), None]  # at least one row carries the counts
        yield _emitted(packs[0], counts=(counts.rows, counts.late_rows, counts.matches, *changes))
        for pack in packs[1:-1]:
            yield _emitted(pack)

    def _explained(self, error: OstinatoError) -> OstinatoError:
        """The error. If the state is of another query, it says how the stored definition differs."""
        stored = self._definition.get() if error.code == OTHER_QUERY else None
        changes = [] if stored is None else definition_changes(stored[0], self.task.definition)
        return other_query("; ".join(changes)) if changes else error

    def _step(self, state: BucketState, arrived: pa.Table, watermark_us: int) -> Step[Any]:
        step: Step[Any] = self.task.worker.advance(state, arrived, watermark_us)
        return step

    def _watermark_us(self, now: TimerValues) -> int:
        """Spark's first watermark is 0, before any row arrived. It makes no row late, so it counts as NO_TIME."""
        watermark_ms = now.getCurrentWatermarkInMs() if self.has_watermark else 0
        return watermark_ms * 1000 if watermark_ms > 0 else NO_TIME

    # --- state ---

    def _load(self) -> StoredBucket:
        stored = self._bucket.get()
        if stored is None:
            self._definition.update((self.task.definition,))
            return StoredBucket(EMPTY, None, 0, 0)
        header, timer_ms, open_runs, state_bytes = stored
        state = BucketState(bytes(header), _segments(self._open_rows), _segments(self._waiting))
        return StoredBucket(state, timer_ms, open_runs, state_bytes)

    def _store(self, before: StoredBucket, step: Step[Any]) -> StoredBucket:
        state = step.state
        _update(self._open_rows, before.state.open_rows, state.open_rows)
        _update(self._waiting, before.state.waiting, state.waiting)
        timer_ms = None if step.wake_at_us is None or not self.has_watermark else -(-step.wake_at_us // 1000)
        if timer_ms != before.timer_ms:
            if before.timer_ms is not None:
                self._handle.deleteTimer(before.timer_ms)
            if timer_ms is not None:
                self._handle.registerTimer(timer_ms)
        after = StoredBucket(state, timer_ms, step.counts.open_runs, state.size)
        self._bucket.update((state.header, timer_ms, after.open_runs, after.state_bytes))
        return after


def _emitted(pack: bytes | None = None, *, error: str | None = None, counts: tuple[int, ...] = ()) -> Row:
    values = (pack, error, *(counts or (0,) * len(COUNTS)))
    return Row(**dict(zip(EMITTED.names, values, strict=True)))


def _segments(stored: ListState) -> tuple[bytes, ...]:
    return tuple(bytes(segment) for (segment,) in stored.get())


def _update(stored: ListState, before: tuple[bytes, ...], after: tuple[bytes, ...]) -> None:
    """Writes the changes. If segments were only appended, the earlier ones aren't written again."""
    if after == before:
        return
    if not after:
        stored.clear()
    elif before and after[: len(before)] == before:
        stored.appendList([(segment,) for segment in after[len(before) :]])
    else:
        stored.put([(segment,) for segment in after])
