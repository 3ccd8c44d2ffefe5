"""One lane of the shared kernel: bring it up to date with the logs, apply a single event of another label."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.lane_cells import cells_of_lane
from ostinato.event_queries.trends.shared.logs import WORD, catch_up, take_extreme
from ostinato.event_queries.trends.shared.sections import (
    ACTION_CONSTANT,
    ACTION_EXTREME_FROM,
    ACTION_EXTREME_STREAM,
    ACTION_FULL_SOURCE_CELL,
    ACTION_FULL_SOURCE_FROM,
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
    TARGET_FULL_ADD_CELL,
    TARGET_FULL_ADD_FROM,
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
    """Whether every number of the lane will fit into its row after the lane is brought up to date and changed once."""
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
    """Brings all loops of a lane up to date."""
    cells = cells_of_lane(plan, lanes, query, lane)
    first = plan[plan[QUERY_LOOP_FROM] + query]
    for loop in range(first, plan[plan[QUERY_LOOP_FROM] + query + 1]):
        position = lanes[lanes[LANE_POSITION_FROM] + lane] + loop - first
        counters[SNAPSHOTS] += catch_up(plan, loop, logs, log_sums, lanes, table, real, cells, position, spare)


@called_kernel
def ready(plan, logs, log_sums, lanes, table, real, query, lane, counters):  # type: ignore[no-untyped-def]
    """Brings a lane up to date; returns False if its numbers might not fit."""
    if not _has_room(plan, logs, lanes, table, query, lane):
        return False
    _catch_up_all(plan, logs, log_sums, lanes, table, real, query, lane, lanes[ASIDE_SPARE], counters)
    return True


@woven
def is_possible(plan, lanes, query, lane, move):  # type: ignore[no-untyped-def]
    """Whether the lane has a trend that the move can extend."""
    if plan[plan[ACTION_STARTS] + move]:
        return True
    _, _, _, _, extreme_base, extreme_width = cells_of_lane(plan, lanes, query, lane)
    for source in range(plan[plan[ACTION_FULL_SOURCE_FROM] + move], plan[plan[ACTION_FULL_SOURCE_FROM] + move + 1]):
        if lanes[lanes[LANE_HAS] + extreme_base + plan[plan[ACTION_FULL_SOURCE_CELL] + source] * extreme_width]:
            return True
    return False


@called_kernel
def move_at_once(plan, lanes, table, real, rows, doubles, row, move, query, lane):  # type: ignore[no-untyped-def]
    """Adds the sum of the move's sources to its target cells. No target cell is also a source."""
    base, width, real_base, reals, extreme_base, extreme_width = cells_of_lane(plan, lanes, query, lane)
    target = plan[plan[ACTION_TARGET] + move]
    constant = plan[plan[ACTION_CONSTANT] + move]
    for index in range(plan[plan[TARGET_ADD_FROM] + target], plan[plan[TARGET_ADD_FROM] + target + 1]):
        into = base + plan[plan[TARGET_ADD_CELL] + index] * width
        for term in range(plan[plan[ACTION_TERM_FROM] + move], plan[plan[ACTION_TERM_FROM] + move + 1]):
            addend = base + plan[plan[ACTION_TERM_CELL] + term] * width
            for offset in range(width):
                if plan[plan[ACTION_TERM_SIGN] + term] > 0:
                    add(table, into + offset, addend + offset)
                else:
                    subtract(table, into + offset, addend + offset)
            for offset in range(width - 1):
                stream = plan[plan[ACTION_SLOT_STREAM] + plan[plan[ACTION_SLOT_FROM] + move] + offset]
                if stream >= 0:
                    value = rows[INT_ROWS + stream, row]
                    high, low = value >> WORD, value & ((1 << WORD) - 1)
                    if plan[plan[ACTION_TERM_SIGN] + term] > 0:
                        add_scaled(table, into + 1 + offset, addend, value)
                    else:
                        # -(-2**63) isn't an int64, so the value is added in two halves.
                        add_scaled(table, into + 1 + offset, addend, -low)
                        add_scaled(table, into + 1 + offset, addend, (-high << (WORD - 1)))
                        add_scaled(table, into + 1 + offset, addend, (-high << (WORD - 1)))
        if constant != 0:
            add_small(table, into, constant)
            for offset in range(width - 1):
                stream = plan[plan[ACTION_SLOT_STREAM] + plan[plan[ACTION_SLOT_FROM] + move] + offset]
                if stream >= 0:
                    for _ in range(abs(constant)):
                        value = rows[INT_ROWS + stream, row]
                        if constant > 0:
                            add_small(table, into + 1 + offset, value)
                        else:
                            add_small(table, into + 1 + offset, -(value >> 1))
                            add_small(table, into + 1 + offset, -(value - (value >> 1)))
    if reals:
        for index in range(plan[plan[TARGET_FULL_ADD_FROM] + target], plan[plan[TARGET_FULL_ADD_FROM] + target + 1]):
            into = real_base + plan[plan[TARGET_FULL_ADD_CELL] + index] * reals
            for offset in range(reals):
                for source in range(
                    plan[plan[ACTION_FULL_SOURCE_FROM] + move], plan[plan[ACTION_FULL_SOURCE_FROM] + move + 1]
                ):
                    add(real, into + offset, real_base + plan[plan[ACTION_FULL_SOURCE_CELL] + source] * reals + offset)
                stream = plan[plan[ACTION_REAL_STREAM] + plan[plan[ACTION_REAL_FROM] + move] + offset]
                if stream >= 0:
                    value = doubles[stream, row]
                    for term in range(plan[plan[ACTION_TERM_FROM] + move], plan[plan[ACTION_TERM_FROM] + move + 1]):
                        add_scaled_float(
                            real, into + offset, table, base + plan[plan[ACTION_TERM_CELL] + term] * width, value
                        )
                    for _ in range(constant):
                        _add_double(real, into + offset, value)
    for offset in range(extreme_width):
        key, has = moved_extreme(plan, lanes, rows, row, move, extreme_base, extreme_width, offset)
        if has:
            for index in range(
                plan[plan[TARGET_FULL_ADD_FROM] + target], plan[plan[TARGET_FULL_ADD_FROM] + target + 1]
            ):
                take_extreme(
                    lanes, extreme_base + plan[plan[TARGET_FULL_ADD_CELL] + index] * extreme_width + offset, key, has
                )


@woven
def _add_double(real, into, value):  # type: ignore[no-untyped-def]
    """Adds a double to a sum, by way of the spare row at the end of the table."""
    spare = real.limbs.shape[0] - 1
    set_small(real, spare, np.int64(1))
    add_scaled_float(real, into, real, spare, value)


@woven
def moved_extreme(plan, lanes, rows, row, move, extreme_base, extreme_width, offset):  # type: ignore[no-untyped-def]
    """The minimum of the sources' extremes and the event's own value. Offset 0 is the flag "there is a trend"."""
    if offset == 0:
        return np.int64(0), True
    key, has = np.int64(0), False
    for source in range(plan[plan[ACTION_FULL_SOURCE_FROM] + move], plan[plan[ACTION_FULL_SOURCE_FROM] + move + 1]):
        at = extreme_base + plan[plan[ACTION_FULL_SOURCE_CELL] + source] * extreme_width + offset
        if lanes[lanes[LANE_HAS] + at] and (not has or lanes[lanes[LANE_KEY] + at] < key):
            key, has = lanes[lanes[LANE_KEY] + at], True
    stream = plan[plan[ACTION_EXTREME_STREAM] + plan[plan[ACTION_EXTREME_FROM] + move] + offset - 1]
    if stream >= 0 and rows[plan[HAS_ROWS] + stream, row] and (not has or rows[plan[KEY_ROWS] + stream, row] < key):
        key, has = rows[plan[KEY_ROWS] + stream, row], True
    return key, has
