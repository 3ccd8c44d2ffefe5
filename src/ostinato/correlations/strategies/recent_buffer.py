"""The recent buffer: the archive rows that stay in memory (DejaVu, section 4.2).

With the result cache, the buffer holds the rows behind the last start that was searched, and those of starts whose
matches may still grow. Without it, the buffer holds the whole region of later live matches. If the buffer has a
capacity, its oldest rows are dropped; a region that needs them is read from the archive again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ostinato.correlations.strategies.result_order import Future
from ostinato.correlations.strategies.sides import Ints, Mask, RowTimes

NOTHING_MISSING = np.iinfo(np.int64).max


class Missing(NamedTuple):
    """For each key, the starts that weren't searched and lack rows: those with `since` <= time < `until`.

    `since` is NOTHING_MISSING for keys that lack nothing.
    """

    since: Ints
    until: Ints

    @property
    def is_some(self) -> Mask:
        """Whether each key lacks anything."""
        return self.since < self.until


class BufferCut(NamedTuple):
    """For each key, the first row that stays, and the dropped starts that may still be needed."""

    first: Ints
    missing: Missing


def rows_to_keep(
    times: RowTimes,
    future: Future,
    unsearched_from: Ints,
    open_starts: Ints,
    before: int,
    capacity: int | None,
    missing: Missing,
) -> BufferCut:
    """`before`: number of rows before a start that conditions and measures read. `missing`: starts dropped earlier."""
    begin, end = times.key_at[:-1], times.key_at[1:]
    needed = np.minimum(np.maximum(unsearched_from, future.row), end)
    key = times.key_of(open_starts)
    still = open_starts >= future.row[key]
    np.minimum.at(needed, key[still], open_starts[still])
    first = future.rows_before(needed, before, begin) if before else needed
    first = np.minimum(first, future.counted_from)
    is_past = (missing.until <= future.time) & future.begins_at_hand
    missing = Missing(np.where(is_past, NOTHING_MISSING, missing.since), missing.until)
    if missing.is_some.any():
        first = np.where(missing.is_some, at_change_of_time(times, first), first)
    if capacity is None:
        return BufferCut(first, missing)
    cut = at_change_of_time(times, np.clip(end - capacity - before, first, future.counted_from))
    first_start = np.minimum(cut + before, end)  # the first start with all its rows
    loses = (cut > first) & (needed < first_start)
    since, until = missing.since.copy(), missing.until.copy()
    since[loses] = np.minimum(since[loses], times.start[needed[loses]])
    until[loses] = times.start[first_start[loses] - 1] + 1
    return BufferCut(np.where(loses, cut, first), Missing(since, until))


def at_change_of_time(times: RowTimes, rows: Ints) -> Ints:
    """Moves each row to the first one with the same time: rows of one time are read back together."""
    inside = rows < times.key_at[1:]
    result = rows.copy()
    keys = np.flatnonzero(inside)
    result[keys] = np.maximum(times.first_at_least(times.start, keys, times.start[rows[keys]]), times.key_at[keys])
    return result
