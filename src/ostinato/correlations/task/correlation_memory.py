"""A step and its outcome -> the state for the next step, and how far results can be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.correlations.strategies.recent_buffer import BufferCut, Missing, at_change_of_time, rows_to_keep
from ostinato.correlations.strategies.result_order import Future, first_possible_start, future_of
from ostinato.correlations.strategies.sides import Ints, Mask
from ostinato.correlations.strategies.step_matches import StepOutcome
from ostinato.correlations.strategies.steps import StepInput
from ostinato.correlations.task.correlation_intake import KeyedRows, StepIntake
from ostinato.correlations.task.correlation_results import KEY
from ostinato.correlations.task.correlation_state import OFFSET, CorrelationState, Marks
from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.matches import ranges

_EARLIEST = NO_TIME // 2
"""Earlier than any time, with room to subtract a region."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """Bounds on later steps."""

    future: Future
    unsearched_from: Ints
    """For each key, the first archive row whose start isn't known."""
    open_starts: Ints
    first_possible: Ints
    """For each key: later results have no start before this one, so earlier results can be given."""


def outlook_of(
    task: CorrelationTask, step: StepInput, outcome: StepOutcome, known_until: int, missing: Missing, *, caches: bool
) -> Outlook:
    """`missing`: starts that are neither known nor in memory. `caches`: whether searched starts are remembered."""
    times = step.archive.times
    future = future_of(times, step.base, task.region, _earliest_ends(task, step, outcome, known_until))
    if caches:
        unsearched, open_starts = outcome.searched_until, outcome.open_starts
    else:
        unsearched, open_starts = times.key_at[:-1], np.empty(0, np.int64)
    growths = outcome.growths if caches else step.known_growths
    first = first_possible_start(times, future, unsearched, open_starts, growths, task.region, known_until)
    gone = missing.is_some & ~((missing.until <= future.time) & future.begins_at_hand)
    first = np.where(gone, np.minimum(first, missing.since), first)
    if task.live.time_columns.has_intervals:
        first = first - 1  # a later live match may end before an earlier one: results with that start wait, too
    return Outlook(future, unsearched, open_starts, first)


def _earliest_ends(task: CorrelationTask, step: StepInput, outcome: StepOutcome, known_until: int) -> Ints:
    """For each key, the earliest end that a later live match can have."""
    times = step.live.times
    result = np.full(times.keys, known_until + 1)
    row = step.live_end if task.live_is_incremental else outcome.next_live_start
    at_hand = row < times.key_at[1:]
    result[at_hand] = np.minimum(result[at_hand], times.start[row[at_hand]])
    earliest: Ints = np.maximum(result, _EARLIEST)
    return earliest


def next_change(
    task: CorrelationTask,
    live_within_us: int | None,
    step: StepInput,
    outcome: StepOutcome,
    outlook: Outlook,
    waiting_results: pa.RecordBatch | None,
    known_until: int,
) -> int | None:
    """The first watermark at which results may come even if no row does; None: only rows give results.

    It may be too early, and never is too late.
    """
    live = step.live.times
    moments: list[Ints] = []
    if waiting_results is not None and task.region.kind != "rows":  # the start that they wait for goes out of reach
        keys = np.unique(np.asarray(waiting_results.column(KEY)))
        moments.append(outlook.first_possible[keys] + int(task.region.size))
    if live_within_us is not None and not task.live_is_incremental and not task.live.rows_after:
        row = outcome.next_live_start
        moments.append(live.start[row[row < live.key_at[1:]]] + live_within_us)
    for times in (live, step.archive.times):  # an event with a duration isn't used before its end
        moments.append(times.end[times.end > known_until])
    return min((int(each.min()) for each in moments if len(each)), default=None)


@dataclass(frozen=True, slots=True)
class Memory:
    """The keys and rows that stay in memory."""

    keys: pa.RecordBatch | None
    marks: Marks
    live: pa.RecordBatch | None
    archive: pa.RecordBatch | None
    open_starts: pa.RecordBatch | None
    number_of_key: Ints
    """The new number of each key that stays; -1 for dropped keys."""
    buffered_rows: int

    def state(
        self,
        intake: StepIntake,
        cache: pa.RecordBatch | None,
        waiting_results: pa.RecordBatch | None,
        planner: dict[str, Any],
    ) -> CorrelationState:
        """The state for the next step. `cache` and `waiting_results` have the step's key numbers."""
        return CorrelationState(
            keys=self.keys,
            marks=self.marks,
            live=self.live,
            archive=self.archive,
            waiting_live=intake.waiting_live,
            waiting_archive=intake.waiting_archive,
            open_starts=self.open_starts,
            cache=_renumbered(cache, self.number_of_key),
            held=_renumbered(waiting_results, self.number_of_key),
            known_until=intake.known_until,
            planner=planner,
        )


def remember(
    task: CorrelationTask,
    intake: StepIntake,
    step: StepInput,
    outcome: StepOutcome,
    outlook: Outlook,
    recent_rows: int | None,
    numbered: Ints,
    others: Sequence[pa.RecordBatch | None],
) -> Memory:
    """`numbered`: number of numbered live matches of each key. `others`: other parts of the state that have keys."""
    live, archive = step.live.times, step.archive.times
    cut = rows_to_keep(
        archive,
        outlook.future,
        outlook.unsearched_from,
        outlook.open_starts,
        task.archive.rows_before,
        recent_rows,
        intake.marks.missing,
    )
    live_first = np.maximum(outcome.next_live_start - task.live.rows_before, live.key_at[:-1])
    if task.shared:
        live_first, archive_first = _first_rows_if_shared(live_first, cut, step)
    else:
        archive_first = cut.first
    marks = _marks(task, step, outcome, outlook, cut, live_first, archive_first, numbered)
    key_stays = _keys_that_stay(task, marks, others)
    return Memory(
        keys=None if intake.keys is None else intake.keys.filter(pa.array(key_stays)),
        marks=marks.taken(key_stays),
        live=_rows_from(intake.live, live_first),
        archive=None if task.shared else _rows_from(intake.archive, archive_first),
        open_starts=_open_starts(outlook, archive_first, step, key_stays),
        number_of_key=np.where(key_stays, np.cumsum(key_stays) - 1, -1),
        buffered_rows=int((archive.key_at[1:] - cut.first).sum()),
    )


def _keys_that_stay(task: CorrelationTask, marks: Marks, others: Sequence[pa.RecordBatch | None]) -> Mask:
    """Marks the keys that the state needs."""
    key_stays: Mask = (marks.live_rows > 0) | (marks.archive_rows > 0) | marks.missing.is_some
    for batch in others:
        if batch is not None:
            key_stays[np.asarray(batch.column(KEY))] = True
    return key_stays if task.keys else np.ones_like(key_stays)


def _first_rows_if_shared(live_first: Ints, cut: BufferCut, step: StepInput) -> tuple[Ints, Ints]:
    """For a table that is its own archive: the first rows that one of the sides needs. Both end with their key."""
    archive = step.archive.times
    live_end, archive_end = step.live.times.key_at[1:], archive.key_at[1:]
    count = np.maximum(live_end - live_first, archive_end - cut.first)
    timed = np.minimum(count, np.diff(archive.key_at))
    if cut.missing.is_some.any():
        timed = archive_end - at_change_of_time(archive, archive_end - timed)
        count = np.maximum(count, timed)
    return live_end - count, archive_end - timed


def _marks(
    task: CorrelationTask,
    step: StepInput,
    outcome: StepOutcome,
    outlook: Outlook,
    cut: BufferCut,
    live_first: Ints,
    archive_first: Ints,
    numbered: Ints,
) -> Marks:
    live, archive = step.live.times, step.archive.times
    reported_before = step.live_end
    if not task.live_is_incremental:
        reported_before = step.reported_before.copy()
        probe_matches = outcome.live_probe_matches
        if probe_matches is not None and len(probe_matches.start):
            np.maximum.at(reported_before, live.key_of(probe_matches.start), probe_matches.start + 1)
    known_from = np.maximum(outlook.unsearched_from, outlook.future.row)
    return Marks(
        live_rows=live.key_at[1:] - live_first,
        live_start=outcome.next_live_start - live_first,
        live_given=np.maximum(reported_before - live_first, 0),
        number=numbered,
        archive_rows=archive.key_at[1:] - archive_first,
        base=step.base + archive_first - archive.key_at[:-1],
        search_from=np.maximum(known_from - archive_first, 0),
        missing_since=cut.missing.since,
        missing_until=cut.missing.until,
    )


def _rows_from(pool: KeyedRows, first: Ints) -> pa.RecordBatch | None:
    if pool.rows is None:
        return None
    end = pool.key_at[1:]
    stay = ranges(first, end - first)
    return pool.rows.take(pa.array(stay)) if len(stay) else None


def _open_starts(outlook: Outlook, first: Ints, step: StepInput, key_stays: Mask) -> pa.RecordBatch | None:
    """The open starts that a later live match can reach and whose rows are in memory."""
    rows = outlook.open_starts
    key = step.archive.times.key_of(rows)
    wanted = (rows >= outlook.future.row[key]) & (rows >= first[key])
    rows, key = rows[wanted], key[wanted]
    if not len(rows):
        return None
    number = np.cumsum(key_stays) - 1
    return pa.RecordBatch.from_arrays([pa.array(number[key]), pa.array(rows - first[key])], names=[KEY, OFFSET])


def _renumbered(batch: pa.RecordBatch | None, number_of_key: Ints) -> pa.RecordBatch | None:
    """The same rows with the new numbers of their keys."""
    if batch is None:
        return None
    key = pa.array(number_of_key[np.asarray(batch.column(KEY))])
    return batch.set_column(0, batch.schema.field(0), key)


def live_numbers(
    task: CorrelationTask, intake: StepIntake, step: StepInput, outcome: StepOutcome
) -> tuple[Ints | None, Ints]:
    """MATCH_NUMBER() of each live match, if the query reads it, and of the last one of each key."""
    before, probe_matches = intake.marks.number, outcome.live_probe_matches
    if not task.live.reads_number or probe_matches is None:
        return None, before
    times = step.live.times
    key, last = times.key_of(probe_matches.start), probe_matches.start + probe_matches.length
    incremental = task.live_is_incremental
    reported_before = step.reported_before[key]
    new = last > reported_before if incremental else probe_matches.start >= reported_before
    chosen = np.flatnonzero(new)
    by = last if incremental else probe_matches.start
    order = chosen[np.lexsort((by[chosen], key[chosen]))]
    first = np.searchsorted(key[order], np.arange(times.keys))
    number = np.zeros(len(key), np.int64)
    number[order] = before[key[order]] + np.arange(len(order)) - first[key[order]] + 1
    return number, before + np.bincount(key[order], minlength=times.keys)
