"""A lane processes all events of one time together.

It is used for several events at one time, for events under NOT, and for actions that read cells that they write.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.lane import is_possible, moved_extreme
from ostinato.event_queries.trends.shared.lane_cells import cells_of_lane
from ostinato.event_queries.trends.shared.logs import WORD, add_keeps, add_times_sum, take_extreme, take_extremes
from ostinato.event_queries.trends.shared.sections import (
    ACTION_CONSTANT,
    ACTION_FULL_SOURCE_CELL,
    ACTION_FULL_SOURCE_FROM,
    ACTION_MOVE_FROM,
    ACTION_QUERY,
    ACTION_REAL_FROM,
    ACTION_REAL_STREAM,
    ACTION_RESET_CELL,
    ACTION_RESET_FEED,
    ACTION_RESET_FEED_FROM,
    ACTION_RESET_FROM,
    ACTION_RESET_FULL_CELL,
    ACTION_SLOT_FROM,
    ACTION_SLOT_STREAM,
    ACTION_TARGET,
    ACTION_TERM_CELL,
    ACTION_TERM_FROM,
    ACTION_TERM_SIGN,
    ASIDE_COUNT,
    ASIDE_HAS,
    ASIDE_KEY,
    ASIDE_REALS,
    ASIDE_ROWS,
    ASIDE_SPARE,
    ASIDE_USED,
    ENTRY_ENTRIES,
    ENTRY_FRESH,
    ENTRY_MARKED,
    HAS_ROWS,
    INT_ROWS,
    KEY_ROWS,
    LANE_HAS,
    LANE_KEY,
    LANE_POSITION,
    LANE_POSITION_FROM,
    LOG_EXTREME_FROM,
    LOG_EXTREME_STREAM,
    LOG_INT_FROM,
    LOG_INT_STREAM,
    LOG_REAL_FROM,
    LOG_REAL_STREAM,
    LOOP_AHEAD,
    LOOP_EXTREME_FROM,
    LOOP_EXTREME_LOG,
    LOOP_FULL_AHEAD,
    LOOP_FULL_KEEPS_CELL,
    LOOP_FULL_KEEPS_FROM,
    LOOP_FULL_OTHER_CELL,
    LOOP_FULL_OTHER_FROM,
    LOOP_KEEPS_CELL,
    LOOP_KEEPS_FROM,
    LOOP_LOG,
    LOOP_OTHER_CELL,
    LOOP_OTHER_FROM,
    LOOP_REAL_FROM,
    LOOP_REAL_LOG,
    LOOP_SLOT_FROM,
    LOOP_SLOT_LOG,
    LOOP_STARTS,
    PLACE_ROW,
    QUERY_LOOP_FROM,
    QUERY_TARGET_FROM,
    SYMBOL_ACTION,
    SYMBOL_ACTION_FROM,
    SYMBOL_LOG,
    SYMBOL_LOG_FROM,
    SYMBOL_ROW,
    TARGET_ADD_CELL,
    TARGET_ADD_FROM,
    TARGET_FULL_ADD_CELL,
    TARGET_FULL_ADD_FROM,
)
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
def _move_aside(plan, lanes, table, real, rows, doubles, row, move, query, lane):  # type: ignore[no-untyped-def]
    """Adds the sum of the move's sources to the gain of its target at this time, which is put aside."""
    base, width, real_base, reals, extreme_base, extreme_width = cells_of_lane(plan, lanes, query, lane)
    slot = plan[plan[ACTION_TARGET] + move] - plan[plan[QUERY_TARGET_FROM] + query]
    into, real_into, extreme_into = (
        lanes[ASIDE_ROWS] + slot * width,
        lanes[ASIDE_REALS] + slot * reals,
        slot * extreme_width,
    )
    count = lanes[ASIDE_COUNT]
    if not lanes[lanes[ASIDE_USED] + slot]:
        lanes[lanes[ASIDE_USED] + slot] = 1
        for offset in range(width):
            set_zero(table, into + offset)
        for offset in range(reals):
            set_zero(real, real_into + offset)
        for offset in range(extreme_width):
            lanes[lanes[ASIDE_HAS] + extreme_into + offset] = 0
    set_small(table, count, plan[plan[ACTION_CONSTANT] + move])
    for term in range(plan[plan[ACTION_TERM_FROM] + move], plan[plan[ACTION_TERM_FROM] + move + 1]):
        addend = base + plan[plan[ACTION_TERM_CELL] + term] * width
        if plan[plan[ACTION_TERM_SIGN] + term] > 0:
            add(table, count, addend)
        else:
            subtract(table, count, addend)
        for offset in range(1, width):
            if plan[plan[ACTION_TERM_SIGN] + term] > 0:
                add(table, into + offset, addend + offset)
            else:
                subtract(table, into + offset, addend + offset)
    add(table, into, count)
    for offset in range(width - 1):
        stream = plan[plan[ACTION_SLOT_STREAM] + plan[plan[ACTION_SLOT_FROM] + move] + offset]
        if stream >= 0:
            add_scaled(table, into + 1 + offset, count, rows[INT_ROWS + stream, row])
    for offset in range(reals):
        for source in range(plan[plan[ACTION_FULL_SOURCE_FROM] + move], plan[plan[ACTION_FULL_SOURCE_FROM] + move + 1]):
            add(real, real_into + offset, real_base + plan[plan[ACTION_FULL_SOURCE_CELL] + source] * reals + offset)
        stream = plan[plan[ACTION_REAL_STREAM] + plan[plan[ACTION_REAL_FROM] + move] + offset]
        if stream >= 0:
            add_scaled_float(real, real_into + offset, table, count, doubles[stream, row])
    for offset in range(extreme_width):
        key, has = moved_extreme(plan, lanes, rows, row, move, extreme_base, extreme_width, offset)
        if has and (
            not lanes[lanes[ASIDE_HAS] + extreme_into + offset] or key < lanes[lanes[ASIDE_KEY] + extreme_into + offset]
        ):
            lanes[lanes[ASIDE_KEY] + extreme_into + offset] = key
            lanes[lanes[ASIDE_HAS] + extreme_into + offset] = 1


@woven
def _commit(plan, lanes, table, real, query, lane):  # type: ignore[no-untyped-def]
    """Adds the gain of each target to its cells."""
    base, width, real_base, reals, extreme_base, extreme_width = cells_of_lane(plan, lanes, query, lane)
    first = plan[plan[QUERY_TARGET_FROM] + query]
    for target in range(first, plan[plan[QUERY_TARGET_FROM] + query + 1]):
        slot = target - first
        if lanes[lanes[ASIDE_USED] + slot]:
            lanes[lanes[ASIDE_USED] + slot] = 0
            for index in range(plan[plan[TARGET_ADD_FROM] + target], plan[plan[TARGET_ADD_FROM] + target + 1]):
                for offset in range(width):
                    add(
                        table,
                        base + plan[plan[TARGET_ADD_CELL] + index] * width + offset,
                        lanes[ASIDE_ROWS] + slot * width + offset,
                    )
            for index in range(
                plan[plan[TARGET_FULL_ADD_FROM] + target], plan[plan[TARGET_FULL_ADD_FROM] + target + 1]
            ):
                full_cell = plan[plan[TARGET_FULL_ADD_CELL] + index]
                for offset in range(reals):
                    add(real, real_base + full_cell * reals + offset, lanes[ASIDE_REALS] + slot * reals + offset)
                for offset in range(extreme_width):
                    at = slot * extreme_width + offset
                    take_extreme(
                        lanes,
                        extreme_base + full_cell * extreme_width + offset,
                        lanes[lanes[ASIDE_KEY] + at],
                        lanes[lanes[ASIDE_HAS] + at],
                    )


@woven
def _reset(plan, lanes, table, real, query, lane, reset, feeding):  # type: ignore[no-untyped-def]
    """An event under NOT ends all trends of the guard. Guards that feed loops are reset after the loops' events."""
    cells = cells_of_lane(plan, lanes, query, lane)
    base, width, real_base, reals, extreme_base, extreme_width = cells
    first, last = plan[plan[ACTION_RESET_FEED_FROM] + reset], plan[plan[ACTION_RESET_FEED_FROM] + reset + 1]
    if (last > first) != feeding:
        return
    guard, full_guard = base + plan[plan[ACTION_RESET_CELL] + reset] * width, plan[plan[ACTION_RESET_FULL_CELL] + reset]
    if table.exact:
        for index in range(first, last):
            ahead = base + plan[plan[LOOP_AHEAD] + plan[plan[ACTION_RESET_FEED] + index]] * width
            for offset in range(width):
                subtract(table, ahead + offset, guard + offset)
    for offset in range(width):
        set_zero(table, guard + offset)
    for offset in range(reals):
        set_zero(real, real_base + full_guard * reals + offset)
    for offset in range(extreme_width):
        lanes[lanes[LANE_HAS] + extreme_base + full_guard * extreme_width + offset] = 0
    for index in range(first, last):
        _sum_ahead(plan, plan[plan[ACTION_RESET_FEED] + index], lanes, table, real, cells)


@woven
def _sum_ahead(plan, loop, lanes, table, real, cells):  # type: ignore[no-untyped-def]
    """Computes `ahead` from its sources again, for numbers that can't be subtracted without loss."""
    base, width, real_base, reals, extreme_base, extreme_width = cells
    if not table.exact:
        ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
        state = base + plan[plan[LOOP_KEEPS_CELL] + plan[plan[LOOP_KEEPS_FROM] + loop]] * width
        for offset in range(width):
            copy(table, ahead + offset, state + offset)
            for index in range(plan[plan[LOOP_OTHER_FROM] + loop], plan[plan[LOOP_OTHER_FROM] + loop + 1]):
                add(table, ahead + offset, base + plan[plan[LOOP_OTHER_CELL] + index] * width + offset)
        if plan[plan[LOOP_STARTS] + loop]:
            add_small(table, ahead, np.int64(1))
    full_ahead = plan[plan[LOOP_FULL_AHEAD] + loop]
    full_state = plan[plan[LOOP_FULL_KEEPS_CELL] + plan[plan[LOOP_FULL_KEEPS_FROM] + loop]]
    for offset in range(reals):
        copy(real, real_base + full_ahead * reals + offset, real_base + full_state * reals + offset)
        for index in range(plan[plan[LOOP_FULL_OTHER_FROM] + loop], plan[plan[LOOP_FULL_OTHER_FROM] + loop + 1]):
            add(
                real,
                real_base + full_ahead * reals + offset,
                real_base + plan[plan[LOOP_FULL_OTHER_CELL] + index] * reals + offset,
            )
    for offset in range(extreme_width):
        at = extreme_base + full_ahead * extreme_width + offset
        lanes[lanes[LANE_HAS] + at] = 1 if offset == 0 and plan[plan[LOOP_STARTS] + loop] else 0
        lanes[lanes[LANE_KEY] + at] = 0
        here = extreme_base + full_state * extreme_width + offset
        take_extreme(lanes, at, lanes[lanes[LANE_KEY] + here], lanes[lanes[LANE_HAS] + here])
        for index in range(plan[plan[LOOP_FULL_OTHER_FROM] + loop], plan[plan[LOOP_FULL_OTHER_FROM] + loop + 1]):
            here = extreme_base + plan[plan[LOOP_FULL_OTHER_CELL] + index] * extreme_width + offset
            take_extreme(lanes, at, lanes[lanes[LANE_KEY] + here], lanes[lanes[LANE_HAS] + here])


@woven
def _enters(symbols, symbol, log):  # type: ignore[no-untyped-def]
    """Whether events of the symbol go into the log."""
    for index in range(symbols[symbols[SYMBOL_LOG_FROM] + symbol], symbols[symbols[SYMBOL_LOG_FROM] + symbol + 1]):
        if symbols[symbols[SYMBOL_LOG] + index] == log:
            return True
    return False


@woven
def _loop_now(plan, lanes, table, real, symbols, rows, doubles, span, loop, query, lane):  # type: ignore[no-untyped-def]
    """Applies to a loop the events of this time that are inside the lane's window."""
    cells = cells_of_lane(plan, lanes, query, lane)
    base, width, real_base, reals, extreme_base, extreme_width = cells
    first, last, low_place, high_place = span
    log = plan[plan[LOOP_LOG] + loop]
    events = np.int64(0)
    for row in range(first, last):
        if low_place <= rows[PLACE_ROW, row] < high_place and _enters(symbols, rows[SYMBOL_ROW, row], log):
            events += 1
    if events == 0 or not lanes[lanes[LANE_HAS] + extreme_base + plan[plan[LOOP_FULL_AHEAD] + loop] * extreme_width]:
        return
    ahead, real_ahead = (
        base + plan[plan[LOOP_AHEAD] + loop] * width,
        real_base + plan[plan[LOOP_FULL_AHEAD] + loop] * reals,
    )
    add_keeps(plan, loop, table, real, cells, True)
    for offset in range(width - 1):
        scale(table, ahead + 1 + offset, events + 1)
    for offset in range(reals):
        scale(real, real_ahead + offset, events + 1)
    for row in range(first, last):
        if low_place <= rows[PLACE_ROW, row] < high_place and _enters(symbols, rows[SYMBOL_ROW, row], log):
            for offset in range(width - 1):
                column = plan[plan[LOOP_SLOT_LOG] + plan[plan[LOOP_SLOT_FROM] + loop] + offset]
                if column >= 0:
                    value = rows[INT_ROWS + plan[plan[LOG_INT_STREAM] + plan[plan[LOG_INT_FROM] + log] + column], row]
                    add_times_sum(
                        table, ahead + 1 + offset, ahead, value >> WORD, value & ((1 << WORD) - 1), lanes[ASIDE_SPARE]
                    )
            for offset in range(reals):
                column = plan[plan[LOOP_REAL_LOG] + plan[plan[LOOP_REAL_FROM] + loop] + offset]
                if column >= 0:
                    value = doubles[plan[plan[LOG_REAL_STREAM] + plan[plan[LOG_REAL_FROM] + log] + column], row]
                    add_scaled_float(real, real_ahead + offset, table, ahead, value)
            for offset in range(extreme_width - 1):
                column = plan[plan[LOOP_EXTREME_LOG] + plan[plan[LOOP_EXTREME_FROM] + loop] + offset]
                if column >= 0:
                    stream = plan[plan[LOG_EXTREME_STREAM] + plan[plan[LOG_EXTREME_FROM] + log] + column]
                    at = extreme_base + plan[plan[LOOP_FULL_AHEAD] + loop] * extreme_width + 1 + offset
                    take_extreme(lanes, at, rows[plan[KEY_ROWS] + stream, row], rows[plan[HAS_ROWS] + stream, row])
    scale(table, ahead, events + 1)
    add_keeps(plan, loop, table, real, cells, False)
    take_extremes(plan, loop, lanes, cells)


@called_kernel
def take_time(plan, logs, log_sums, lanes, table, real, symbols, rows, doubles, span, serial, query, lane, counters):  # type: ignore[no-untyped-def]
    """Applies all events of a time to a lane: all sums are computed before any cell changes."""
    first, last, low_place, high_place = span
    for row in range(first, last):
        if low_place <= rows[PLACE_ROW, row] < high_place:
            symbol = rows[SYMBOL_ROW, row]
            for index in range(
                symbols[symbols[SYMBOL_ACTION_FROM] + symbol], symbols[symbols[SYMBOL_ACTION_FROM] + symbol + 1]
            ):
                action = symbols[symbols[SYMBOL_ACTION] + index]
                if plan[plan[ACTION_QUERY] + action] == query:
                    for move in range(plan[plan[ACTION_MOVE_FROM] + action], plan[plan[ACTION_MOVE_FROM] + action + 1]):
                        if is_possible(plan, lanes, query, lane, move):
                            _move_aside(plan, lanes, table, real, rows, doubles, row, move, query, lane)
    for feeding in range(2):
        for row in range(first, last):
            if low_place <= rows[PLACE_ROW, row] < high_place:
                symbol = rows[SYMBOL_ROW, row]
                for index in range(
                    symbols[symbols[SYMBOL_ACTION_FROM] + symbol], symbols[symbols[SYMBOL_ACTION_FROM] + symbol + 1]
                ):
                    action = symbols[symbols[SYMBOL_ACTION] + index]
                    if plan[plan[ACTION_QUERY] + action] == query:
                        for reset in range(
                            plan[plan[ACTION_RESET_FROM] + action], plan[plan[ACTION_RESET_FROM] + action + 1]
                        ):
                            _reset(plan, lanes, table, real, query, lane, reset, feeding == 1)
        if feeding == 0:
            for loop in range(plan[plan[QUERY_LOOP_FROM] + query], plan[plan[QUERY_LOOP_FROM] + query + 1]):
                if logs[logs[ENTRY_MARKED] + plan[plan[LOOP_LOG] + loop]] == serial:
                    _loop_now(plan, lanes, table, real, symbols, rows, doubles, span, loop, query, lane)
                    position = lanes[lanes[LANE_POSITION_FROM] + lane] + loop - plan[plan[QUERY_LOOP_FROM] + query]
                    lanes[lanes[LANE_POSITION] + position] = logs[logs[ENTRY_ENTRIES] + plan[plan[LOOP_LOG] + loop]] + 1
                    logs[logs[ENTRY_FRESH] + plan[plan[LOOP_LOG] + loop]] = 1
    _commit(plan, lanes, table, real, query, lane)
