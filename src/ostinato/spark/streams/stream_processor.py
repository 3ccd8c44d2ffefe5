"""One bucket of keys inside transformWithState: loads its state, advances the core, stores, sets a timer, emits."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import Row
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.errors import carried
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.spark.shipping.worker_check import Rebuilt, Reduced
from ostinato.spark.streams.bucket_store import BucketStore, StoredBucket
from ostinato.spark.streams.portable_processor import RecordingHandle, processor_or_stand_in
from ostinato.spark.streams.stream_packing import pack_results, unpack_table
from ostinato.spark.streams.stream_task import BucketTask, with_changes
from ostinato.streams.bucket_state import BucketState
from ostinato.streams.step import GAUGES

if TYPE_CHECKING:
    from ostinato.streams.step import Step

RESULTS = f"{PREFIX}results"
COUNTS = (
    "rows",
    "late_rows",
    "matches",
    "forgotten_keys",
    "state_bytes_change",
    *(f"{gauge}_change" for gauge in GAUGES),
)
"""The counts that each bucket reports for a batch. They are added up."""
EMITTED = s.StructType(
    [
        s.StructField(RESULTS, s.BinaryType()),
        s.StructField(ERROR, s.StringType()),
        *(s.StructField(f"{PREFIX}{name}", s.LongType()) for name in COUNTS),
    ]
)

DETAILS = f"{PREFIX}details"
"""A column that some processors add: what a bucket reports for a batch beyond counts, as one line of JSON."""


class BucketProcessor(StatefulProcessor):
    """Moves bytes between Spark's state store and the core, which does the matching."""

    emitted: ClassVar[s.StructType] = EMITTED

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
        self._stored = BucketStore(handle, has_timers=self.has_watermark)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: TimerValues) -> None:
        """A bucket of `history_states`, before its first rows."""
        _, header, open_rows, waiting, wake_at_us = initialState
        state = BucketState(bytes(header), tuple(map(bytes, open_rows)), tuple(map(bytes, waiting)))
        self._stored.begin(self.task.definition, state, wake_at_us)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        arrived = unpack_table((row[1] for row in rows), self.task.shipped)
        return self._advance(arrived, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        return self._advance(self.task.shipped.empty_table(), timerValues, timer_fired=True)

    def _advance(self, arrived: pa.Table, now: TimerValues, *, timer_fired: bool = False, **more: Any) -> Iterator[Row]:
        """Loads, advances, stores and emits. `more` is for the `_step` of a subclass."""
        try:
            before = self._stored.load(self.task.definition)
            advance = functools.partial(self._step, arrived=arrived, watermark_us=self._watermark_us(now), **more)
            step, is_changed = with_changes(self.task, advance, before.state, self._stored.stored_definition)
            rows = self.task.rows(step.results)
        except Exception as error:  # sent as a row: Spark would wrap an exception in a Python traceback
            yield self._emitted(error=carried(ours_or_raise(error)))
            return
        if is_changed:
            self._stored.store_definition(self.task.definition)
        after = self._store(before, step, timer_fired=timer_fired)
        counts = step.counts
        changes = [
            after.state_bytes - before.state_bytes,
            *(now - then for now, then in zip(after.gauges, before.gauges, strict=True)),
        ]
        packs = [*pack_results(rows), None]  # at least one row carries the counts
        reported = (counts.rows, counts.late_rows, counts.matches, counts.forgotten_keys, *changes)
        yield self._emitted(packs[0], counts=reported, details=self._details(step))
        for pack in packs[1:-1]:
            yield self._emitted(pack)

    def _step(self, state: BucketState, arrived: pa.Table, watermark_us: int, **more: Any) -> Step[Any]:
        step: Step[Any] = self.task.worker.advance(state, arrived, watermark_us, **more)
        return step

    def _details(self, step: Step[Any]) -> str | None:
        """For a processor whose `emitted` has DETAILS."""
        return None

    def _emitted(
        self,
        pack: bytes | None = None,
        *,
        error: str | None = None,
        counts: tuple[int, ...] = (0,) * len(COUNTS),
        details: str | None = None,
    ) -> Row:
        more = (details,) if DETAILS in self.emitted.names else ()
        return Row(**dict(zip(self.emitted.names, (pack, error, *counts, *more), strict=True)))

    def _watermark_us(self, now: TimerValues) -> int:
        """Spark's first watermark is 0, before any row arrived. It makes no row late, so it counts as NO_TIME."""
        watermark_ms = now.getCurrentWatermarkInMs() if self.has_watermark else 0
        return watermark_ms * 1000 if watermark_ms > 0 else NO_TIME

    def _store(self, before: StoredBucket, step: Step[Any], *, timer_fired: bool) -> StoredBucket:
        return self._stored.store(before, step, timer_fired=timer_fired)
