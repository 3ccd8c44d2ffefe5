"""One lane of the shared kernel: bringing it up to date, and an event of the query's own."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.logs import WORD, catch_up, take_extreme
from ostinato.event_queries.trends.shared.places import cell_widths, lane_starts
from ostinato.event_queries.trends.shared.sections import (
    ACTION_CONSTANT,
    ACTION_ESOURCE_CELL,
    ACTION_ESOURCE_FROM,
    ACTION_EXTREME_FROM,
    ACTION_EXTREME_STREAM,
    ACTION_REAL_FROM,
    ACTION_REAL_STREAM,
    ACTION_SLOT_FROM,
    ACTION_SLOT_STREAM,
    ACTION_STARTS,
    ACTION_TARGET,
    ACTION_TERM_CELL,
    ACTION_TERM_FROM,
    ACTION_TERM_SIGN,
    ASIDE_SPARE,
    ENTRY_ENTRIES,
    ENTRY_ENTRY_FROM,
    ENTRY_GROWTH,
    HAS_ROWS,
    INT_ROWS,
    KEY_ROWS,
    LANE_HAS,
    LANE_KEY,
    LANE_POSITION,
    LANE_POSITION_FROM,
    LANE_ROW,
    LOOP_LOG,
    QUERY_LOOP_FROM,
    SNAPSHOTS,
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
    set_small,
    subtract,
    woven,
)

_SPARE_LIMBS = 5
_BITS = 60


@woven
def _has_room(plan, logs, lanes, table, query, lane):  # type: ignore[no-untyped-def]
    """Whether every number of the lane fits after it is brought up to date and changed once."""
    if not table.exact:
        return True
    first = lanes[lanes[LANE_ROW] + lane]
    longest = np.int64(1)
    for row in range(first, lanes[lanes[LANE_ROW] + lane + 1]):
        longest = max(longest, table.length[row])
    growth = np.int64(0)
    position = lanes[lanes[LANE_POSITION_FROM] + lane]
    for loop in range(plan[plan[QUERY_LOOP_FROM] + query], plan[plan[QUERY_LOOP_FROM] + query + 1]):
        log = plan[plan[LOOP_LOG] + loop]
        entries = logs[logs[ENTRY_ENTRY_FROM] + log]
        taken = lanes[lanes[LANE_POSITION] + position]
        if taken < logs[logs[ENTRY_ENTRIES] + log]:
            growth += (
                logs[logs[ENTRY_GROWTH] + entries + logs[logs[ENTRY_ENTRIES] + log]]
                - logs[logs[ENTRY_GROWTH] + entries + taken]
            )
        position += 1
    return longest + (growth + _BITS - 1) // _BITS + _SPARE_LIMBS <= table.limbs.shape[1]


@woven
def _catch_up_all(plan, logs, log_sums, lanes, table, real, query, lane, spare, counters):  # type: ignore[no-untyped-def]
    width, reals, ewidth = cell_widths(plan, query)
    base, real_base, extreme_base = lane_starts(lanes, lane)
    places = (base, width, real_base, reals)
    first = plan[plan[QUERY_LOOP_FROM] + query]
    for loop in range(first, plan[plan[QUERY_LOOP_FROM] + query + 1]):
        position = lanes[lanes[LANE_POSITION_FROM] + lane] + loop - first
        counters[SNAPSHOTS] += catch_up(
            plan, loop, logs, log_sums, lanes, table, real, places, extreme_base, ewidth, position, spare
        )


@called_kernel
def ready(plan, logs, log_sums, lanes, table, real, query, lane, counters):  # type: ignore[no-untyped-def]
    """Brings a lane up to date, if there is room for what it will get then."""
    if not _has_room(plan, logs, lanes, table, query, lane):
        return False
    _catch_up_all(plan, logs, log_sums, lanes, table, real, query, lane, lanes[ASIDE_SPARE], counters)
    return True


@woven
def is_possible(plan, move, lanes, extreme_base, ewidth):  # type: ignore[no-untyped-def]
    """Whether any trend is there that the move could extend."""
    if plan[plan[ACTION_STARTS] + move]:
        return True
    for source in range(plan[plan[ACTION_ESOURCE_FROM] + move], plan[plan[ACTION_ESOURCE_FROM] + move + 1]):
        if lanes[lanes[LANE_HAS] + extreme_base + plan[plan[ACTION_ESOURCE_CELL] + source] * ewidth]:
            return True
    return False


@called_kernel
def move_at_once(plan, lanes, table, real, rows, doubles, row, move, query, lane):  # type: ignore[no-untyped-def]
    """The move's sum is added to every cell that gets it, where none of them is one that it reads."""
    width, reals, ewidth = cell_widths(plan, query)
    base, real_base, extreme_base = lane_starts(lanes, lane)
    target = plan[plan[ACTION_TARGET] + move]
    constant = plan[plan[ACTION_CONSTANT] + move]
    for place in range(plan[plan[TARGET_ADD_FROM] + target], plan[plan[TARGET_ADD_FROM] + target + 1]):
        into = base + plan[plan[TARGET_ADD_CELL] + place] * width
        for term in range(plan[plan[ACTION_TERM_FROM] + move], plan[plan[ACTION_TERM_FROM] + move + 1]):
            what = base + plan[plan[ACTION_TERM_CELL] + term] * width
            for part in range(width):
                if plan[plan[ACTION_TERM_SIGN] + term] > 0:
                    add(table, into + part, what + part)
                else:
                    subtract(table, into + part, what + part)
            for part in range(width - 1):
                stream = plan[plan[ACTION_SLOT_STREAM] + plan[plan[ACTION_SLOT_FROM] + move] + part]
                if stream >= 0:
                    value = rows[INT_ROWS + stream, row]
                    high, low = value >> WORD, value & ((1 << WORD) - 1)
                    if plan[plan[ACTION_TERM_SIGN] + term] > 0:
                        add_scaled(table, into + 1 + part, what, value)
                    else:
                        # -(-2**63) isn't an int64, so in two parts.
                        add_scaled(table, into + 1 + part, what, -low)
                        add_scaled(table, into + 1 + part, what, (-high << (WORD - 1)))
                        add_scaled(table, into + 1 + part, what, (-high << (WORD - 1)))
        if constant != 0:
            add_small(table, into, constant)
            for part in range(width - 1):
                stream = plan[plan[ACTION_SLOT_STREAM] + plan[plan[ACTION_SLOT_FROM] + move] + part]
                if stream >= 0:
                    for _ in range(abs(constant)):
                        value = rows[INT_ROWS + stream, row]
                        if constant > 0:
                            add_small(table, into + 1 + part, value)
                        else:
                            add_small(table, into + 1 + part, -(value >> 1))
                            add_small(table, into + 1 + part, -(value - (value >> 1)))
    if reals:
        for place in range(plan[plan[TARGET_EADD_FROM] + target], plan[plan[TARGET_EADD_FROM] + target + 1]):
            into = real_base + plan[plan[TARGET_EADD_CELL] + place] * reals
            for part in range(reals):
                for source in range(plan[plan[ACTION_ESOURCE_FROM] + move], plan[plan[ACTION_ESOURCE_FROM] + move + 1]):
                    add(real, into + part, real_base + plan[plan[ACTION_ESOURCE_CELL] + source] * reals + part)
                stream = plan[plan[ACTION_REAL_STREAM] + plan[plan[ACTION_REAL_FROM] + move] + part]
                if stream >= 0:
                    value = doubles[stream, row]
                    for term in range(plan[plan[ACTION_TERM_FROM] + move], plan[plan[ACTION_TERM_FROM] + move + 1]):
                        add_scaled_float(
                            real, into + part, table, base + plan[plan[ACTION_TERM_CELL] + term] * width, value
                        )
                    for _ in range(constant):
                        _add_double(real, into + part, value)
    for part in range(ewidth):
        key, has = moved_extreme(plan, lanes, rows, row, move, extreme_base, ewidth, part)
        if has:
            for place in range(plan[plan[TARGET_EADD_FROM] + target], plan[plan[TARGET_EADD_FROM] + target + 1]):
                take_extreme(lanes, extreme_base + plan[plan[TARGET_EADD_CELL] + place] * ewidth + part, key, has)


@woven
def _add_double(real, into, value):  # type: ignore[no-untyped-def]
    spare = real.limbs.shape[0] - 1
    set_small(real, spare, np.int64(1))
    add_scaled_float(real, into, real, spare, value)


@woven
def moved_extreme(plan, lanes, rows, row, move, extreme_base, ewidth, part):  # type: ignore[no-untyped-def]
    """The least of the sources' extremes and the event's own value. Part 0: there is a trend."""
    if part == 0:
        return np.int64(0), True
    key, has = np.int64(0), False
    for source in range(plan[plan[ACTION_ESOURCE_FROM] + move], plan[plan[ACTION_ESOURCE_FROM] + move + 1]):
        at = extreme_base + plan[plan[ACTION_ESOURCE_CELL] + source] * ewidth + part
        if lanes[lanes[LANE_HAS] + at] and (not has or lanes[lanes[LANE_KEY] + at] < key):
            key, has = lanes[lanes[LANE_KEY] + at], True
    stream = plan[plan[ACTION_EXTREME_STREAM] + plan[plan[ACTION_EXTREME_FROM] + move] + part - 1]
    if stream >= 0 and rows[plan[HAS_ROWS] + stream, row] and (not has or rows[plan[KEY_ROWS] + stream, row] < key):
        key, has = rows[plan[KEY_ROWS] + stream, row], True
    return key, has
