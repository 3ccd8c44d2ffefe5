"""Results of one step's searches: live matches, archive matches with all their ends, and pairs of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode
from ostinato.correlations.strategies.cost_model import NO_REGIONS, RegionSums
from ostinato.correlations.strategies.sides import Ints, Mask, RowTimes, Side
from ostinato.kernels.constants import NO_TIME
from ostinato.kernels.kernel_cache import kernel

NOT_FOUND_HERE = -1
"""The match index of a match from an earlier step."""


class Modes(NamedTuple):
    """The search modes of both sides."""

    live: ProbeMode
    growing: ProbeMode
    """Finds all growths of the archive's matches."""
    as_of: ProbeMode
    """Finds the archive's matches at the end of a probe."""


class LiveMatches(NamedTuple):
    """Live matches, ordered by key and end."""

    key: Ints
    start: Ints
    end: Ints
    match_index: Ints
    """Index into the matches of the search."""
    row: Ints
    """The first row of the match."""

    def take(self, selected: Mask | Ints) -> LiveMatches:
        return LiveMatches(*(column[selected] for column in self))


class Growths(NamedTuple):
    """Archive matches, ordered by key, position and end. A start has one growth for each end that held at some time."""

    key: Ints
    position: Ints
    """Number of the key's rows before the first row of the match. It can be negative for rows that were read back."""
    start: Ints
    end: Ints
    match_index: Ints
    """Index into the matches of the search, or NOT_FOUND_HERE."""
    cache_index: Ints
    """Index into the result cache of earlier steps, or NOT_FOUND_HERE."""

    @staticmethod
    def none() -> Growths:
        return Growths(*(np.empty(0, np.int64) for _ in Growths._fields))

    def take(self, selected: Mask | Ints) -> Growths:
        return Growths(*(column[selected] for column in self))

    def merged(self, more: Growths) -> Growths:
        """Both, ordered."""
        if not len(more.key):
            return self
        if not len(self.key):
            return more
        both = Growths(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))
        return both.take(np.lexsort((both.end, both.position, both.key)))

    @property
    def new_starts(self) -> int:
        """Number of starts with growths that this step found."""
        first = self.take(self.entries()[:-1])
        return int((first.match_index != NOT_FOUND_HERE).sum())

    def entries(self) -> Ints:
        """The index of each start's first growth, then the number of growths."""
        if not len(self.key):
            return np.zeros(1, np.int64)
        begins = np.flatnonzero((self.key[1:] != self.key[:-1]) | (self.position[1:] != self.position[:-1])) + 1
        return np.concatenate(([0], begins, [len(self.key)]))


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The matches and pairs that a strategy found in a step."""

    live: LiveMatches
    live_probe_matches: ProbeMatches | None
    growths: Growths
    archive_probe_matches: ProbeMatches | None
    archive: Side
    """The rows in which `archive_probe_matches` were found."""
    live_of_pair: Ints
    growth_of_pair: Ints
    next_live_start: Ints
    """For each key, the first row at which a later live match may start."""
    searched_until: Ints
    """For each key, the archive row before which all needed starts have been searched."""
    open_starts: Ints
    """The archive rows before that whose matches may still grow."""
    remembered: Ints | None = None
    """Indices of the growths that later steps may use; None: all."""
    live_regions: RegionSums = NO_REGIONS
    """Regions of live matches, if the strategy searched them."""
    archive_regions: RegionSums = NO_REGIONS


def live_matches(times: RowTimes, probe_matches: ProbeMatches, modes: Modes, reported_before: Ints) -> LiveMatches:
    """The matches that are new and have a time, ordered."""
    key = times.key_of(probe_matches.start)
    last = probe_matches.start + probe_matches.length - 1
    if modes.live is ProbeMode.INCREMENTAL:
        new = last >= reported_before[key]
    else:
        new = (probe_matches.start >= reported_before[key]) & (probe_matches.length > 0)
    timed = (times.start[probe_matches.start] != NO_TIME) & (times.end[np.maximum(last, 0)] != NO_TIME)
    chosen = np.flatnonzero(new & timed)
    end = latest_ends(times.end, probe_matches.start[chosen], probe_matches.length[chosen])
    order = chosen[np.lexsort((last[chosen], end, key[chosen]))]
    end = latest_ends(times.end, probe_matches.start[order], probe_matches.length[order])
    return LiveMatches(key[order], times.start[probe_matches.start[order]], end, order, probe_matches.start[order])


def growths_of(times: RowTimes, base: Ints, probe_matches: ProbeMatches) -> Growths:
    """The archive matches of a search, ordered. Empty matches have no time and are left out."""
    chosen = np.flatnonzero(probe_matches.length > 0)
    start, length = probe_matches.start[chosen], probe_matches.length[chosen]
    key = times.key_of(start)
    position = start - times.key_at[key] + base[key]
    end = latest_ends(times.end, start, length)
    nowhere = np.full(len(chosen), NOT_FOUND_HERE)
    return Growths(key, position, times.start[start], end, chosen, nowhere)


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
