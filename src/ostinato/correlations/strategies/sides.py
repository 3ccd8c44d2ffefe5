"""A side as strategies see it: the times of its rows, and a search in ranges of them. No expressions, no Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode, Probes
from ostinato.kernels.kernel_cache import kernel

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
LARGEST_TIME = 1 << 61
"""Largest absolute time. A distance can be added or subtracted without leaving 64 bits."""


class RowTimes(NamedTuple):
    """Times of rows. Key k has the rows `key_at[k]:key_at[k + 1]`, ordered by `start`."""

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
        """For each entry, the first row of the key with a value of at least `limit` in the column; else the key's end.

        >>> times = RowTimes(np.array([0, 3, 4]), np.array([1, 4, 4, 2]), np.array([1, 4, 4, 2]))
        >>> times.first_at_least(times.start, np.array([0, 0, 0, 1]), np.array([1, 4, 5, 0]))
        array([0, 1, 3, 3])
        """
        return first_at_least(self.key_at, column, key, limit)

    def keys_with_late_ends(self) -> Mask:
        """The keys in which a row ends before an earlier row: rows that ended by some time aren't a prefix there."""
        falls = self.end[1:] < self.end[:-1]
        inside = np.ones(max(len(self.end) - 1, 0), np.bool_)
        edges = self.key_at[1:-1]
        edges = edges[(edges > 0) & (edges < len(self.end))]
        inside[edges - 1] = False
        result = np.zeros(self.keys, np.bool_)
        result[self.key_of(np.flatnonzero(falls & inside))] = True
        return result


def first_at_least(group_at: Ints, column: Ints, group: Ints, limit: Ints) -> Ints:
    """For each entry, the first index of the group with a value of at least `limit`. Values rise inside a group."""
    result = np.empty(len(group), np.int64)
    _first_at_least(group_at, column, group, limit, result)
    return result


@kernel
def _first_at_least(group_at, column, group, limit, result):  # type: ignore[no-untyped-def]
    for i in range(len(group)):
        low, high = group_at[group[i]], group_at[group[i] + 1]
        while low < high:
            middle = (low + high) >> 1
            if column[middle] < limit[i]:
                low = middle + 1
            else:
                high = middle
        result[i] = low


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
    """The rows of one side that are in memory, ready to be searched."""

    @property
    def times(self) -> RowTimes: ...

    @property
    def cost(self) -> SearchCost: ...

    def find(self, probes: Probes, mode: ProbeMode) -> ProbeMatches:
        """The matches inside each probe."""
        ...

    def quiet_before(self) -> Ints:
        """For each row, the last row up to it at which a search can start without knowing earlier rows."""
        ...


def probes_of(times: RowTimes, start: Ints, stop: Ints, end: Ints, *, is_open: bool | Mask) -> Probes:
    """Probes inside keys. Conditions can read all rows of the key that are in memory."""
    key = times.key_of(start)
    flags = np.full(len(start), is_open, np.uint8)
    return Probes(times.key_at[key], times.key_at[key + 1], start, stop, end, flags)


def runs_of(marked: Mask, key_at: Ints) -> tuple[Ints, Ints]:
    """Ranges of adjacent marked rows of one key.

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
    """Marks those of `count` rows that lie in one of the ranges."""
    change = np.zeros(count + 1, np.int64)
    np.add.at(change, start, 1)
    np.add.at(change, np.maximum(stop, start), -1)
    return np.cumsum(change[:-1]) > 0


def first_longer(times: RowTimes, until: int) -> Ints:
    """For each key, the first row that ends later than `until`; else the key's end."""
    result = times.key_at[1:].copy()
    longer = np.flatnonzero(times.end > until)
    key = times.key_of(longer)
    np.minimum.at(result, key, longer)
    return result
