"""Bounds on later live matches -> which results can be given now, and which archive matches are still needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.sides import Ints, Mask, RowTimes
from ostinato.correlations.strategies.step_matches import Growths
from ostinato.kernels.kernel_arrays import for_kernels
from ostinato.kernels.kernel_cache import kernel


@dataclass(frozen=True, slots=True)
class Future:
    """For each key, the earliest archive start that a later live match can reach. Bounds are inclusive."""

    row: Ints
    """The bound as a row in memory."""
    time: Ints
    """The bound as a time; for regions by rows, the time of that row if it is in memory."""
    position: Ints
    begins_at_hand: Mask
    """Whether a bound by rows lies inside the rows in memory. Always true for bounds by time."""
    counted_from: Ints
    """Regions by rows: the first row that some later live match doesn't see. Rows are counted up to there."""
    seen_before: Ints
    """For each row in memory, the number of rows before it that all later live matches see."""

    def rows_before(self, rows: Ints, count: int, first: Ints) -> Ints:
        """The first row such that `count` rows seen by all later live matches lie between it and each row."""
        return np.clip(np.searchsorted(self.seen_before, self.seen_before[rows] - count, side="right") - 1, first, rows)

    def is_reached(self, key: Ints, start: Ints, position: Ints, region: Region) -> Mask:
        """Whether a later live match can still join matches with these starts."""
        return position >= self.position[key] if region.kind == "rows" else start >= self.time[key]


def future_of(times: RowTimes, base: Ints, region: Region, earliest_end: Ints) -> Future:
    """`earliest_end`: for each key, the earliest end that a later live match can have."""
    keys = np.arange(times.keys)
    first = times.key_at[:-1]
    is_seen = times.end < np.repeat(earliest_end, np.diff(times.key_at))
    seen_before = np.concatenate(([0], np.cumsum(is_seen)))
    counted = times.key_at[1:].copy()
    if region.kind != "rows":
        time = earliest_end - int(region.size)
        row = times.first_at_least(times.start, keys, time)
        return Future(row, time, row - first + base, np.ones(times.keys, np.bool_), counted, seen_before)
    unseen = np.flatnonzero(~is_seen)
    np.minimum.at(counted, times.key_of(unseen), unseen)
    # The first row of the region of a match that sees only the certain rows. Later ends move it forward.
    before = seen_before[times.key_at[1:]] - int(region.size)
    row = np.maximum(np.searchsorted(seen_before, before, side="right") - 1, first)
    lacking = np.maximum(int(region.size) - (seen_before[times.key_at[1:]] - seen_before[first]), 0)
    position = row - first + base - lacking
    time = np.full(times.keys, np.iinfo(np.int64).max)
    at_hand = row < times.key_at[1:]
    time[at_hand] = times.start[row[at_hand]]
    return Future(row, time, position, position >= base, counted, seen_before)


def first_possible_start(
    times: RowTimes,
    future: Future,
    unsearched_from: Ints,
    open_starts: Ints,
    growths: Growths,
    region: Region,
    now: int,
) -> Ints:
    """For each key, the earliest start that a later result can have.

    Starts before `unsearched_from` are known; they count only if they are open or have a match. Later rows have times
    after `now`.
    """
    first = np.full(times.keys, now + 1)
    row = np.maximum(unsearched_from, future.row)
    at_hand = row < times.key_at[1:]
    first[at_hand] = np.minimum(first[at_hand], times.start[row[at_hand]])
    key = times.key_of(open_starts)
    still = open_starts >= future.row[key]
    np.minimum.at(first, key[still], times.start[open_starts[still]])
    reached = future.is_reached(growths.key, growths.start, growths.position, region)
    np.minimum.at(first, growths.key[reached], growths.start[reached])
    return first


class ResultTimes(NamedTuple):
    """Results ordered by key, start and end."""

    key: Ints
    start: Ints
    end: Ints


def merged_order(held: ResultTimes, new: ResultTimes) -> Ints:
    """The order of the held results followed by the new ones, as indices."""
    order = np.empty(len(held.key) + len(new.key), np.int64)
    _merge(ResultTimes(*map(for_kernels, held)), ResultTimes(*map(for_kernels, new)), order)
    return order


@kernel
def _merge(held, new, order):  # type: ignore[no-untyped-def]
    i, j, count = 0, 0, len(held.key)
    for slot in range(len(order)):
        first = j == len(new.key)
        if i < count and not first:
            if held.key[i] != new.key[j]:
                first = held.key[i] < new.key[j]
            elif held.start[i] != new.start[j]:
                first = held.start[i] < new.start[j]
            else:
                first = held.end[i] <= new.end[j]
        if first:
            order[slot] = i
            i += 1
        else:
            order[slot] = count + j
            j += 1
