"""A lane processes all events of one time together.

It is used for several events at one time, for events under NOT, and for actions that read cells that they write.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.lane import is_possible, moved_extreme
from ostinato.event_queries.trends.shared.logs import (
    WORD,
    add_times_sum,
    add_to_gaining_cells,
    take_extreme,
    take_extremes,
)
from ostinato.event_queries.trends.shared.lookups import add_signed, cells_of_lane, within
from ostinato.kernels.kernel_cache import called_kernel
from ostinato.kernels.numbers.number_calls import (
    add,
    add_scaled,
    add_scaled_float,
    add_small,
    copy,
    scale,
    set_small,
    set_zero,
    subtract,
    woven,
)


@woven
def _move_aside(arrays, events, row, move, query, lane):  # type: ignore[no-untyped-def]
    """Adds the sum of the move's sources to the gain of its target at this time, which is put aside."""
    plan, lanes, table, real = arrays.plan, arrays.lanes, arrays.table, arrays.real
    rows, doubles = events.rows, events.doubles
    cells = cells_of_lane(arrays, query, lane)
    base, width, real_base, reals, _, extreme_width = cells
    slot = plan[plan[s.ACTION_TARGET] + move] - plan[plan[s.QUERY_TARGET_FROM] + query]
    into, real_into = lanes[s.ASIDE_ROWS] + slot * width, lanes[s.ASIDE_REALS] + slot * reals
    key_into, has_into = lanes[s.ASIDE_KEY] + slot * extreme_width, lanes[s.ASIDE_HAS] + slot * extreme_width
    count = lanes[s.ASIDE_COUNT]
    if not lanes[lanes[s.ASIDE_USED] + slot]:
        lanes[lanes[s.ASIDE_USED] + slot] = 1
        for offset in range(width):
            set_zero(table, into + offset)
        for offset in range(reals):
            set_zero(real, real_into + offset)
        for offset in range(extreme_width):
            lanes[has_into + offset] = 0
    set_small(table, count, plan[plan[s.ACTION_CONSTANT] + move])
    for term in within(plan, s.ACTION_TERM_FROM, move):
        addend = base + plan[plan[s.ACTION_TERM_CELL] + term] * width
        sign = plan[plan[s.ACTION_TERM_SIGN] + term]
        add_signed(table, count, addend, sign)
        for offset in range(1, width):
            add_signed(table, into + offset, addend + offset, sign)
    add(table, into, count)
    for offset in range(width - 1):
        stream = plan[plan[s.ACTION_SLOT_STREAM] + plan[plan[s.ACTION_SLOT_FROM] + move] + offset]
        if stream >= 0:
            add_scaled(table, into + 1 + offset, count, rows[s.INT_ROWS + stream, row])
    for offset in range(reals):
        for source in within(plan, s.ACTION_FULL_SOURCE_FROM, move):
            add(real, real_into + offset, real_base + plan[plan[s.ACTION_FULL_SOURCE_CELL] + source] * reals + offset)
        stream = plan[plan[s.ACTION_REAL_STREAM] + plan[plan[s.ACTION_REAL_FROM] + move] + offset]
        if stream >= 0:
            add_scaled_float(real, real_into + offset, table, count, doubles[stream, row])
    for offset in range(extreme_width):
        key, has = moved_extreme(arrays, events, row, move, cells, offset)
        if has and (not lanes[has_into + offset] or key < lanes[key_into + offset]):
            lanes[key_into + offset] = key
            lanes[has_into + offset] = 1


@woven
def _commit(arrays, query, lane):  # type: ignore[no-untyped-def]
    """Adds the gain of each target to its cells."""
    plan, lanes, table, real = arrays.plan, arrays.lanes, arrays.table, arrays.real
    base, width, real_base, reals, extreme_base, extreme_width = cells_of_lane(arrays, query, lane)
    first = plan[plan[s.QUERY_TARGET_FROM] + query]
    for target in range(first, plan[plan[s.QUERY_TARGET_FROM] + query + 1]):
        slot = target - first
        if lanes[lanes[s.ASIDE_USED] + slot]:
            lanes[lanes[s.ASIDE_USED] + slot] = 0
            for index in within(plan, s.TARGET_ADD_FROM, target):
                into = base + plan[plan[s.TARGET_ADD_CELL] + index] * width
                for offset in range(width):
                    add(table, into + offset, lanes[s.ASIDE_ROWS] + slot * width + offset)
            for index in within(plan, s.TARGET_FULL_ADD_FROM, target):
                full_cell = plan[plan[s.TARGET_FULL_ADD_CELL] + index]
                for offset in range(reals):
                    add(real, real_base + full_cell * reals + offset, lanes[s.ASIDE_REALS] + slot * reals + offset)
                for offset in range(extreme_width):
                    into = extreme_base + full_cell * extreme_width + offset
                    at = slot * extreme_width + offset
                    take_extreme(lanes, into, lanes[lanes[s.ASIDE_KEY] + at], lanes[lanes[s.ASIDE_HAS] + at])


@woven
def _reset(arrays, query, lane, reset, feeding):  # type: ignore[no-untyped-def]
    """An event under NOT ends all trends of the guard. Guards that feed loops are reset after the loops' events."""
    plan, lanes, table, real = arrays.plan, arrays.lanes, arrays.table, arrays.real
    cells = cells_of_lane(arrays, query, lane)
    base, width, real_base, reals, extreme_base, extreme_width = cells
    first, last = plan[plan[s.ACTION_RESET_FEED_FROM] + reset], plan[plan[s.ACTION_RESET_FEED_FROM] + reset + 1]
    if (last > first) != feeding:
        return
    guard = base + plan[plan[s.ACTION_RESET_CELL] + reset] * width
    full_guard = plan[plan[s.ACTION_RESET_FULL_CELL] + reset]
    if table.exact:
        for index in range(first, last):
            ahead = base + plan[plan[s.LOOP_AHEAD] + plan[plan[s.ACTION_RESET_FEED] + index]] * width
            for offset in range(width):
                subtract(table, ahead + offset, guard + offset)
    for offset in range(width):
        set_zero(table, guard + offset)
    for offset in range(reals):
        set_zero(real, real_base + full_guard * reals + offset)
    for offset in range(extreme_width):
        lanes[lanes[s.LANE_HAS] + extreme_base + full_guard * extreme_width + offset] = 0
    for index in range(first, last):
        _sum_ahead(arrays, plan[plan[s.ACTION_RESET_FEED] + index], cells)


@woven
def _sum_ahead(arrays, loop, cells):  # type: ignore[no-untyped-def]
    """Computes `ahead` from its sources again, for numbers that can't be subtracted without loss."""
    plan, lanes, table, real = arrays.plan, arrays.lanes, arrays.table, arrays.real
    base, width, real_base, reals, extreme_base, extreme_width = cells
    if not table.exact:
        ahead = base + plan[plan[s.LOOP_AHEAD] + loop] * width
        state = base + plan[plan[s.LOOP_KEEPS_CELL] + plan[plan[s.LOOP_KEEPS_FROM] + loop]] * width
        for offset in range(width):
            copy(table, ahead + offset, state + offset)
            for index in within(plan, s.LOOP_OTHER_FROM, loop):
                add(table, ahead + offset, base + plan[plan[s.LOOP_OTHER_CELL] + index] * width + offset)
        if plan[plan[s.LOOP_STARTS] + loop]:
            add_small(table, ahead, np.int64(1))
    full_ahead = plan[plan[s.LOOP_FULL_AHEAD] + loop]
    full_state = plan[plan[s.LOOP_FULL_KEEPS_CELL] + plan[plan[s.LOOP_FULL_KEEPS_FROM] + loop]]
    for offset in range(reals):
        copy(real, real_base + full_ahead * reals + offset, real_base + full_state * reals + offset)
        for index in within(plan, s.LOOP_FULL_OTHER_FROM, loop):
            other = real_base + plan[plan[s.LOOP_FULL_OTHER_CELL] + index] * reals
            add(real, real_base + full_ahead * reals + offset, other + offset)
    for offset in range(extreme_width):
        at = extreme_base + full_ahead * extreme_width + offset
        lanes[lanes[s.LANE_HAS] + at] = 1 if offset == 0 and plan[plan[s.LOOP_STARTS] + loop] else 0
        lanes[lanes[s.LANE_KEY] + at] = 0
        here = extreme_base + full_state * extreme_width + offset
        take_extreme(lanes, at, lanes[lanes[s.LANE_KEY] + here], lanes[lanes[s.LANE_HAS] + here])
        for index in within(plan, s.LOOP_FULL_OTHER_FROM, loop):
            here = extreme_base + plan[plan[s.LOOP_FULL_OTHER_CELL] + index] * extreme_width + offset
            take_extreme(lanes, at, lanes[lanes[s.LANE_KEY] + here], lanes[lanes[s.LANE_HAS] + here])


@woven
def _enters(symbols, symbol, log):  # type: ignore[no-untyped-def]
    """Whether events of the symbol go into the log."""
    for index in within(symbols, s.SYMBOL_LOG_FROM, symbol):  # noqa: SIM110 - kernels have no generators
        if symbols[symbols[s.SYMBOL_LOG] + index] == log:
            return True
    return False


@woven
def _loop_now(arrays, events, span, loop, query, lane):  # type: ignore[no-untyped-def]
    """Applies to a loop the events of this time that are inside the lane's window."""
    plan, lanes, table, real = arrays.plan, arrays.lanes, arrays.table, arrays.real
    symbols, rows, doubles = events.symbols, events.rows, events.doubles
    cells = cells_of_lane(arrays, query, lane)
    base, width, real_base, reals, extreme_base, extreme_width = cells
    first, last, low_place, high_place = span
    log = plan[plan[s.LOOP_LOG] + loop]
    factor = np.int64(1)
    for row in range(first, last):
        if low_place <= rows[s.PLACE_ROW, row] < high_place and _enters(symbols, rows[s.SYMBOL_ROW, row], log):
            factor += 1
    full_ahead = plan[plan[s.LOOP_FULL_AHEAD] + loop]
    ahead, real_ahead = base + plan[plan[s.LOOP_AHEAD] + loop] * width, real_base + full_ahead * reals
    extreme_ahead = extreme_base + full_ahead * extreme_width
    if factor == 1 or not lanes[lanes[s.LANE_HAS] + extreme_ahead]:
        return
    add_to_gaining_cells(arrays, loop, cells, -1)
    for offset in range(width - 1):
        scale(table, ahead + 1 + offset, factor)
    for offset in range(reals):
        scale(real, real_ahead + offset, factor)
    for row in range(first, last):
        if low_place <= rows[s.PLACE_ROW, row] < high_place and _enters(symbols, rows[s.SYMBOL_ROW, row], log):
            for offset in range(width - 1):
                column = plan[plan[s.LOOP_SLOT_LOG] + plan[plan[s.LOOP_SLOT_FROM] + loop] + offset]
                if column >= 0:
                    stream = plan[plan[s.LOG_INT_STREAM] + plan[plan[s.LOG_INT_FROM] + log] + column]
                    value = rows[s.INT_ROWS + stream, row]
                    high, low = value >> WORD, value & ((1 << WORD) - 1)
                    add_times_sum(table, ahead + 1 + offset, ahead, high, low, lanes[s.ASIDE_SPARE])
            for offset in range(reals):
                column = plan[plan[s.LOOP_REAL_LOG] + plan[plan[s.LOOP_REAL_FROM] + loop] + offset]
                if column >= 0:
                    value = doubles[plan[plan[s.LOG_REAL_STREAM] + plan[plan[s.LOG_REAL_FROM] + log] + column], row]
                    add_scaled_float(real, real_ahead + offset, table, ahead, value)
            for offset in range(extreme_width - 1):
                column = plan[plan[s.LOOP_EXTREME_LOG] + plan[plan[s.LOOP_EXTREME_FROM] + loop] + offset]
                if column >= 0:
                    stream = plan[plan[s.LOG_EXTREME_STREAM] + plan[plan[s.LOG_EXTREME_FROM] + log] + column]
                    key, has = rows[plan[s.KEY_ROWS] + stream, row], rows[plan[s.HAS_ROWS] + stream, row]
                    take_extreme(lanes, extreme_ahead + 1 + offset, key, has)
    scale(table, ahead, factor)
    add_to_gaining_cells(arrays, loop, cells, 1)
    take_extremes(arrays, loop, cells)


@called_kernel
def take_time(arrays, events, span, serial, query, lane):  # type: ignore[no-untyped-def]
    """Applies all events of a time to a lane: all sums are computed before any cell changes."""
    plan, logs, lanes, symbols, rows = arrays.plan, arrays.logs, arrays.lanes, events.symbols, events.rows
    first, last, low_place, high_place = span
    for row in range(first, last):
        if low_place <= rows[s.PLACE_ROW, row] < high_place:
            symbol = rows[s.SYMBOL_ROW, row]
            for index in within(symbols, s.SYMBOL_ACTION_FROM, symbol):
                action = symbols[symbols[s.SYMBOL_ACTION] + index]
                if plan[plan[s.ACTION_QUERY] + action] == query:
                    for move in within(plan, s.ACTION_MOVE_FROM, action):
                        if is_possible(arrays, query, lane, move):
                            _move_aside(arrays, events, row, move, query, lane)
    for feeding in range(2):
        for row in range(first, last):
            if low_place <= rows[s.PLACE_ROW, row] < high_place:
                symbol = rows[s.SYMBOL_ROW, row]
                for index in within(symbols, s.SYMBOL_ACTION_FROM, symbol):
                    action = symbols[symbols[s.SYMBOL_ACTION] + index]
                    if plan[plan[s.ACTION_QUERY] + action] == query:
                        for reset in within(plan, s.ACTION_RESET_FROM, action):
                            _reset(arrays, query, lane, reset, feeding == 1)
        if feeding == 0:
            for loop in within(plan, s.QUERY_LOOP_FROM, query):
                log = plan[plan[s.LOOP_LOG] + loop]
                if logs[logs[s.ENTRY_MARKED] + log] == serial:
                    _loop_now(arrays, events, span, loop, query, lane)
                    position = lanes[lanes[s.LANE_POSITION_FROM] + lane] + loop - plan[plan[s.QUERY_LOOP_FROM] + query]
                    lanes[lanes[s.LANE_POSITION] + position] = logs[logs[s.ENTRY_ENTRIES] + log] + 1
                    logs[logs[s.ENTRY_FRESH] + log] = 1
    _commit(arrays, query, lane)
