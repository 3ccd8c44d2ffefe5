"""The sections of the shared kernel's flat arrays, and functions to pack them.

A kernel with tuples of a hundred arrays as arguments compiles for minutes. So arrays that belong together are packed
into one array of integers. It begins with the positions of its sections: `plan[plan[LOOP_LOG] + loop]` is the log of a
loop. `tests/event_queries/trends/shared/test_sections.py` checks the constants against the layout.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.trends.shared.layout import SharedLayout

Ints = NDArray[np.int64]

DONE, NUMBERS_FULL, RESULTS_FULL, STOPPED = 0, 1, 2, 3
"""Status that a kernel returns."""
SEQUENCE, ROW, LAST_SEQUENCE, RESULTS, RESULT_ROWS, RESULT_REALS, RESULT_EXTREMES = range(7)
"""Fields of `progress`: where the kernel is, and how much of the results is used."""
BURSTS, SHARED, SNAPSHOTS, UPDATES, SAVED = range(5)
"""Fields of `counters`, for the statistics."""
FAR = np.iinfo(np.int64).max
"""The position behind all events: every window is over."""
NOT_BEGUN = -(1 << 62)
"""Stands for "no window has been opened yet"."""

TIME_ROW, PLACE_ROW, SYMBOL_ROW, INT_ROWS = range(4)
"""Rows of the array `rows`. Behind them come the streams of integers, then from KEY_ROWS on the keys of extremes, and
from HAS_ROWS on flags for whether an event has such a key."""

# --- the plan: a packed SharedLayout ----------------------------------------------------------------------------------
QUERIES, EXTENTS, LOGS, KEY_ROWS, HAS_ROWS = range(5)
(
    QUERY_EXTENT,
    QUERY_FIRST_LANE,
    QUERY_CELLS,
    QUERY_SLOTS,
    QUERY_FULL_CELLS,
    QUERY_REALS,
    QUERY_EXTREMES,
    QUERY_LOOP_FROM,
    QUERY_TARGET_FROM,
    QUERY_RESULT_FROM,
    QUERY_RESULT_SIGN,
    QUERY_RESULT_CELL,
    QUERY_RESULT_CONSTANT,
    QUERY_FULL_RESULT_FROM,
    QUERY_FULL_RESULT_CELL,
    QUERY_ONE_FROM,
    QUERY_ONE_CELL,
    QUERY_FULL_ONE_FROM,
    QUERY_FULL_ONE_CELL,
    LOOP_LOG,
    LOOP_AHEAD,
    LOOP_FULL_AHEAD,
    LOOP_KEEPS_FROM,
    LOOP_KEEPS_CELL,
    LOOP_FULL_KEEPS_FROM,
    LOOP_FULL_KEEPS_CELL,
    LOOP_FULL_OTHER_FROM,
    LOOP_FULL_OTHER_CELL,
    LOOP_OTHER_FROM,
    LOOP_OTHER_CELL,
    LOOP_STARTS,
    LOOP_SLOT_FROM,
    LOOP_SLOT_LOG,
    LOOP_REAL_FROM,
    LOOP_REAL_LOG,
    LOOP_EXTREME_FROM,
    LOOP_EXTREME_LOG,
    TARGET_ADD_FROM,
    TARGET_ADD_CELL,
    TARGET_FULL_ADD_FROM,
    TARGET_FULL_ADD_CELL,
    ACTION_QUERY,
    ACTION_CONDITION,
    ACTION_SIMPLE,
    ACTION_MOVE_FROM,
    ACTION_RESET_FROM,
    ACTION_RESET_CELL,
    ACTION_RESET_FULL_CELL,
    ACTION_RESET_FEED_FROM,
    ACTION_RESET_FEED,
    ACTION_TARGET,
    ACTION_TERM_FROM,
    ACTION_TERM_SIGN,
    ACTION_TERM_CELL,
    ACTION_CONSTANT,
    ACTION_FULL_SOURCE_FROM,
    ACTION_FULL_SOURCE_CELL,
    ACTION_STARTS,
    ACTION_SLOT_FROM,
    ACTION_SLOT_STREAM,
    ACTION_REAL_FROM,
    ACTION_REAL_STREAM,
    ACTION_EXTREME_FROM,
    ACTION_EXTREME_STREAM,
    LOG_CONDITION,
    LOG_QUERIES,
    LOG_INT_FROM,
    LOG_INT_STREAM,
    LOG_REAL_FROM,
    LOG_REAL_STREAM,
    LOG_EXTREME_FROM,
    LOG_EXTREME_STREAM,
    EXTENT_KIND,
    EXTENT_LENGTH,
    EXTENT_SLIDE,
    EXTENT_LANES,
) = range(5, 81)

# --- lanes: their state besides numbers, the open windows, gains that are put aside during one time -------------------
ASIDE_ROWS, ASIDE_COUNT, ASIDE_SPARE, RESULT_TABLE, ASIDE_REALS, RESULT_REAL_TABLE = range(6)
"""First rows in the table of exact numbers: gains of targets during one time, a count, a spare number, results. Then in
the table of doubles: gains and results."""
(
    LANE_IS_OPEN,
    LANE_STAMP,
    LANE_ROW,
    LANE_REAL_ROW,
    LANE_EXTREME,
    LANE_POSITION_FROM,
    LANE_POSITION,
    LANE_KEY,
    LANE_HAS,
    OPEN_FIRST,
    OPEN_NEXT,
    OPEN_CHANGE,
    ASIDE_USED,
    ASIDE_KEY,
    ASIDE_HAS,
) = range(6, 21)
"""A lane's stamp is the serial number of the last time that it has processed. Its numbers, doubles, extremes and
positions in logs begin at ROW, REAL_ROW, EXTREME and POSITION_FROM. KEY and HAS have an entry for each (cell, extreme);
the first entry of a cell says whether it has a trend. Windows FIRST to NEXT are open. At CHANGE the next one opens or
closes."""

# --- logs -------------------------------------------------------------------------------------------------------------
(
    ENTRY_ENTRY_FROM,
    ENTRY_ENTRIES,
    ENTRY_MARKED,
    ENTRY_FRESH,
    ENTRY_LANES,
    ENTRY_EVENTS,
    ENTRY_GROWTH,
    ENTRY_TIES,
    ENTRY_TIE_ENTRY,
    ENTRY_INT_AT,
    ENTRY_INT_HIGH,
    ENTRY_INT_LOW,
    ENTRY_REAL_AT,
    ENTRY_STACK_AT,
    ENTRY_STACK_SIZE,
    ENTRY_STACK_ENTRY,
    ENTRY_STACK_KEY,
) = range(17)
"""For each log: first entry, number of entries, serial number of the last time with an entry, whether a lane was
brought up to date since, number of open lanes. For each entry: number of events, bits by which all earlier entries
lengthen a number, number of earlier entries with several events (ties), and these entries. For each column and entry:
running sums in two halves, and the stack of extremes."""

# --- results and symbols ----------------------------------------------------------------------------------------------
RESULT_ROOM, RESULT_EXTREME_ROOM = range(2)
(
    RESULT_QUERY,
    RESULT_SEQUENCE,
    RESULT_WINDOW,
    RESULT_ROW,
    RESULT_REAL,
    RESULT_EXTREME,
    RESULT_KEY,
    RESULT_HAS,
) = range(2, 10)
SYMBOL_ACTION_FROM, SYMBOL_ACTION, SYMBOL_LOG_FROM, SYMBOL_LOG = range(4)


def packed(sections: Mapping[int, Ints], single: Mapping[int, int] | None = None) -> Ints:
    """One array: single numbers and the positions of the sections, then the sections themselves."""
    single = single or {}
    head = np.zeros(len(sections) + len(single), np.int64)
    at = len(head)
    for section, array in sections.items():
        head[section] = at
        at += len(array)
    for index, number in single.items():
        head[index] = number
    return np.concatenate([head, *sections.values()]).astype(np.int64)


def section(data: Ints, number: int, length: int) -> Ints:
    """A view of a section, to be read and written."""
    return data[data[number] : data[number] + length]


def packed_plan(layout: SharedLayout, int_streams: int, key_streams: int) -> Ints:
    """The layout as one array, with the numbers of streams."""
    arrays = [array for group in layout for array in group]
    first = INT_ROWS + int_streams
    return packed(
        {QUERY_EXTENT + index: array for index, array in enumerate(arrays)},
        {
            QUERIES: len(layout.queries.extent),
            EXTENTS: len(layout.windows.kind),
            LOGS: len(layout.logs.condition),
            KEY_ROWS: first,
            HAS_ROWS: first + key_streams,
        },
    )
