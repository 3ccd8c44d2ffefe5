"""The arrays that the shared kernels pass on, and lookups in them. Kernels only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.trends.shared import sections as s
from ostinato.kernels.numbers.limbs import BITS
from ostinato.kernels.numbers.number_calls import add, subtract, woven
from ostinato.kernels.numbers.number_table import Table

Ints = NDArray[np.int64]


class LaneArrays(NamedTuple):
    """The plan, the logs and the lanes, each packed (`sections.py`), with the numbers that they refer to."""

    plan: Ints
    logs: Ints
    log_sums: NDArray[np.float64]
    """Running sums of doubles in two rows: the sums, and their rounding errors."""
    lanes: Ints
    table: Table
    """Counts and sums of integers."""
    real: Table
    """Sums of doubles."""
    counters: Ints


class EventArrays(NamedTuple):
    """The events of a call (`event_symbols.py`)."""

    starts: Ints
    """The first row of each sequence, and at the end the number of rows."""
    symbols: Ints
    """For each symbol, the actions and the logs of its events, packed."""
    rows: Ints
    """[TIME_ROW ..., event]: time, place and symbol, then the streams of integers, the keys of extremes, and flags for
    "there is a key"."""
    doubles: NDArray[np.float64]
    """[stream, event]"""


class OutputArrays(NamedTuple):
    results: Ints
    progress: Ints


class LaneCells(NamedTuple):
    """First row and width of a lane's cells: exact numbers, sums of doubles, extremes.

    An exact cell holds its count and then its sums. An extreme cell holds a flag for "there is a trend" and then its
    extremes.
    """

    base: int
    width: int
    real_base: int
    reals: int
    extreme_base: int
    extreme_width: int


@woven
def within(packed, section, index):  # type: ignore[no-untyped-def]
    """The range of entry `index` in a section of range bounds (a name that ends in _FROM)."""
    return range(packed[packed[section] + index], packed[packed[section] + index + 1])


@woven
def cells_of_lane(arrays, query, lane):  # type: ignore[no-untyped-def]
    plan, lanes = arrays.plan, arrays.lanes
    return LaneCells(
        lanes[lanes[s.LANE_ROW] + lane],
        1 + plan[plan[s.QUERY_SLOTS] + query],
        lanes[lanes[s.LANE_REAL_ROW] + lane],
        plan[plan[s.QUERY_REALS] + query],
        lanes[lanes[s.LANE_EXTREME] + lane],
        1 + plan[plan[s.QUERY_EXTREMES] + query],
    )


@woven
def lane_of_window(plan, query, number):  # type: ignore[no-untyped-def]
    """The lane of a query in the window with this number. The lanes of a query are used in turn."""
    lanes_of_query = plan[plan[s.EXTENT_LANES] + plan[plan[s.QUERY_EXTENT] + query]]
    return plan[plan[s.QUERY_FIRST_LANE] + query] + number % lanes_of_query


@woven
def open_windows(lanes, extent):  # type: ignore[no-untyped-def]
    return range(lanes[lanes[s.OPEN_FIRST] + extent], lanes[lanes[s.OPEN_NEXT] + extent])


@woven
def window_shape(plan, extent):  # type: ignore[no-untyped-def]
    """Kind, length and slide of the windows of an extent."""
    return plan[plan[s.EXTENT_KIND] + extent], plan[plan[s.EXTENT_LENGTH] + extent], plan[plan[s.EXTENT_SLIDE] + extent]


@woven
def rows_fit(table, rows, bits, spare_limbs):  # type: ignore[no-untyped-def]
    """Whether each of the rows has room for so many more bits, with some limbs to spare."""
    if not table.exact:
        return True
    longest = np.int64(1)
    for row in rows:
        longest = max(longest, table.length[row])
    return longest + (bits + BITS - 1) // BITS + spare_limbs <= table.limbs.shape[1]


@woven
def add_signed(table, into, source, sign):  # type: ignore[no-untyped-def]
    """Adds a number to another, or subtracts it if the sign is negative."""
    if sign > 0:
        add(table, into, source)
    else:
        subtract(table, into, source)
