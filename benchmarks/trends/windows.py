"""Events and a query's windows -> the rows of each window: what all comparators go through, window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import NO_WINDOW, BoundKind, Events, Extent

Rows = NDArray[np.int64]


class Unsupported(Exception):
    """A comparator doesn't cover a query; it is left out of the figure."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Window i has the rows [first[i], last[i]) of one sequence; only windows with rows."""

    sequence: Rows
    start: Rows
    first: Rows
    last: Rows

    @property
    def most_rows(self) -> int:
        return int((self.last - self.first).max(initial=0))


def windows_of(events: Events, extent: Extent) -> Windows:
    """In the order of results: by sequence, then by start."""
    sequences = len(events.starts) - 1
    if extent.kind is BoundKind.NONE:
        whole = np.flatnonzero(np.diff(events.starts))
        starts = np.full(len(whole), NO_WINDOW, np.int64)
        return Windows(whole, starts, events.starts[whole], events.starts[whole + 1])
    if extent.kind is not BoundKind.WINDOWS or extent.by_place:
        raise Unsupported("only windows by time")
    parts = []
    for sequence in range(sequences):
        begin, end = int(events.starts[sequence]), int(events.starts[sequence + 1])
        if begin == end:
            continue
        time = events.time[begin:end]
        lowest = (int(time[0]) - extent.length) // extent.slide + 1
        start = np.arange(lowest, int(time[-1]) // extent.slide + 1) * extent.slide
        first, last = np.searchsorted(time, start), np.searchsorted(time, start + extent.length)
        kept = first < last
        parts.append((np.full(kept.sum(), sequence), start[kept], begin + first[kept], begin + last[kept]))
    if not parts:
        return Windows(*(np.empty(0, np.int64) for _ in range(4)))
    return Windows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def symbols_of(events: Events) -> Rows:
    """For each row the conditions that hold, as bits."""
    if len(events.conditions) > 62:
        raise Unsupported("more conditions than bits")
    symbols = np.zeros(len(events.time), np.int64)
    for number, condition in enumerate(events.conditions):
        symbols |= condition.astype(np.int64) << number
    return symbols
