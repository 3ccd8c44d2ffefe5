"""The sections of the flat arrays that the shared kernel works on, and how they are packed.

A kernel that is given tuples of a hundred arrays compiles for minutes. So what belongs together is one array of
integers that begins with the places of its sections: `plan[plan[LOOP_LOG] + loop]` is the log of a loop.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.trends.shared.layout import Layout

Ints = NDArray[np.int64]

DONE, NUMBERS_FULL, RESULTS_FULL, STOPPED = 0, 1, 2, 3
"""What a kernel says when it stops."""
SEQUENCE, ROW, LAST_SEQUENCE, RESULTS, RESULT_ROWS, RESULT_REALS, RESULT_EXTREMES = range(7)
"""How far it is."""
BURSTS, SHARED, SNAPSHOTS, UPDATES, SAVED = range(5)
"""What it counts."""
FAR = np.iinfo(np.int64).max
"""The input ends: every window is over."""
NOT_BEGUN = -(1 << 62)
"""The number of a window before all others."""

TIME_ROW, PLACE_ROW, SYMBOL_ROW, INT_ROWS = range(4)
"""Of `rows`, the events: then the streams of integers, those of keys (from KEY_ROWS), whether there is one."""

# --- the plan: a packed Layout ----------------------------------------------------------------------------------------
QUERIES, EXTENTS, LOGS, KEY_ROWS, HAS_ROWS = range(5)
(
    QUERY_EXTENT,
    QUERY_FIRST_LANE,
    QUERY_CELLS,
    QUERY_SLOTS,
    QUERY_ECELLS,
    QUERY_REALS,
    QUERY_EXTREMES,
    QUERY_LOOP_FROM,
    QUERY_TARGET_FROM,
    QUERY_RESULT_FROM,
    QUERY_RESULT_SIGN,
    QUERY_RESULT_CELL,
    QUERY_RESULT_CONSTANT,
    QUERY_ERESULT_FROM,
    QUERY_ERESULT_CELL,
    QUERY_ONE_FROM,
    QUERY_ONE_CELL,
    QUERY_EONE_FROM,
    QUERY_EONE_CELL,
    LOOP_LOG,
    LOOP_AHEAD,
    LOOP_EAHEAD,
    LOOP_KEEPS_FROM,
    LOOP_KEEPS_CELL,
    LOOP_EKEEPS_FROM,
    LOOP_EKEEPS_CELL,
    LOOP_EOTHER_FROM,
    LOOP_EOTHER_CELL,
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
    TARGET_EADD_FROM,
    TARGET_EADD_CELL,
    ACTION_QUERY,
    ACTION_CONDITION,
    ACTION_SIMPLE,
    ACTION_MOVE_FROM,
    ACTION_RESET_FROM,
    ACTION_RESET_CELL,
    ACTION_RESET_ECELL,
    ACTION_RESET_FEED_FROM,
    ACTION_RESET_FEED,
    ACTION_TARGET,
    ACTION_TERM_FROM,
    ACTION_TERM_SIGN,
    ACTION_TERM_CELL,
    ACTION_CONSTANT,
    ACTION_ESOURCE_FROM,
    ACTION_ESOURCE_CELL,
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

# --- lanes: what they hold beside numbers, the open windows, what is put aside at one time ----------------------------
ASIDE_ROWS, ASIDE_COUNT, ASIDE_SPARE, RESULT_TABLE, ASIDE_REALS, RESULT_REAL_TABLE = range(6)
"""Rows of the tables: what targets get at one time, a count, a spare number, the results; the first two again."""
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
"""A lane's stamp is the last time (by number) that it has taken; its numbers, doubles, extremes and positions in logs
begin at ROW, REAL_ROW, EXTREME, POSITION_FROM. KEY and HAS are by (cell, extreme), the first for whether the cell has
any trend. Windows FIRST to NEXT are open; at CHANGE another opens or closes."""

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
"""By log: where its entries begin, how many there are, the last time (by number) at which it got one or will get one,
whether a lane was brought up to date since, its open lanes. By entry: events, by how many bits all before it lengthen a
number, how many before it have several events, which these are. By column and entry: running sums in two parts, and the
stack of extremes."""

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
    """One array: single numbers and the places of the sections, then the sections."""
    single = single or {}
    head = np.zeros(len(sections) + len(single), np.int64)
    at = len(head)
    for section, array in sections.items():
        head[section] = at
        at += len(array)
    for place, number in single.items():
        head[place] = number
    return np.concatenate([head, *sections.values()]).astype(np.int64)


def section(data: Ints, number: int, length: int) -> Ints:
    """A section, to be read and written."""
    return data[data[number] : data[number] + length]


def packed_plan(layout: Layout, int_streams: int, key_streams: int) -> Ints:
    arrays = [array for group in layout for array in group]
    first = INT_ROWS + int_streams
    return packed(
        {QUERY_EXTENT + place: array for place, array in enumerate(arrays)},
        {
            QUERIES: len(layout.queries.extent),
            EXTENTS: len(layout.windows.kind),
            LOGS: len(layout.logs.condition),
            KEY_ROWS: first,
            HAS_ROWS: first + key_streams,
        },
    )
