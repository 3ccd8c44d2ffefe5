"""A step and what came of it -> what has to be remembered for the next, and how far results can be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.clause.matching.growths import ProbeMode
from ostinato.correlations.strategies.recent_buffer import Kept, Missing, at_change_of_time, rows_to_keep
from ostinato.correlations.strategies.result_order import Future, first_possible_start, future_of
from ostinato.correlations.strategies.sides import NO_TIME, Ints, Mask
from ostinato.correlations.strategies.step_matches import Outcome
from ostinato.correlations.strategies.steps import Step
from ostinato.correlations.task.correlation_intake import Intake, Pool
from ostinato.correlations.task.correlation_results import KEY
from ostinato.correlations.task.correlation_state import OFFSET, Marks, Remembered
from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.rows.matches import ranges

_EARLIEST = NO_TIME // 2
"""Earlier than any time, with room to subtract a region."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What may still come after a step."""

    future: Future
    unsearched_from: Ints
    """Of each key the archive's first row whose start isn't known."""
    open_starts: Ints
    first_possible: Ints
    """Of each key the start up to which no result to come would stand before those that are known."""


def outlook_of(
    task: CorrelationTask, step: Step, outcome: Outcome, known_until: int, missing: Missing, *, caches: bool
) -> Outlook:
    """`missing`: starts neither known nor at hand; `caches`: whether those that were searched are remembered."""
    times = step.archive.times
    future = future_of(times, step.base, task.region, _earliest_ends(task, step, outcome, known_until))
    if caches:
        unsearched, open_starts = outcome.searched_until, outcome.open_starts
    else:
        unsearched, open_starts = times.key_at[:-1], np.empty(0, np.int64)
    known = outcome.growths if caches else step.known
    first = first_possible_start(times, future, unsearched, open_starts, known, task.region, known_until)
    gone = missing.is_some & ~((missing.until <= future.time) & future.begins_at_hand)
    first = np.where(gone, np.minimum(first, missing.since), first)
    if task.live.clock.has_intervals:
        first = first - 1  # a live match to come may end before one that was given: results with that start wait too
    return Outlook(future, unsearched, open_starts, first)


def _earliest_ends(task: CorrelationTask, step: Step, outcome: Outcome, known_until: int) -> Ints:
    """Of each key the least end that a live match to come can have."""
    times = step.live.times
    result = np.full(times.keys, known_until + 1)
    row = step.live_end if task.modes.live is ProbeMode.INCREMENTAL else outcome.next_live_start
    at_hand = row < times.key_at[1:]
    result[at_hand] = np.minimum(result[at_hand], times.start[row[at_hand]])
    earliest: Ints = np.maximum(result, _EARLIEST)
    return earliest


@dataclass(frozen=True, slots=True)
class Memory:
    """What of the keys and rows stays."""

    keys: pa.RecordBatch | None
    marks: Marks
    live: pa.RecordBatch | None
    archive: pa.RecordBatch | None
    open_starts: pa.RecordBatch | None
    number_of_key: Ints
    """The new number of each key that stays; -1 for those that are forgotten."""
    buffered_rows: int

    def state(
        self, intake: Intake, cache: pa.RecordBatch | None, held: pa.RecordBatch | None, planner: dict[str, Any]
    ) -> Remembered:
        """All that is remembered; `cache` and `held` by the step's numbers of keys."""
        return Remembered(
            keys=self.keys,
            marks=self.marks,
            live=self.live,
            archive=self.archive,
            waiting_live=intake.waiting_live,
            waiting_archive=intake.waiting_archive,
            open_starts=self.open_starts,
            cache=_renumbered(cache, self.number_of_key),
            held=_renumbered(held, self.number_of_key),
            known_until=intake.known_until,
            planner=planner,
        )


def remember(
    task: CorrelationTask,
    intake: Intake,
    step: Step,
    outcome: Outcome,
    outlook: Outlook,
    recent_rows: int | None,
    numbered: Ints,
    others: Sequence[pa.RecordBatch | None],
) -> Memory:
    """`numbered`: how many live matches of each key are numbered; `others`: what else is remembered by key."""
    live, archive = step.live.times, step.archive.times
    kept = rows_to_keep(
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
        live_first, archive_first = _of_both(live_first, kept, step)
    else:
        archive_first = kept.first
    marks = _marks(task, step, outcome, outlook, kept, live_first, archive_first, numbered)
    stays = _keys_that_stay(task, marks, others)
    return Memory(
        keys=None if intake.keys is None else intake.keys.filter(pa.array(stays)),
        marks=marks.taken(stays),
        live=_kept_rows(intake.live, live_first),
        archive=None if task.shared else _kept_rows(intake.archive, archive_first),
        open_starts=_open_starts(outlook, archive_first, step, stays),
        number_of_key=np.where(stays, np.cumsum(stays) - 1, -1),
        buffered_rows=int((archive.key_at[1:] - kept.first).sum()),
    )


def _keys_that_stay(task: CorrelationTask, marks: Marks, others: Sequence[pa.RecordBatch | None]) -> Mask:
    """Those of which anything is remembered."""
    stays: Mask = (marks.live_rows > 0) | (marks.archive_rows > 0) | marks.missing.is_some
    for part in others:
        if part is not None:
            stays[np.asarray(part.column(KEY))] = True
    return stays if task.keys else np.ones_like(stays)


def _of_both(live_first: Ints, kept: Kept, step: Step) -> tuple[Ints, Ints]:
    """Of a table that is its own archive the rows that one of the sides needs; both are the last of their keys."""
    archive = step.archive.times
    live_end, archive_end = step.live.times.key_at[1:], archive.key_at[1:]
    count = np.maximum(live_end - live_first, archive_end - kept.first)
    timed = np.minimum(count, np.diff(archive.key_at))
    if kept.missing.is_some.any():
        timed = archive_end - at_change_of_time(archive, archive_end - timed)
        count = np.maximum(count, timed)
    return live_end - count, archive_end - timed


def _marks(
    task: CorrelationTask,
    step: Step,
    outcome: Outcome,
    outlook: Outlook,
    kept: Kept,
    live_first: Ints,
    archive_first: Ints,
    numbered: Ints,
) -> Marks:
    live, archive = step.live.times, step.archive.times
    given = step.live_end
    if task.modes.live is not ProbeMode.INCREMENTAL:
        given = step.given.copy()
        found = outcome.live_found
        if found is not None and len(found.start):
            np.maximum.at(given, live.key_of(found.start), found.start + 1)
    known_from = np.maximum(outlook.unsearched_from, outlook.future.row)
    return Marks(
        live_rows=live.key_at[1:] - live_first,
        live_start=outcome.next_live_start - live_first,
        live_given=np.maximum(given - live_first, 0),
        number=numbered,
        archive_rows=archive.key_at[1:] - archive_first,
        base=step.base + archive_first - archive.key_at[:-1],
        search_from=np.maximum(known_from - archive_first, 0),
        missing_since=kept.missing.since,
        missing_until=kept.missing.until,
    )


def _kept_rows(pool: Pool, first: Ints) -> pa.RecordBatch | None:
    if pool.rows is None:
        return None
    end = pool.key_at[1:]
    stay = ranges(first, end - first)
    return pool.rows.take(pa.array(stay)) if len(stay) else None


def _open_starts(outlook: Outlook, first: Ints, step: Step, stays: Mask) -> pa.RecordBatch | None:
    """Those that a live match to come can reach, and whose rows are at hand."""
    rows = outlook.open_starts
    key = step.archive.times.key_of(rows)
    wanted = (rows >= outlook.future.row[key]) & (rows >= first[key])
    rows, key = rows[wanted], key[wanted]
    if not len(rows):
        return None
    number = np.cumsum(stays) - 1
    return pa.RecordBatch.from_arrays([pa.array(number[key]), pa.array(rows - first[key])], names=[KEY, OFFSET])


def _renumbered(part: pa.RecordBatch | None, number_of_key: Ints) -> pa.RecordBatch | None:
    """The same rows by the new numbers of their keys."""
    if part is None:
        return None
    key = pa.array(number_of_key[np.asarray(part.column(KEY))])
    return part.set_column(0, part.schema.field(0), key)


def live_numbers(task: CorrelationTask, intake: Intake, step: Step, outcome: Outcome) -> tuple[Ints | None, Ints]:
    """MATCH_NUMBER() of each live match found, where it is asked for, and of the last one of each key."""
    before, found = intake.marks.number, outcome.live_found
    if not task.live.reads_number or found is None:
        return None, before
    times = step.live.times
    key, last = times.key_of(found.start), found.start + found.length
    incremental = task.modes.live is ProbeMode.INCREMENTAL
    new = last > step.given[key] if incremental else found.start >= step.given[key]
    places = np.flatnonzero(new)
    by = last if incremental else found.start
    order = places[np.lexsort((by[places], key[places]))]
    first = np.searchsorted(key[order], np.arange(times.keys))
    number = np.zeros(len(key), np.int64)
    number[order] = before[key[order]] + np.arange(len(order)) - first[key[order]] + 1
    return number, before + np.bincount(key[order], minlength=times.keys)
