"""Waiting rows + arriving rows + watermark -> late rows, rows to match now, rows that go on waiting. No keys here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.kernels.constants import NO_TIME
from ostinato.rows.times import microseconds_of
from ostinato.streams.bucket_state import (
    BucketState,
    OpenBucket,
    RememberedKeys,
    check_columns,
    read_header,
    read_rows,
    segments_of,
)
from ostinato.streams.record_batches import as_batch, joined, split
from ostinato.streams.stored_segments import with_segments
from ostinato.streams.stored_state import Section, check

Times = NDArray[np.int64]
_LATEST = np.iinfo(np.int64).max
MOST_SEGMENTS = 16
"""Waiting rows in more segments than this are joined into one: reading many small segments costs more."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The rows of one step; None where there are no rows."""

    arrived: int
    late: pa.RecordBatch | None
    released: pa.RecordBatch | None
    waiting: Sequence[bytes]
    waiting_rows: int
    waiting_from: int | None
    """The earliest time of the waiting rows."""
    known_until: int
    """Later rows have later times than this, or are late."""
    latest: int
    """The latest time among the released rows, or NO_TIME."""

    @property
    def late_rows(self) -> int:
        return 0 if self.late is None else self.late.num_rows

    def decided_us(self, *, finished: bool) -> int:
        """Decision time of the released rows: after the watermark, and at the end of input after the last row."""
        until = self.known_until + 1
        return max(until, self.latest + 1) if finished else until


class BucketIntake(NamedTuple):
    """A bucket's header as written (None: there was none), the time up to which rows were known, and the intake."""

    header: pa.RecordBatch | None
    known_until: int
    intake: Intake


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides by the time of a row whether it is late, released or goes on waiting."""

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

    def open_bucket(
        self, state: BucketState, query: str, arrived: pa.Table | None, watermark_us: int, *, finished: bool
    ) -> BucketIntake:
        """For buckets with a header of their own, without keys; raises as `read_header` does."""
        header, known_until = read_header(state, query)
        opened = OpenBucket(RememberedKeys.new(0), known_until, None, read_rows(state.waiting, Section.WAITING_ROWS))
        return BucketIntake(header, known_until, self.take_in(state, opened, arrived, watermark_us, finished=finished))

    def take_in(
        self, state: BucketState, before: OpenBucket, arrived: pa.Table | None, watermark_us: int, *, finished: bool
    ) -> Intake:
        """Sorts the rows of one step. A row without a time is late, because its position is unknown."""
        rows = None if arrived is None else as_batch(arrived)
        check_columns(before, rows)
        times = self.times(rows)
        is_late = times <= before.known_until
        late, fresh = split(rows, is_late)
        fresh_times, held_times = times[~is_late], self.times(before.waiting)
        check((held_times > before.known_until).all(), "a segment of waiting rows", "its rows had to wait no longer")
        known_until = self._known_until(before, fresh_times, watermark_us)
        latest_to_go = _LATEST if finished or self.eager else known_until
        fresh_goes, held_goes = fresh_times <= latest_to_go, held_times <= latest_to_go
        fresh_released, fresh_rest = split(fresh, fresh_goes)
        held_released, held_rest = split(before.waiting, held_goes)
        waiting_times = np.concatenate([held_times[~held_goes], fresh_times[~fresh_goes]])
        released_times = np.concatenate([held_times[held_goes], fresh_times[fresh_goes]])
        if not held_goes.any() and len(state.waiting) < MOST_SEGMENTS:
            segments = with_segments(state.waiting, segments_of(fresh_rest, Section.WAITING_ROWS))
        else:
            segments = segments_of(joined([held_rest, fresh_rest]), Section.WAITING_ROWS)
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

    def _known_until(self, before: OpenBucket, fresh: Times, watermark_us: int) -> int:
        if not self.eager:
            return max(before.known_until, watermark_us)
        # Rows arrive in the order of their times, but several may have the same time.
        return max(before.known_until, watermark_us - 1, int(fresh.max(initial=NO_TIME + 1)) - 1)
