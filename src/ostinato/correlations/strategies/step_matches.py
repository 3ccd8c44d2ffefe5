"""What the searches of one step gave: live matches, archive matches with all their ends, and pairs of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode
from ostinato.correlations.strategies.sides import NO_TIME, Ints, Mask, Side, Times
from ostinato.kernels.kernel_cache import kernel

NOT_FOUND_HERE = -1
"""The place in the step's matches of one that was found in an earlier step."""


class Modes(NamedTuple):
    """Which matches count on each side."""

    live: ProbeMode
    growing: ProbeMode
    """All that are the archive's as of some moment."""
    as_of: ProbeMode
    """Those that are the archive's as of the end of a probe."""


class LiveMatches(NamedTuple):
    """Ordered by key, then end. `found` is the place in the matches of the search."""

    key: Ints
    start: Ints
    end: Ints
    found: Ints
    row: Ints
    """The row in which the match starts."""

    def chosen(self, which: Mask | Ints) -> LiveMatches:
        return LiveMatches(*(column[which] for column in self))


class Growths(NamedTuple):
    """Archive matches, ordered by key, place and end: of each start every end that was the right one at some moment."""

    key: Ints
    place: Ints
    """How many rows of the key stand before the first row of the match; may be negative for rows read back."""
    start: Ints
    end: Ints
    found: Ints
    """The place in the matches of the search, or NOT_FOUND_HERE."""
    stored: Ints
    """The place among what was remembered of earlier steps, or NOT_FOUND_HERE."""

    @staticmethod
    def none() -> Growths:
        return Growths(*(np.empty(0, np.int64) for _ in Growths._fields))

    def chosen(self, which: Mask | Ints) -> Growths:
        return Growths(*(column[which] for column in self))

    def merged(self, more: Growths) -> Growths:
        """Both, in order."""
        if not len(more.key):
            return self
        if not len(self.key):
            return more
        both = Growths(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))
        return both.chosen(np.lexsort((both.end, both.place, both.key)))

    @property
    def new_starts(self) -> int:
        """How many starts have growths that were found in this step."""
        first = self.chosen(self.entries()[:-1])
        return int((first.found != NOT_FOUND_HERE).sum())

    def entries(self) -> Ints:
        """Where each start's growths begin, and the end of all."""
        if not len(self.key):
            return np.zeros(1, np.int64)
        begins = np.flatnonzero((self.key[1:] != self.key[:-1]) | (self.place[1:] != self.place[:-1])) + 1
        return np.concatenate(([0], begins, [len(self.key)]))


class RegionSums(NamedTuple):
    """The regions of one side's matches: how many, the rows of all together, and the rows that lie in one at least."""

    amount: int = 0
    rows: int = 0
    covered: int = 0


NO_REGIONS = RegionSums()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a strategy makes of a step."""

    live: LiveMatches
    live_found: ProbeMatches | None
    growths: Growths
    archive_found: ProbeMatches | None
    archive: Side
    """The rows in which `archive_found` was found."""
    live_of_pair: Ints
    growth_of_pair: Ints
    next_live_start: Ints
    """Of each key the first row at which a live match that isn't given yet may start."""
    searched_until: Ints
    """Of each key the archive's row before which all starts that were needed have been searched."""
    open_starts: Ints
    """The archive's rows before that whose starts may still grow."""
    remembered: Ints | None = None
    """The growths that are good for later steps; None: all."""
    live_regions: RegionSums = NO_REGIONS
    """Where the strategy looked at those of live matches."""
    archive_regions: RegionSums = NO_REGIONS


def live_matches(times: Times, found: ProbeMatches, modes: Modes, given: Ints) -> LiveMatches:
    """The matches that weren't given before and have a time, in order."""
    key = times.key_of(found.start)
    last = found.start + found.length - 1
    if modes.live is ProbeMode.INCREMENTAL:
        new = last >= given[key]
    else:
        new = (found.start >= given[key]) & (found.length > 0)
    timed = (times.start[found.start] != NO_TIME) & (times.end[np.maximum(last, 0)] != NO_TIME)
    places = np.flatnonzero(new & timed)
    end = latest_ends(times.end, found.start[places], found.length[places])
    order = places[np.lexsort((last[places], end, key[places]))]
    end = latest_ends(times.end, found.start[order], found.length[order])
    return LiveMatches(key[order], times.start[found.start[order]], end, order, found.start[order])


def growths_of(times: Times, base: Ints, found: ProbeMatches) -> Growths:
    """The archive matches of a search, in order; empty ones have no time and are left out."""
    places = np.flatnonzero(found.length > 0)
    start, length = found.start[places], found.length[places]
    key = times.key_of(start)
    place = start - times.key_at[key] + base[key]
    end = latest_ends(times.end, start, length)
    nowhere = np.full(len(places), NOT_FOUND_HERE)
    return Growths(key, place, times.start[start], end, places, nowhere)


def latest_ends(end: Ints, start: Ints, length: Ints) -> Ints:
    """The latest end among the rows of each match."""
    result = np.empty(len(start), np.int64)
    _latest_ends(end, start, length, result)
    return result


@kernel
def _latest_ends(end, start, length, result):  # type: ignore[no-untyped-def]
    for i in range(len(start)):
        latest = end[start[i]]
        for row in range(start[i] + 1, start[i] + length[i]):
            latest = max(latest, end[row])
        result[i] = latest
