"""Taken-in rows -> the input of a step; many rows -> several steps, by time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.matching.growths import ProbeMode
from ostinato.correlations.strategies.sides import Ints, RowTimes, first_longer
from ostinato.correlations.strategies.step_matches import Modes
from ostinato.correlations.strategies.steps import CodesOfValues, StepInput
from ostinato.correlations.task.correlation_intake import StepIntake
from ostinato.correlations.task.correlation_state import CorrelationState
from ostinato.correlations.task.correlation_task import CorrelationTask, SideTask
from ostinato.correlations.task.result_cache import cached_growths
from ostinato.correlations.task.side_rows import SideWorker, WindowSide
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.record_batches import as_batch


class Sides(NamedTuple):
    """The rows of both sides, ready to be searched."""

    live: WindowSide
    archive: WindowSide


def step_of(
    task: CorrelationTask,
    before: CorrelationState,
    intake: StepIntake,
    sides: Sides,
    codes: CodesOfValues | None,
    *,
    finished: bool,
) -> StepInput:
    """The input of a step: its rows, with the state about them."""
    marks = intake.marks
    live_at, archive_at = sides.live.times.key_at, sides.archive.times.key_at
    first_start = live_at[:-1] + marks.live_start
    until = None if finished else intake.known_until
    live_end = _consumable(sides.live, task.live, until, first_start)
    archive_end = _consumable(sides.archive, task.archive, until, archive_at[:-1])
    for side, end in ((sides.live, live_end), (sides.archive, archive_end)):
        side.known_until = min(side.known_until, _before_waiting(side.times, end))
        side.decided_until = end
    return StepInput(
        live=sides.live,
        archive=sides.archive,
        region=task.region,
        modes=_modes(task),
        first_live_start=first_start,
        reported_before=live_at[:-1] + marks.live_given,
        live_end=live_end,
        live_ends_rise=not sides.live.times.keys_with_late_ends().any(),
        search_from=np.minimum(archive_at[:-1] + marks.search_from, archive_at[1:]),
        reopened=_reopened(before, intake, archive_at),
        archive_end=archive_end,
        base=marks.base,
        known_growths=cached_growths(before.cache),
        finished=finished,
        codes=codes,
    )


def _modes(task: CorrelationTask) -> Modes:
    maximal = task.archive_is_maximal
    return Modes(
        live=ProbeMode.INCREMENTAL if task.live_is_incremental else ProbeMode.CHAINED,
        growing=ProbeMode.GROWING if maximal else ProbeMode.RECORDS,
        as_of=ProbeMode.MAXIMAL if maximal else ProbeMode.PREFERRED,
    )


def _consumable(side: WindowSide, task: SideTask, known_until: int | None, start: Ints) -> Ints:
    """For each key, the row before which rows may be consumed. Rows that end after `known_until` wait; None: none."""
    end = side.times.key_at[1:]
    if known_until is None:
        return end
    if task.time_columns.has_intervals:
        end = first_longer(side.times, known_until)
    return np.maximum(end - task.rows_after, np.minimum(start, end))


def _before_waiting(times: RowTimes, end: Ints) -> int:
    """The time before the first row that waits. Rows in later steps are later than this."""
    waiting = end[end < times.key_at[1:]]
    return max(int(times.start[waiting].min(initial=np.iinfo(np.int64).max)) - 1, NO_TIME)


def _reopened(before: CorrelationState, intake: StepIntake, archive_at: Ints) -> Ints:
    """The archive rows whose starts were open after the last step."""
    if before.open_starts is None:
        return np.empty(0, np.int64)
    key, offset = (np.asarray(column) for column in before.open_starts.columns)
    read_back = before.marks.base - intake.marks.base[: len(before.marks.base)]
    rows: Ints = archive_at[key] + offset + read_back[key]
    return rows


# --- many rows --------------------------------------------------------------------------------------------------------


class StepRows(NamedTuple):
    """The rows of one step, and its watermark."""

    live: pa.Table | None
    archive: pa.Table | None
    watermark: int
    finished: bool


def in_steps(sides: tuple[SideWorker, SideWorker], all_rows: StepRows, step_rows: int) -> Iterator[StepRows]:
    """Splits rows into steps of about `step_rows` live rows, by time. Rows of one time stay in one step."""
    count = 0 if all_rows.live is None else all_rows.live.num_rows
    if all_rows.live is None or count <= step_rows:
        yield all_rows
        return
    live = _ByTime.of(sides[0], all_rows.live)
    archive = None if all_rows.archive is None else _ByTime.of(sides[1], all_rows.archive)
    if not all_rows.finished:
        count = live.before(all_rows.watermark)
    at = 0
    while at + step_rows < count:
        watermark = int(live.times[at + step_rows - 1])
        end = live.before(watermark)
        if end >= count:
            break
        others = None if archive is None else archive.next(watermark)
        yield StepRows(live.next(watermark), others, watermark, False)
        at = end
    yield StepRows(live.rest(), None if archive is None else archive.rest(), all_rows.watermark, all_rows.finished)


class _ByTime:
    """Rows ordered by time, handed out from the front."""

    def __init__(self, times: Ints, rows: pa.Table) -> None:
        self.times = times
        self.rows = rows
        self.at = 0

    @staticmethod
    def of(side: SideWorker, rows: pa.Table) -> _ByTime:
        times = side.times_of(as_batch(rows))[0]
        if (times[1:] >= times[:-1]).all():
            return _ByTime(times, rows)
        order = np.argsort(times, kind="stable")
        return _ByTime(times[order], rows.take(pa.array(order)))

    def before(self, watermark: int) -> int:
        """Number of rows with a time up to the watermark."""
        return int(np.searchsorted(self.times, watermark, side="right"))

    def next(self, watermark: int) -> pa.Table:
        begin, self.at = self.at, self.before(watermark)
        return self.rows.slice(begin, self.at - begin)

    def rest(self) -> pa.Table:
        return self.rows.slice(self.at)
