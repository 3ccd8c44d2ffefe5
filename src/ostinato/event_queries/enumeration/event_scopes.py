"""Events + Extent -> the ranges of rows to search: one for each sequence, or for each of its windows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import NO_WINDOW, BoundKind, Events, Extent
from ostinato.kernels.kernel_cache import borrowing_kernel
from ostinato.rows.matches import ranges

Longs = NDArray[np.int64]

LARGEST_SPAN = 1 << 62
"""The largest distance between two positions; larger ones couldn't be added without overflow."""


class Ranges(NamedTuple):
    """Rows [first, end) of one sequence; `window` is the start of its window, or NO_WINDOW."""

    first: Longs
    end: Longs
    sequence: Longs
    window: Longs


def positions(events: Events, extent: Extent) -> Longs:
    """The positions in which the extent is measured."""
    return events.place if extent.by_place else events.time


def row_ranges(events: Events, extent: Extent, may_start: NDArray[np.bool_]) -> Ranges:
    """The ranges to search, in order of sequence and window. Windows without a possible start are left out."""
    if extent.kind is not BoundKind.WINDOWS:
        sequences = np.arange(len(events.starts) - 1)
        return Ranges(events.starts[:-1], events.starts[1:], sequences, np.full(len(sequences), NO_WINDOW, np.int64))
    position = positions(events, extent)
    rows = np.flatnonzero(may_start)
    sequence = np.searchsorted(events.starts, rows, side="right") - 1
    at = position[rows]
    lowest = -((extent.length - 1 - at) // extent.slide)  # the first window that reaches the row
    if extent.by_place:
        lowest = np.maximum(lowest, 0)
    highest = at // extent.slide
    # Positions ascend within a sequence, so a row adds only the windows beyond those of the row before.
    same = sequence[1:] == sequence[:-1]
    lowest[1:] = np.where(same, np.maximum(lowest[1:], highest[:-1] + 1), lowest[1:])
    count = np.maximum(highest - lowest + 1, 0)
    window = ranges(lowest, count) * extent.slide
    sequence = np.repeat(sequence, count)
    first = _first_row(position, events.starts, sequence, window)
    return Ranges(first, _first_row(position, events.starts, sequence, window + extent.length), sequence, window)


def reaches(events: Events, extent: Extent) -> Longs:
    """For each row, the first row of its sequence that can't be in a match with it, or the sequence's end."""
    sequence = np.repeat(np.arange(len(events.starts) - 1), np.diff(events.starts))
    if extent.kind is BoundKind.NONE:
        return events.starts[1:][sequence]
    length = min(extent.length, LARGEST_SPAN) + (1 if extent.kind is BoundKind.SPAN else 0)
    beyond = positions(events, extent) + length
    return _first_row(positions(events, extent), events.starts, sequence, beyond)


def _first_row(position: Longs, starts: Longs, sequence: Longs, value: Longs) -> Longs:
    """The first row of each sequence whose position is at or above the value, or the sequence's end."""
    first_rows = np.empty(len(value), np.int64)
    fill_first_rows(position, starts, sequence, value, first_rows)
    return first_rows


@borrowing_kernel
def fill_first_rows(position, starts, sequence, value, first_rows):  # type: ignore[no-untyped-def]
    """One sweep: sequences ascend, and positions and values ascend within a sequence."""
    row, end, before = 0, 0, -1
    for i in range(len(value)):
        if sequence[i] != before:
            before = sequence[i]
            row, end = starts[before], starts[before + 1]
        while row < end and position[row] < value[i]:
            row += 1
        first_rows[i] = row
