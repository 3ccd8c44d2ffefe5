"""What waits and what arrives -> late rows, rows to match now, rows that go on waiting. Keys don't matter here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.matching.search import NO_TIME
from ostinato.runtimes.task.columns import microseconds_of
from ostinato.runtimes.task.stream_batches import as_batch, joined, segments_of, split
from ostinato.runtimes.task.stream_state import BucketState, Opened, check_columns

Times = NDArray[np.int64]
_LATEST = np.iinfo(np.int64).max
MOST_SEGMENTS = 16
"""Waiting rows in more segments than this are put into one: reading many small ones costs more."""


@dataclass(frozen=True, slots=True)
class Intake:
    """None where there are no rows."""

    arrived: int
    late: pa.RecordBatch | None
    released: pa.RecordBatch | None
    waiting: tuple[bytes, ...]
    waiting_rows: int
    waiting_from: int | None
    """The earliest time among them."""
    known_until: int
    """Rows that come are later than this, or late."""
    latest: int
    """The latest time among the released rows, or NO_TIME."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides by its time what becomes of a row."""

    time_column: str
    eager: bool = False

    def times(self, rows: pa.RecordBatch | None) -> Times:
        """Microseconds; NO_TIME where the time is NULL."""
        if rows is None:
            return np.empty(0, np.int64)
        array = rows.column(self.time_column)
        if not array.null_count and pa.types.is_timestamp(array.type):  # the usual case, without a copy
            return np.asarray(array.view(pa.int64()))
        return microseconds_of(array)

    def take_in(
        self, state: BucketState, before: Opened, arrived: pa.Table | None, watermark_us: int, *, finished: bool
    ) -> Intake:
        """A row without a time is late: nobody knows where it belongs."""
        rows = None if arrived is None else as_batch(arrived)
        check_columns(before, rows)
        times = self.times(rows)
        is_late = times <= before.known_until
        late, fresh = split(rows, is_late)
        fresh_times, held_times = times[~is_late], self.times(before.waiting)
        known_until = self._known_until(before, fresh_times, watermark_us)
        latest_to_go = _LATEST if finished or self.eager else known_until
        fresh_goes, held_goes = fresh_times <= latest_to_go, held_times <= latest_to_go
        fresh_released, fresh_rest = split(fresh, fresh_goes)
        held_released, held_rest = split(before.waiting, held_goes)
        waiting_times = np.concatenate([held_times[~held_goes], fresh_times[~fresh_goes]])
        released_times = np.concatenate([held_times[held_goes], fresh_times[fresh_goes]])
        if not held_goes.any() and len(state.waiting) < MOST_SEGMENTS:
            segments = state.waiting + segments_of(fresh_rest)
        else:
            segments = segments_of(joined([held_rest, fresh_rest]))
        return Intake(
            arrived=len(times),
            late=late,
            released=joined([held_released, fresh_released]),
            waiting=segments,
            waiting_rows=len(waiting_times),
            waiting_from=int(waiting_times.min()) if len(waiting_times) else None,
            known_until=known_until,
            latest=int(released_times.max(initial=NO_TIME)),
        )

    def _known_until(self, before: Opened, fresh: Times, watermark_us: int) -> int:
        if not self.eager:
            return max(before.known_until, watermark_us)
        # Rows come in the order of their times over the whole stream, but several may have the same.
        return max(before.known_until, watermark_us - 1, int(fresh.max(initial=NO_TIME + 1)) - 1)
