"""What strategies know of a side: the times of its rows, and a search in parts of them. No expressions, no Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode, Probes
from ostinato.kernels.kernel_cache import kernel

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
NO_TIME = np.iinfo(np.int64).min
"""The time of a row without one; such rows stand first in their key."""
LARGEST_TIME = 1 << 61
"""No time is further from zero: a distance can be added or taken away in 64 bits."""


class Times(NamedTuple):
    """Rows in order, of key k `key_at[k]:key_at[k + 1]`. `start` never falls inside a key."""

    key_at: Ints
    start: Ints
    end: Ints

    @property
    def keys(self) -> int:
        return len(self.key_at) - 1

    def key_of(self, rows: Ints) -> Ints:
        """The key of each row."""
        return np.searchsorted(self.key_at, rows, side="right") - 1

    def first_at_least(self, column: Ints, key: Ints, limit: Ints) -> Ints:
        """For each entry the first row of the key whose value in the column is `limit` or more; else the key's end.

        >>> times = Times(np.array([0, 3, 4]), np.array([1, 4, 4, 2]), np.array([1, 4, 4, 2]))
        >>> times.first_at_least(times.start, np.array([0, 0, 0, 1]), np.array([1, 4, 5, 0]))
        array([0, 1, 3, 3])
        """
        return first_at_least(self.key_at, column, key, limit)

    def keys_with_late_ends(self) -> Mask:
        """The keys in which a row ends before one that stands in front of it: their past is no prefix."""
        falls = self.end[1:] < self.end[:-1]
        inside = np.ones(max(len(self.end) - 1, 0), np.bool_)
        edges = self.key_at[1:-1]
        edges = edges[(edges > 0) & (edges < len(self.end))]
        inside[edges - 1] = False
        found = np.zeros(self.keys, np.bool_)
        found[self.key_of(np.flatnonzero(falls & inside))] = True
        return found


def first_at_least(part_at: Ints, column: Ints, part: Ints, limit: Ints) -> Ints:
    """For each entry the first place of the part whose value is `limit` or more; values never fall inside a part."""
    found = np.empty(len(part), np.int64)
    _first_at_least(part_at, column, part, limit, found)
    return found


@kernel
def _first_at_least(part_at, column, part, limit, found):  # type: ignore[no-untyped-def]
    for i in range(len(part)):
        low, high = part_at[part[i]], part_at[part[i] + 1]
        while low < high:
            middle = (low + high) >> 1
            if column[middle] < limit[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low


@dataclass(slots=True)
class SearchCost:
    """Cost of a side's searches so far."""

    rows: int = 0
    """Rows of all probes. A row in several probes counts several times."""
    seconds: float = 0.0

    def since(self, before: SearchCost) -> SearchCost:
        """The cost that was added after `before`."""
        return SearchCost(self.rows - before.rows, self.seconds - before.seconds)


class Side(Protocol):
    """The rows of one side that are at hand, ready to be searched."""

    @property
    def times(self) -> Times: ...

    @property
    def cost(self) -> SearchCost: ...

    def find(self, probes: Probes, mode: ProbeMode) -> ProbeMatches:
        """The matches inside each probe."""
        ...

    def quiet_before(self) -> Ints:
        """For each row the last one up to it from which on a search needs nothing from before."""
        ...


def probes_of(times: Times, start: Ints, stop: Ints, end: Ints, *, is_open: bool | Mask) -> Probes:
    """Probes inside keys; conditions can read all rows of the key that are at hand."""
    key = times.key_of(start)
    flags = np.full(len(start), is_open, np.uint8)
    return Probes(times.key_at[key], times.key_at[key + 1], start, stop, end, flags)


def runs_of(marked: Mask, key_at: Ints) -> tuple[Ints, Ints]:
    """Marked rows that stand side by side in one key, as ranges.

    >>> runs_of(np.array([True, True, False, True, True]), np.array([0, 4, 5]))
    (array([0, 3, 4]), array([2, 4, 5]))
    """
    begins, ends = marked.copy(), marked.copy()
    begins[1:] &= ~marked[:-1]
    ends[:-1] &= ~marked[1:]
    edges = key_at[(key_at > 0) & (key_at < len(marked))]
    begins[edges] |= marked[edges]
    ends[edges - 1] |= marked[edges - 1]
    return np.flatnonzero(begins), np.flatnonzero(ends) + 1


def covered(count: int, start: Ints, stop: Ints) -> Mask:
    """Which of `count` rows lie in one of the ranges."""
    change = np.zeros(count + 1, np.int64)
    np.add.at(change, start, 1)
    np.add.at(change, np.maximum(stop, start), -1)
    return np.cumsum(change[:-1]) > 0


def first_longer(times: Times, until: int) -> Ints:
    """Of each key the first row that ends later than `until`; else the key's end."""
    result = times.key_at[1:].copy()
    longer = np.flatnonzero(times.end > until)
    key = times.key_of(longer)
    np.minimum.at(result, key, longer)
    return result
