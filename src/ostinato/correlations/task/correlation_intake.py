"""State + arriving rows -> the released rows of both sides, ordered by key, and the rows that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.correlations.strategies.recent_buffer import NOTHING_MISSING
from ostinato.correlations.strategies.sides import Ints, Mask
from ostinato.correlations.task.correlation_state import CorrelationState, Marks
from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.correlations.task.side_rows import SideWorker
from ostinato.expressions.values.value_order import group_numbers
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.record_batches import as_batch, joined, split

_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows in matching order. Key k has the rows `key_at[k]:key_at[k + 1]`."""

    rows: pa.RecordBatch | None
    key_at: Ints


@dataclass(frozen=True, slots=True)
class StepIntake:
    """The rows of a step. Keys are numbered; keys of the state come first."""

    arrived: int
    late: int
    late_archive: int
    """Late rows of a separate archive table."""
    keys: pa.RecordBatch | None
    marks: Marks
    """Offsets count from the first rows that are in memory now."""
    live: KeyedRows
    archive: KeyedRows
    waiting_live: pa.RecordBatch | None
    waiting_archive: pa.RecordBatch | None
    known_until: int


@dataclass(frozen=True, slots=True)
class _Released:
    rows: pa.RecordBatch | None
    waiting: pa.RecordBatch | None
    arrived: int = 0
    late: int = 0


class RowIntake:
    """Takes rows in for one correlation."""

    def __init__(self, task: CorrelationTask, live: SideWorker, archive: SideWorker) -> None:
        self.task = task
        self.live = live
        self.archive = archive
        self.live_keys = [task.live.arriving(name) for name, _ in task.keys]
        self.archive_keys = [task.archive.arriving(name) for _, name in task.keys]

    def take_in(
        self,
        before: CorrelationState,
        live: pa.Table | None,
        archive: pa.Table | None,
        history: pa.Table | None,
        watermark_us: int,
        *,
        finished: bool,
    ) -> StepIntake:
        """Releases rows up to the watermark. Later rows wait. Late rows are dropped and counted."""
        known_until = max(before.known_until, watermark_us)
        until = _LATEST if finished else known_until
        new_live = self._released(before.known_until, before.waiting_live, live, self.live, self.live_keys, until)
        others = self.archive, self.archive_keys
        new_archive = self._released(before.known_until, before.waiting_archive, archive, *others, until)
        read = self._complete(None if history is None else as_batch(history), *others)
        in_live, in_archive = new_live.rows, [self._complete(new_archive.rows, *others), read]
        keys, numbers = self._keys(before, in_live, in_archive)
        count = 1 if not self.live_keys else max(len(before.marks.base), 0 if keys is None else keys.num_rows)
        marks = before.marks
        fresh = Marks.new(count - len(marks.base), has_history=self.task.has_history)
        marks = marks.followed_by(fresh)
        both, marks = self._sorted_sides(before, marks, in_live, in_archive, numbers)
        return StepIntake(
            arrived=new_live.arrived + new_archive.arrived,
            late=new_live.late + new_archive.late,
            late_archive=new_archive.late,
            keys=keys,
            marks=marks,
            live=both[0],
            archive=both[1],
            waiting_live=new_live.waiting,
            waiting_archive=new_archive.waiting,
            known_until=known_until,
        )

    def _released(
        self,
        known_until: int,
        waiting: pa.RecordBatch | None,
        arrived: pa.Table | None,
        side: SideWorker,
        keys: Sequence[str],
        until: int,
    ) -> _Released:
        rows = None if arrived is None else as_batch(arrived)
        count, late = 0, 0
        if rows is not None:
            count = rows.num_rows
            is_late = side.times_of(rows)[0] <= known_until
            if known_until == NO_TIME:  # before the first results, rows without a time are in time
                is_late[:] = False
            late = int(is_late.sum())
            _, rows = split(rows, is_late)
            rows = _with_keys(rows, keys)
        candidates = joined([waiting, rows])
        if candidates is None:
            return _Released(None, None, count, late)
        is_released = side.times_of(candidates)[0] <= until
        released, rest = split(candidates, is_released)
        return _Released(released, rest, count, late)

    def _complete(self, rows: pa.RecordBatch | None, side: SideWorker, keys: Sequence[str]) -> pa.RecordBatch | None:
        """The archive rows with a time and a key. The others belong to no archive or join nothing."""
        if rows is None:
            return None
        timed, _ = split(rows, side.times_of(rows)[0] != NO_TIME)
        return _with_keys(timed, keys)

    # --- keys ---

    def _keys(
        self, before: CorrelationState, live: pa.RecordBatch | None, archive: Sequence[pa.RecordBatch | None]
    ) -> tuple[pa.RecordBatch | None, list[Ints]]:
        """All keys, and for each new row the number of its key: live rows first, then archive rows."""
        batches = [(live, self.live_keys), *((rows, self.archive_keys) for rows in archive)]
        if not self.live_keys:
            return None, [np.zeros(0 if rows is None else rows.num_rows, np.int64) for rows, _ in batches]
        named = [None if rows is None else rows.select(names) for rows, names in batches]
        renamed = [None if rows is None else rows.rename_columns(self.live_keys) for rows in named]
        all_keys = joined([before.keys, *renamed])
        if all_keys is None:
            return None, [np.empty(0, np.int64) for _ in batches]
        numbers = group_numbers(all_keys.num_rows, all_keys.columns)
        _, first = np.unique(numbers, return_index=True)
        at = 0 if before.keys is None else before.keys.num_rows
        numbers_of_batches = []
        for rows in renamed:
            count = 0 if rows is None else rows.num_rows
            numbers_of_batches.append(numbers[at : at + count])
            at += count
        return all_keys.take(pa.array(first)), numbers_of_batches

    # --- rows ---

    def _sorted_sides(
        self,
        before: CorrelationState,
        marks: Marks,
        live: pa.RecordBatch | None,
        archive: Sequence[pa.RecordBatch | None],
        numbers: Sequence[Ints],
    ) -> tuple[tuple[KeyedRows, KeyedRows], Marks]:
        count = len(marks.base)
        read = np.bincount(numbers[2], minlength=count)
        if self.task.shared:
            rows_by_key = self._sorted_rows(
                self.live, [before.live, live, archive[1]], [marks.live_rows, *numbers[::2]], count
            )
            marks = marks._replace(live_start=marks.live_start + read, live_given=marks.live_given + read)
            own = self._timed(rows_by_key)
        else:
            rows_by_key = self._sorted_rows(self.live, [before.live, live], [marks.live_rows, numbers[0]], count)
            batches = [before.archive, *archive]
            own = self._sorted_rows(self.archive, batches, [marks.archive_rows, *numbers[1:]], count)
        return (rows_by_key, own), self._bounded(self._with_read(marks, read, own), own)

    def _with_read(self, marks: Marks, read: Ints, archive: KeyedRows) -> Marks:
        """Rows that were read back, and all rows behind them, are searched again."""
        reread_keys = np.flatnonzero(read)
        marks = marks._replace(base=marks.base - read)
        if not len(reread_keys) or archive.rows is None:
            return marks
        search_from, since = marks.search_from.copy(), marks.missing_since.copy()
        starts = self.archive.times_of(archive.rows)[0]
        for key in reread_keys:  # few keys: those whose region reached beyond the buffer
            own = starts[archive.key_at[key] : archive.key_at[key + 1]]
            search_from[key] = np.searchsorted(own, since[key])
            since[key] = NOTHING_MISSING
        return marks._replace(search_from=search_from, missing_since=since)

    def _bounded(self, marks: Marks, archive: KeyedRows) -> Marks:
        """New keys that may have a history lack the rows before their first one."""
        before = self.task.archive.rows_before
        first, end = archive.key_at[:-1], archive.key_at[1:]
        new = marks.missing.is_some & (marks.missing_until == NOTHING_MISSING) & (first + max(before, 1) <= end)
        if archive.rows is None or not new.any():
            return marks
        starts, until = self.archive.times_of(archive.rows)[0], marks.missing_until.copy()
        until[new] = starts[first[new] + before - 1] + 1 if before else starts[first[new]]
        return marks._replace(missing_until=until)

    def _sorted_rows(
        self, side: SideWorker, batches: Sequence[pa.RecordBatch | None], numbers: Sequence[Ints], count: int
    ) -> KeyedRows:
        """`numbers`: number of rows of each key in the first batch, then the key of each row of the other batches."""
        rows_of_key, *others = numbers
        rows = joined(batches)
        if rows is None:
            return KeyedRows(None, np.zeros(count + 1, np.int64))
        key = np.concatenate([np.repeat(np.arange(len(rows_of_key)), rows_of_key), *others])
        order = side.in_order(rows, key)
        if order is not None:
            rows, key = rows.take(pa.array(order)), key[order]
        return KeyedRows(rows, np.searchsorted(key, np.arange(count + 1)))

    def _timed(self, rows_by_key: KeyedRows) -> KeyedRows:
        """The archive rows of a table that is its own archive: those with a time."""
        if rows_by_key.rows is None:
            return rows_by_key
        timed: Mask = self.archive.times_of(rows_by_key.rows)[0] != NO_TIME
        if timed.all():
            return rows_by_key
        before = np.concatenate(([0], np.cumsum(timed)))
        return KeyedRows(rows_by_key.rows.filter(pa.array(timed)), before[rows_by_key.key_at])


def _with_keys(rows: pa.RecordBatch | None, keys: Sequence[str]) -> pa.RecordBatch | None:
    """The rows without NULL in their key. NULL equals nothing, so other rows join nothing."""
    if rows is None:
        return None
    is_null: NDArray[np.bool_] = np.zeros(rows.num_rows, np.bool_)
    for name in keys:
        if rows.column(name).null_count:
            is_null |= np.asarray(rows.column(name).is_null())
    return split(rows, ~is_null)[0]
