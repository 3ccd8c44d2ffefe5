"""A lane takes all events of one time: several of them, those under NOT, and whatever reads what it writes."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.lane import is_possible, moved_extreme
from ostinato.event_queries.trends.shared.logs import WORD, add_keeps, add_times_sum, take_extreme, take_extremes
from ostinato.event_queries.trends.shared.places import cell_widths, lane_starts
from ostinato.event_queries.trends.shared.sections import (
    ACTION_CONSTANT,
    ACTION_ESOURCE_CELL,
    ACTION_ESOURCE_FROM,
    ACTION_MOVE_FROM,
    ACTION_QUERY,
    ACTION_REAL_FROM,
    ACTION_REAL_STREAM,
    ACTION_RESET_CELL,
    ACTION_RESET_ECELL,
    ACTION_RESET_FEED,
    ACTION_RESET_FEED_FROM,
    ACTION_RESET_FROM,
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
    LANE_EXTREME,
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
    LOOP_EAHEAD,
    LOOP_EKEEPS_CELL,
    LOOP_EKEEPS_FROM,
    LOOP_EOTHER_CELL,
    LOOP_EOTHER_FROM,
    LOOP_EXTREME_FROM,
    LOOP_EXTREME_LOG,
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
    QUERY_EXTREMES,
    QUERY_LOOP_FROM,
    QUERY_TARGET_FROM,
    SYMBOL_ACTION,
    SYMBOL_ACTION_FROM,
    SYMBOL_LOG,
    SYMBOL_LOG_FROM,
    SYMBOL_ROW,
    TARGET_ADD_CELL,
    TARGET_ADD_FROM,
    TARGET_EADD_CELL,
    TARGET_EADD_FROM,
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
    """The move's sum is added to what its target gets at this time."""
    width, reals, ewidth = cell_widths(plan, query)
    base, real_base, extreme_base = lane_starts(lanes, lane)
    slot = plan[plan[ACTION_TARGET] + move] - plan[plan[QUERY_TARGET_FROM] + query]
    into, rinto, einto = lanes[ASIDE_ROWS] + slot * width, lanes[ASIDE_REALS] + slot * reals, slot * ewidth
    count = lanes[ASIDE_COUNT]
    if not lanes[lanes[ASIDE_USED] + slot]:
        lanes[lanes[ASIDE_USED] + slot] = 1
        for part in range(width):
            set_zero(table, into + part)
        for part in range(reals):
            set_zero(real, rinto + part)
        for part in range(ewidth):
            lanes[lanes[ASIDE_HAS] + einto + part] = 0
    set_small(table, count, plan[plan[ACTION_CONSTANT] + move])
    for term in range(plan[plan[ACTION_TERM_FROM] + move], plan[plan[ACTION_TERM_FROM] + move + 1]):
        what = base + plan[plan[ACTION_TERM_CELL] + term] * width
        if plan[plan[ACTION_TERM_SIGN] + term] > 0:
            add(table, count, what)
        else:
            subtract(table, count, what)
        for part in range(1, width):
            if plan[plan[ACTION_TERM_SIGN] + term] > 0:
                add(table, into + part, what + part)
            else:
                subtract(table, into + part, what + part)
    add(table, into, count)
    for part in range(width - 1):
        stream = plan[plan[ACTION_SLOT_STREAM] + plan[plan[ACTION_SLOT_FROM] + move] + part]
        if stream >= 0:
            add_scaled(table, into + 1 + part, count, rows[INT_ROWS + stream, row])
    for part in range(reals):
        for source in range(plan[plan[ACTION_ESOURCE_FROM] + move], plan[plan[ACTION_ESOURCE_FROM] + move + 1]):
            add(real, rinto + part, real_base + plan[plan[ACTION_ESOURCE_CELL] + source] * reals + part)
        stream = plan[plan[ACTION_REAL_STREAM] + plan[plan[ACTION_REAL_FROM] + move] + part]
        if stream >= 0:
            add_scaled_float(real, rinto + part, table, count, doubles[stream, row])
    for part in range(ewidth):
        key, has = moved_extreme(plan, lanes, rows, row, move, extreme_base, ewidth, part)
        if has and (not lanes[lanes[ASIDE_HAS] + einto + part] or key < lanes[lanes[ASIDE_KEY] + einto + part]):
            lanes[lanes[ASIDE_KEY] + einto + part] = key
            lanes[lanes[ASIDE_HAS] + einto + part] = 1


@woven
def _commit(plan, lanes, table, real, query, lane):  # type: ignore[no-untyped-def]
    """Each target's sum goes to the cells that get it."""
    width, reals, ewidth = cell_widths(plan, query)
    base, real_base, extreme_base = lane_starts(lanes, lane)
    first = plan[plan[QUERY_TARGET_FROM] + query]
    for target in range(first, plan[plan[QUERY_TARGET_FROM] + query + 1]):
        slot = target - first
        if lanes[lanes[ASIDE_USED] + slot]:
            lanes[lanes[ASIDE_USED] + slot] = 0
            for place in range(plan[plan[TARGET_ADD_FROM] + target], plan[plan[TARGET_ADD_FROM] + target + 1]):
                for part in range(width):
                    add(
                        table,
                        base + plan[plan[TARGET_ADD_CELL] + place] * width + part,
                        lanes[ASIDE_ROWS] + slot * width + part,
                    )
            for place in range(plan[plan[TARGET_EADD_FROM] + target], plan[plan[TARGET_EADD_FROM] + target + 1]):
                ecell = plan[plan[TARGET_EADD_CELL] + place]
                for part in range(reals):
                    add(real, real_base + ecell * reals + part, lanes[ASIDE_REALS] + slot * reals + part)
                for part in range(ewidth):
                    at = slot * ewidth + part
                    take_extreme(
                        lanes,
                        extreme_base + ecell * ewidth + part,
                        lanes[lanes[ASIDE_KEY] + at],
                        lanes[lanes[ASIDE_HAS] + at],
                    )


@woven
def _reset(plan, lanes, table, real, query, lane, reset, feeding):  # type: ignore[no-untyped-def]
    """An event under NOT: what the guard holds can't go on any more. Those that feed loops come after their events."""
    width, reals, ewidth = cell_widths(plan, query)
    base, real_base, extreme_base = lane_starts(lanes, lane)
    first, last = plan[plan[ACTION_RESET_FEED_FROM] + reset], plan[plan[ACTION_RESET_FEED_FROM] + reset + 1]
    if (last > first) != feeding:
        return
    guard, eguard = base + plan[plan[ACTION_RESET_CELL] + reset] * width, plan[plan[ACTION_RESET_ECELL] + reset]
    if table.exact:
        for place in range(first, last):
            ahead = base + plan[plan[LOOP_AHEAD] + plan[plan[ACTION_RESET_FEED] + place]] * width
            for part in range(width):
                subtract(table, ahead + part, guard + part)
    for part in range(width):
        set_zero(table, guard + part)
    for part in range(reals):
        set_zero(real, real_base + eguard * reals + part)
    for part in range(ewidth):
        lanes[lanes[LANE_HAS] + extreme_base + eguard * ewidth + part] = 0
    for place in range(first, last):
        _sum_ahead(
            plan,
            plan[plan[ACTION_RESET_FEED] + place],
            lanes,
            table,
            real,
            (base, width, real_base, reals),
            extreme_base,
            ewidth,
        )


@woven
def _sum_ahead(plan, loop, lanes, table, real, places, extreme_base, ewidth):  # type: ignore[no-untyped-def]
    """`ahead` from its sources again, where it can't be had by subtraction."""
    base, width, real_base, reals = places
    if not table.exact:
        ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
        state = base + plan[plan[LOOP_KEEPS_CELL] + plan[plan[LOOP_KEEPS_FROM] + loop]] * width
        for part in range(width):
            copy(table, ahead + part, state + part)
            for place in range(plan[plan[LOOP_OTHER_FROM] + loop], plan[plan[LOOP_OTHER_FROM] + loop + 1]):
                add(table, ahead + part, base + plan[plan[LOOP_OTHER_CELL] + place] * width + part)
        if plan[plan[LOOP_STARTS] + loop]:
            add_small(table, ahead, np.int64(1))
    eahead = plan[plan[LOOP_EAHEAD] + loop]
    estate = plan[plan[LOOP_EKEEPS_CELL] + plan[plan[LOOP_EKEEPS_FROM] + loop]]
    for part in range(reals):
        copy(real, real_base + eahead * reals + part, real_base + estate * reals + part)
        for place in range(plan[plan[LOOP_EOTHER_FROM] + loop], plan[plan[LOOP_EOTHER_FROM] + loop + 1]):
            add(
                real, real_base + eahead * reals + part, real_base + plan[plan[LOOP_EOTHER_CELL] + place] * reals + part
            )
    for part in range(ewidth):
        at = extreme_base + eahead * ewidth + part
        lanes[lanes[LANE_HAS] + at] = 1 if part == 0 and plan[plan[LOOP_STARTS] + loop] else 0
        lanes[lanes[LANE_KEY] + at] = 0
        here = extreme_base + estate * ewidth + part
        take_extreme(lanes, at, lanes[lanes[LANE_KEY] + here], lanes[lanes[LANE_HAS] + here])
        for place in range(plan[plan[LOOP_EOTHER_FROM] + loop], plan[plan[LOOP_EOTHER_FROM] + loop + 1]):
            here = extreme_base + plan[plan[LOOP_EOTHER_CELL] + place] * ewidth + part
            take_extreme(lanes, at, lanes[lanes[LANE_KEY] + here], lanes[lanes[LANE_HAS] + here])


@woven
def _enters(symbols, symbol, log):  # type: ignore[no-untyped-def]
    for place in range(symbols[symbols[SYMBOL_LOG_FROM] + symbol], symbols[symbols[SYMBOL_LOG_FROM] + symbol + 1]):
        if symbols[symbols[SYMBOL_LOG] + place] == log:
            return True
    return False


@woven
def _loop_now(plan, lanes, table, real, symbols, rows, doubles, span, loop, query, lane):  # type: ignore[no-untyped-def]
    """A loop takes the events of this time, those within the lane's window."""
    width, reals, ewidth = cell_widths(plan, query)
    base, real_base, extreme_base = lane_starts(lanes, lane)
    first, last, low_place, high_place = span
    log = plan[plan[LOOP_LOG] + loop]
    events = np.int64(0)
    for row in range(first, last):
        if low_place <= rows[PLACE_ROW, row] < high_place and _enters(symbols, rows[SYMBOL_ROW, row], log):
            events += 1
    if events == 0 or not lanes[lanes[LANE_HAS] + extreme_base + plan[plan[LOOP_EAHEAD] + loop] * ewidth]:
        return
    ahead, rahead = base + plan[plan[LOOP_AHEAD] + loop] * width, real_base + plan[plan[LOOP_EAHEAD] + loop] * reals
    add_keeps(plan, loop, table, real, base, width, real_base, reals, True)
    for part in range(width - 1):
        scale(table, ahead + 1 + part, events + 1)
    for part in range(reals):
        scale(real, rahead + part, events + 1)
    for row in range(first, last):
        if low_place <= rows[PLACE_ROW, row] < high_place and _enters(symbols, rows[SYMBOL_ROW, row], log):
            for part in range(width - 1):
                column = plan[plan[LOOP_SLOT_LOG] + plan[plan[LOOP_SLOT_FROM] + loop] + part]
                if column >= 0:
                    value = rows[INT_ROWS + plan[plan[LOG_INT_STREAM] + plan[plan[LOG_INT_FROM] + log] + column], row]
                    add_times_sum(
                        table, ahead + 1 + part, ahead, value >> WORD, value & ((1 << WORD) - 1), lanes[ASIDE_SPARE]
                    )
            for part in range(reals):
                column = plan[plan[LOOP_REAL_LOG] + plan[plan[LOOP_REAL_FROM] + loop] + part]
                if column >= 0:
                    value = doubles[plan[plan[LOG_REAL_STREAM] + plan[plan[LOG_REAL_FROM] + log] + column], row]
                    add_scaled_float(real, rahead + part, table, ahead, value)
            for part in range(ewidth - 1):
                column = plan[plan[LOOP_EXTREME_LOG] + plan[plan[LOOP_EXTREME_FROM] + loop] + part]
                if column >= 0:
                    stream = plan[plan[LOG_EXTREME_STREAM] + plan[plan[LOG_EXTREME_FROM] + log] + column]
                    at = extreme_base + plan[plan[LOOP_EAHEAD] + loop] * ewidth + 1 + part
                    take_extreme(lanes, at, rows[plan[KEY_ROWS] + stream, row], rows[plan[HAS_ROWS] + stream, row])
    scale(table, ahead, events + 1)
    add_keeps(plan, loop, table, real, base, width, real_base, reals, False)
    take_extremes(plan, loop, lanes, extreme_base, ewidth)


@called_kernel
def take_time(plan, logs, log_sums, lanes, table, real, symbols, rows, doubles, span, serial, query, lane, counters):  # type: ignore[no-untyped-def]
    """A lane takes all events of a time at once: every sum is formed before any is changed."""
    ewidth = 1 + plan[plan[QUERY_EXTREMES] + query]
    first, last, low_place, high_place = span
    for row in range(first, last):
        if low_place <= rows[PLACE_ROW, row] < high_place:
            symbol = rows[SYMBOL_ROW, row]
            for place in range(
                symbols[symbols[SYMBOL_ACTION_FROM] + symbol], symbols[symbols[SYMBOL_ACTION_FROM] + symbol + 1]
            ):
                action = symbols[symbols[SYMBOL_ACTION] + place]
                if plan[plan[ACTION_QUERY] + action] == query:
                    for move in range(plan[plan[ACTION_MOVE_FROM] + action], plan[plan[ACTION_MOVE_FROM] + action + 1]):
                        if is_possible(plan, move, lanes, lanes[lanes[LANE_EXTREME] + lane], ewidth):
                            _move_aside(plan, lanes, table, real, rows, doubles, row, move, query, lane)
    for feeding in range(2):
        for row in range(first, last):
            if low_place <= rows[PLACE_ROW, row] < high_place:
                symbol = rows[SYMBOL_ROW, row]
                for place in range(
                    symbols[symbols[SYMBOL_ACTION_FROM] + symbol], symbols[symbols[SYMBOL_ACTION_FROM] + symbol + 1]
                ):
                    action = symbols[symbols[SYMBOL_ACTION] + place]
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
