"""One bucket of keys inside transformWithState: load its state, let the core advance, store, set one timer, emit."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
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
from ostinato.errors import carried
from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.spark.shipping.worker_check import Rebuilt, Reduced, after_check
from ostinato.spark.streams.stream_packing import pack_results, unpack_table

if TYPE_CHECKING:
    from ostinato.clause.stream.clause_stream import Counts
    from ostinato.streams.bucket_state import BucketState

FOUND = f"{PREFIX}found"
COUNTS = ("rows", "late_rows", "matches", "open_runs_change", "state_bytes_change")
"""What each bucket reports of a batch, to be added up."""
EMITTED = s.StructType(
    [
        s.StructField(FOUND, s.BinaryType()),
        s.StructField(ERROR, s.StringType()),
        *(s.StructField(f"{PREFIX}{name}", s.LongType()) for name in COUNTS),
    ]
)

# The state variables, by the names under which Spark's state reader finds them.
BUCKET_STATE, OPEN_ROWS, WAITING, DEFINITION = "bucket", "open_rows", "waiting", "definition"
_BUCKET = s.StructType(
    [
        s.StructField("header", s.BinaryType()),
        s.StructField("fingerprint", s.StringType()),
        s.StructField("timer_ms", s.LongType()),
        s.StructField("open_runs", s.LongType()),
        s.StructField("state_bytes", s.LongType()),
    ]
)
_SEGMENT = s.StructType([s.StructField("segment", s.BinaryType())])
_TEXT = s.StructType([s.StructField("json", s.StringType())])


class BucketStep(Protocol):
    """What comes of one `advance`."""

    @property
    def results(self) -> Any: ...
    @property
    def state(self) -> BucketState: ...
    @property
    def wake_at_us(self) -> int | None: ...
    @property
    def counts(self) -> Counts: ...


class BucketWorker(Protocol):
    """The core of a query over streams."""

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> BucketStep: ...


class BucketTask(Protocol):
    """What the workers of a stream need; sent to the executors with every batch."""

    @property
    def shipped(self) -> pa.Schema: ...
    @property
    def output(self) -> pa.Schema: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def definition(self) -> str: ...
    @property
    def worker(self) -> BucketWorker: ...
    def rows(self, results: Any) -> pa.Table:
        """Results as they leave."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What Spark keeps of a bucket."""

    state: BucketState
    timer_ms: int | None
    open_runs: int
    state_bytes: int


class BucketProcessor(StatefulProcessor):
    """Nothing of matching is here: it moves bytes between Spark's state and the core."""

    def __init__(self, task: BucketTask, *, has_watermark: bool) -> None:
        self.task = task
        self.has_watermark = has_watermark

    def __reduce__(self) -> Reduced:
        """Spark starts a Python beside the driver too, which reads this before any other task is read."""
        return after_check(Rebuilt(functools.partial(type(self), has_watermark=self.has_watermark), (self.task,)))

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

    def _advance(self, arrived: pa.Table, now: TimerValues) -> Iterator[Row]:
        try:
            before = self._load()
            step = self._step(before.state, arrived, self._watermark_us(now))
            rows = self.task.rows(step.results)
        except Exception as error:  # as a row: an exception would arrive inside a Python traceback
            yield _emitted(error=carried(ours_or_raise(error)))
            return
        after = self._store(before, step)
        counts = step.counts
        changes = (after.open_runs - before.open_runs, after.state_bytes - before.state_bytes)
        found = [*pack_results(rows), None]  # at least one row carries the counts
        yield _emitted(found[0], counts=(counts.rows, counts.late_rows, counts.matches, *changes))
        for pack in found[1:-1]:
            yield _emitted(pack)

    def _step(self, state: BucketState, arrived: pa.Table, watermark_us: int) -> BucketStep:
        return self.task.worker.advance(state, arrived, watermark_us)

    def _watermark_us(self, now: TimerValues) -> int:
        """Spark starts with a watermark of 0 that nothing has been said by: rows before 1970 aren't late for it."""
        from ostinato.kernels.constants import NO_TIME

        watermark_ms = now.getCurrentWatermarkInMs() if self.has_watermark else 0
        return watermark_ms * 1000 if watermark_ms > 0 else NO_TIME

    # --- state ---

    def _load(self) -> Stored:
        from ostinato.streams.bucket_state import EMPTY, BucketState, other_query

        kept = self._bucket.get()
        if kept is None:
            self._definition.update((self.task.definition,))
            return Stored(EMPTY, None, 0, 0)
        header, fingerprint, timer_ms, open_runs, state_bytes = kept
        if fingerprint != self.task.fingerprint:
            raise other_query(
                "its text, types, settings or buckets have changed, or a workload's names, sharing or ratios"
            )
        state = BucketState(bytes(header), _segments(self._open_rows), _segments(self._waiting))
        return Stored(state, timer_ms, open_runs, state_bytes)

    def _store(self, before: Stored, step: BucketStep) -> Stored:
        state = step.state
        _update(self._open_rows, before.state.open_rows, state.open_rows)
        _update(self._waiting, before.state.waiting, state.waiting)
        timer_ms = None if step.wake_at_us is None or not self.has_watermark else -(-step.wake_at_us // 1000)
        if timer_ms != before.timer_ms:
            if before.timer_ms is not None:
                self._handle.deleteTimer(before.timer_ms)
            if timer_ms is not None:
                self._handle.registerTimer(timer_ms)
        after = Stored(state, timer_ms, step.counts.open_runs, state.size)
        self._bucket.update((state.header, self.task.fingerprint, timer_ms, after.open_runs, after.state_bytes))
        return after


def _emitted(found: bytes | None = None, *, error: str | None = None, counts: tuple[int, ...] = ()) -> Row:
    values = (found, error, *(counts or (0,) * len(COUNTS)))
    return Row(**dict(zip(EMITTED.names, values, strict=True)))


def _segments(kept: ListState) -> tuple[bytes, ...]:
    return tuple(bytes(segment) for (segment,) in kept.get())


def _update(kept: ListState, before: tuple[bytes, ...], after: tuple[bytes, ...]) -> None:
    """Writes what is new: segments that only had others added behind them stay as they are."""
    if after == before:
        return
    if not after:
        kept.clear()
    elif before and after[: len(before)] == before:
        kept.appendList([(segment,) for segment in after[len(before) :]])
    else:
        kept.put([(segment,) for segment in after])
