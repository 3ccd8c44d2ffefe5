"""Which results can be given now, and which matches later ones may need: by what live matches can still come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.sides import Ints, Mask, Times
from ostinato.correlations.strategies.step_matches import Growths
from ostinato.kernels.kernel_cache import kernel


@dataclass(frozen=True, slots=True)
class Future:
    """Of each key how far back archive matches of live matches to come may start: inclusive bounds."""

    row: Ints
    """The first of the archive's rows at hand."""
    time: Ints
    """The earliest time; for regions by rows that of the row, as far as it is at hand."""
    place: Ints
    begins_at_hand: Mask
    """Whether a bound by rows doesn't lie before the rows at hand; bounds by time say it themselves."""
    counted_from: Ints
    """Regions by rows: the first row that not every live match to come sees; rows are counted up to there."""
    seen: Ints
    """Of each row at hand how many before it are in the archive of every live match to come."""

    def rows_before(self, rows: Ints, count: int, first: Ints) -> Ints:
        """The row from which on `count` rows, that all live matches to come see, stand before each row."""
        return np.clip(np.searchsorted(self.seen, self.seen[rows] - count, side="right") - 1, first, rows)

    def is_reached(self, key: Ints, start: Ints, place: Ints, region: Region) -> Mask:
        """Whether matches that start there can still get a live match."""
        return place >= self.place[key] if region.kind == "rows" else start >= self.time[key]


def future_of(times: Times, base: Ints, region: Region, earliest_end: Ints) -> Future:
    """`earliest_end`: of each key the least end that a live match to come can have."""
    keys = np.arange(times.keys)
    first = times.key_at[:-1]
    is_seen = times.end < np.repeat(earliest_end, np.diff(times.key_at))
    seen = np.concatenate(([0], np.cumsum(is_seen)))
    counted = times.key_at[1:].copy()
    if region.kind != "rows":
        time = earliest_end - int(region.size)
        row = times.first_at_least(times.start, keys, time)
        return Future(row, time, row - first + base, np.ones(times.keys, np.bool_), counted, seen)
    unseen = np.flatnonzero(~is_seen)
    np.minimum.at(counted, times.key_of(unseen), unseen)
    # The rows from which on the region holds as many as can be seen for certain; later ends only move it on.
    before = seen[times.key_at[1:]] - int(region.size)
    row = np.maximum(np.searchsorted(seen, before, side="right") - 1, first)
    lacking = np.maximum(int(region.size) - (seen[times.key_at[1:]] - seen[first]), 0)
    place = row - first + base - lacking
    time = np.full(times.keys, np.iinfo(np.int64).max)
    at_hand = row < times.key_at[1:]
    time[at_hand] = times.start[row[at_hand]]
    return Future(row, time, place, place >= base, counted, seen)


def first_possible_start(
    times: Times, future: Future, unsearched_from: Ints, open_starts: Ints, growths: Growths, region: Region, now: int
) -> Ints:
    """Of each key the earliest start that a result to come can have.

    Starts of rows before `unsearched_from` are known: those that are neither open nor have a match are out of it. Rows
    that come are later than `now`.
    """
    first = np.full(times.keys, now + 1)
    row = np.maximum(unsearched_from, future.row)
    at_hand = row < times.key_at[1:]
    first[at_hand] = np.minimum(first[at_hand], times.start[row[at_hand]])
    key = times.key_of(open_starts)
    still = open_starts >= future.row[key]
    np.minimum.at(first, key[still], times.start[open_starts[still]])
    reached = future.is_reached(growths.key, growths.start, growths.place, region)
    np.minimum.at(first, growths.key[reached], growths.start[reached])
    return first


class ResultTimes(NamedTuple):
    """Results by key, start and end."""

    key: Ints
    start: Ints
    end: Ints


def merged_order(one: ResultTimes, other: ResultTimes) -> Ints:
    """Places among the results of both, one behind the other, that bring all of them into order."""
    order = np.empty(len(one.key) + len(other.key), np.int64)
    _merge(one, other, order)
    return order


@kernel
def _merge(one, other, order):  # type: ignore[no-untyped-def]
    i, j, count = 0, 0, len(one.key)
    for place in range(len(order)):
        first = j == len(other.key)
        if i < count and not first:
            if one.key[i] != other.key[j]:
                first = one.key[i] < other.key[j]
            elif one.start[i] != other.start[j]:
                first = one.start[i] < other.start[j]
            else:
                first = one.end[i] <= other.end[j]
        if first:
            order[place] = i
            i += 1
        else:
            order[place] = count + j
            j += 1
