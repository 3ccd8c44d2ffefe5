"""One lane of the shared kernel: bring it up to date with the logs, apply a single event of another label."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.logs import WORD, catch_up, take_extreme
from ostinato.event_queries.trends.shared.lookups import add_signed, cells_of_lane, rows_fit, within
from ostinato.kernels.kernel_cache import called_kernel
from ostinato.kernels.numbers.number_calls import (
    add,
    add_scaled,
    add_scaled_float,
    add_small,
    set_small,
    woven,
)

_SPARE_LIMBS = 5
"""Largest number of limbs that a change of a lane adds to its numbers."""


@woven
def _has_room(arrays, query, lane):  # type: ignore[no-untyped-def]
    """Whether every number of the lane will fit into its row after the lane is brought up to date and changed once."""
    plan, logs, lanes, table = arrays.plan, arrays.logs, arrays.lanes, arrays.table
    if not table.exact:
        return True
    growth = np.int64(0)
    position = lanes[lanes[s.LANE_POSITION_FROM] + lane]
    for loop in within(plan, s.QUERY_LOOP_FROM, query):
        log = plan[plan[s.LOOP_LOG] + loop]
        entries = logs[logs[s.ENTRY_ENTRY_FROM] + log]
        taken = lanes[lanes[s.LANE_POSITION] + position]
        if taken < logs[logs[s.ENTRY_ENTRIES] + log]:
            growth += (
                logs[logs[s.ENTRY_GROWTH] + entries + logs[logs[s.ENTRY_ENTRIES] + log]]
                - logs[logs[s.ENTRY_GROWTH] + entries + taken]
            )
        position += 1
    return rows_fit(table, within(lanes, s.LANE_ROW, lane), growth, _SPARE_LIMBS)


@woven
def _catch_up_all(arrays, query, lane):  # type: ignore[no-untyped-def]
    """Brings all loops of a lane up to date."""
    plan, lanes, counters = arrays.plan, arrays.lanes, arrays.counters
    cells = cells_of_lane(arrays, query, lane)
    first = plan[plan[s.QUERY_LOOP_FROM] + query]
    for loop in within(plan, s.QUERY_LOOP_FROM, query):
        position = lanes[lanes[s.LANE_POSITION_FROM] + lane] + loop - first
        counters[s.SNAPSHOTS] += catch_up(arrays, loop, cells, position)


@called_kernel
def bring_up_to_date(arrays, query, lane):  # type: ignore[no-untyped-def]
    """Brings a lane up to date; returns False if its numbers might not fit."""
    if not _has_room(arrays, query, lane):
        return False
    _catch_up_all(arrays, query, lane)
    return True


@woven
def is_possible(arrays, query, lane, move):  # type: ignore[no-untyped-def]
    """Whether the lane has a trend that the move can extend."""
    plan, lanes = arrays.plan, arrays.lanes
    if plan[plan[s.ACTION_STARTS] + move]:
        return True
    cells = cells_of_lane(arrays, query, lane)
    for source in within(plan, s.ACTION_FULL_SOURCE_FROM, move):
        full_cell = plan[plan[s.ACTION_FULL_SOURCE_CELL] + source]
        if lanes[lanes[s.LANE_HAS] + cells.extreme_base + full_cell * cells.extreme_width]:
            return True
    return False


@called_kernel
def move_at_once(arrays, events, row, move, query, lane):  # type: ignore[no-untyped-def]
    """Adds the sum of the move's sources to its target cells. No target cell is also a source."""
    plan, lanes, table, real = arrays.plan, arrays.lanes, arrays.table, arrays.real
    rows, doubles = events.rows, events.doubles
    cells = cells_of_lane(arrays, query, lane)
    base, width, real_base, reals, extreme_base, extreme_width = cells
    target = plan[plan[s.ACTION_TARGET] + move]
    constant = plan[plan[s.ACTION_CONSTANT] + move]
    for index in within(plan, s.TARGET_ADD_FROM, target):
        into = base + plan[plan[s.TARGET_ADD_CELL] + index] * width
        for term in within(plan, s.ACTION_TERM_FROM, move):
            addend = base + plan[plan[s.ACTION_TERM_CELL] + term] * width
            sign = plan[plan[s.ACTION_TERM_SIGN] + term]
            for offset in range(width):
                add_signed(table, into + offset, addend + offset, sign)
            for offset in range(width - 1):
                stream = plan[plan[s.ACTION_SLOT_STREAM] + plan[plan[s.ACTION_SLOT_FROM] + move] + offset]
                if stream >= 0:
                    value = rows[s.INT_ROWS + stream, row]
                    high, low = value >> WORD, value & ((1 << WORD) - 1)
                    if sign > 0:
                        add_scaled(table, into + 1 + offset, addend, value)
                    else:
                        # -(-2**63) isn't an int64, so the value is added in two halves.
                        add_scaled(table, into + 1 + offset, addend, -low)
                        add_scaled(table, into + 1 + offset, addend, (-high << (WORD - 1)))
                        add_scaled(table, into + 1 + offset, addend, (-high << (WORD - 1)))
        if constant != 0:
            add_small(table, into, constant)
            for offset in range(width - 1):
                stream = plan[plan[s.ACTION_SLOT_STREAM] + plan[plan[s.ACTION_SLOT_FROM] + move] + offset]
                if stream >= 0:
                    for _ in range(abs(constant)):
                        value = rows[s.INT_ROWS + stream, row]
                        if constant > 0:
                            add_small(table, into + 1 + offset, value)
                        else:
                            add_small(table, into + 1 + offset, -(value >> 1))
                            add_small(table, into + 1 + offset, -(value - (value >> 1)))
    if reals:
        for index in within(plan, s.TARGET_FULL_ADD_FROM, target):
            into = real_base + plan[plan[s.TARGET_FULL_ADD_CELL] + index] * reals
            for offset in range(reals):
                for source in within(plan, s.ACTION_FULL_SOURCE_FROM, move):
                    add(
                        real, into + offset, real_base + plan[plan[s.ACTION_FULL_SOURCE_CELL] + source] * reals + offset
                    )
                stream = plan[plan[s.ACTION_REAL_STREAM] + plan[plan[s.ACTION_REAL_FROM] + move] + offset]
                if stream >= 0:
                    value = doubles[stream, row]
                    for term in within(plan, s.ACTION_TERM_FROM, move):
                        add_scaled_float(
                            real, into + offset, table, base + plan[plan[s.ACTION_TERM_CELL] + term] * width, value
                        )
                    for _ in range(constant):
                        _add_double(real, into + offset, value)
    for offset in range(extreme_width):
        key, has = moved_extreme(arrays, events, row, move, cells, offset)
        if has:
            for index in within(plan, s.TARGET_FULL_ADD_FROM, target):
                take_extreme(
                    lanes, extreme_base + plan[plan[s.TARGET_FULL_ADD_CELL] + index] * extreme_width + offset, key, has
                )


@woven
def _add_double(real, into, value):  # type: ignore[no-untyped-def]
    """Adds a double to a sum, by way of the spare row at the end of the table."""
    spare = real.limbs.shape[0] - 1
    set_small(real, spare, np.int64(1))
    add_scaled_float(real, into, real, spare, value)


@woven
def moved_extreme(arrays, events, row, move, cells, offset):  # type: ignore[no-untyped-def]
    """The minimum of the sources' extremes and the event's own value. Offset 0 is the flag "there is a trend"."""
    plan, lanes, rows = arrays.plan, arrays.lanes, events.rows
    if offset == 0:
        return np.int64(0), True
    key, has = np.int64(0), False
    for source in within(plan, s.ACTION_FULL_SOURCE_FROM, move):
        at = cells.extreme_base + plan[plan[s.ACTION_FULL_SOURCE_CELL] + source] * cells.extreme_width + offset
        if lanes[lanes[s.LANE_HAS] + at] and (not has or lanes[lanes[s.LANE_KEY] + at] < key):
            key, has = lanes[lanes[s.LANE_KEY] + at], True
    stream = plan[plan[s.ACTION_EXTREME_STREAM] + plan[plan[s.ACTION_EXTREME_FROM] + move] + offset - 1]
    if stream >= 0 and rows[plan[s.HAS_ROWS] + stream, row] and (not has or rows[plan[s.KEY_ROWS] + stream, row] < key):
        key, has = rows[plan[s.KEY_ROWS] + stream, row], True
    return key, has
