"""The log of a loop's events, and the functions that bring a lane up to date from it.

A log has one entry for each time at which events of its condition occur: the number of events and the running sums of
their values. Beside the entries there is a stack of extremes (from bottom to top: the minimum of all, the minimum after
that event, and so on). A lane remembers the entry up to which it is up to date. After m further entries of one event
each, with V the sum of their values, `ahead` becomes 2^m * ahead, and a sum W beside it 2^m * W + 2^(m-1) * V * ahead.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.sections import (
    ENTRY_ENTRIES,
    ENTRY_ENTRY_FROM,
    ENTRY_EVENTS,
    ENTRY_FRESH,
    ENTRY_GROWTH,
    ENTRY_INT_AT,
    ENTRY_INT_HIGH,
    ENTRY_INT_LOW,
    ENTRY_MARKED,
    ENTRY_REAL_AT,
    ENTRY_STACK_AT,
    ENTRY_STACK_ENTRY,
    ENTRY_STACK_KEY,
    ENTRY_STACK_SIZE,
    ENTRY_TIE_ENTRY,
    ENTRY_TIES,
    HAS_ROWS,
    INT_ROWS,
    KEY_ROWS,
    LANE_HAS,
    LANE_KEY,
    LANE_POSITION,
    LOG_EXTREME_FROM,
    LOG_EXTREME_STREAM,
    LOG_INT_FROM,
    LOG_INT_STREAM,
    LOG_REAL_FROM,
    LOG_REAL_STREAM,
    LOGS,
    LOOP_AHEAD,
    LOOP_EXTREME_FROM,
    LOOP_EXTREME_LOG,
    LOOP_FULL_AHEAD,
    LOOP_FULL_KEEPS_CELL,
    LOOP_FULL_KEEPS_FROM,
    LOOP_KEEPS_CELL,
    LOOP_KEEPS_FROM,
    LOOP_LOG,
    LOOP_REAL_FROM,
    LOOP_REAL_LOG,
    LOOP_SLOT_FROM,
    LOOP_SLOT_LOG,
)
from ostinato.kernels.numbers.limbs import bit_length
from ostinato.kernels.numbers.number_calls import (
    add,
    add_scaled,
    add_scaled_float,
    copy,
    scale,
    shift_left,
    subtract,
    woven,
)

WORD = 32
"""Sums of values have two halves, neither of which can overflow: value >> 32, and the low 32 bits."""
_FEW = 1 << 29
_LARGEST_FACTOR = 1 << 30


@woven
def append(plan, logs, log_sums, log, rows, doubles, row, serial):  # type: ignore[no-untyped-def]
    """Appends an event to a log. The first event of a time makes an entry; further ones join it."""
    base = logs[logs[ENTRY_ENTRY_FROM] + log]
    entry = logs[logs[ENTRY_ENTRIES] + log]
    if logs[logs[ENTRY_MARKED] + log] != -serial:
        logs[logs[ENTRY_MARKED] + log] = -serial
        logs[logs[ENTRY_ENTRIES] + log] = entry + 1
        logs[logs[ENTRY_EVENTS] + base + entry] = 1
        logs[logs[ENTRY_GROWTH] + base + entry + 1] = logs[logs[ENTRY_GROWTH] + base + entry] + 1
        logs[logs[ENTRY_TIES] + base + entry + 1] = logs[logs[ENTRY_TIES] + base + entry]
        _begin_sums(plan, logs, log_sums, log, entry)
    else:
        entry -= 1
        events = logs[logs[ENTRY_EVENTS] + base + entry] + 1
        logs[logs[ENTRY_EVENTS] + base + entry] = events
        logs[logs[ENTRY_GROWTH] + base + entry + 1] = logs[logs[ENTRY_GROWTH] + base + entry] + bit_length(events)
        if events == 2:
            logs[logs[ENTRY_TIE_ENTRY] + base + logs[logs[ENTRY_TIES] + base + entry]] = entry
            logs[logs[ENTRY_TIES] + base + entry + 1] += 1
    for column in range(plan[plan[LOG_INT_FROM] + log], plan[plan[LOG_INT_FROM] + log + 1]):
        value = rows[INT_ROWS + plan[plan[LOG_INT_STREAM] + column], row]
        at = logs[logs[ENTRY_INT_AT] + column] + entry + 1
        logs[logs[ENTRY_INT_HIGH] + at] += value >> WORD
        logs[logs[ENTRY_INT_LOW] + at] += value & ((1 << WORD) - 1)
    for column in range(plan[plan[LOG_REAL_FROM] + log], plan[plan[LOG_REAL_FROM] + log + 1]):
        at = logs[logs[ENTRY_REAL_AT] + column] + entry + 1
        # The rounding error is stored beside the sum: only differences of sums are used, and these may be small.
        value = doubles[plan[plan[LOG_REAL_STREAM] + column], row]
        total = log_sums[0, at] + value
        added = total - log_sums[0, at]
        log_sums[1, at] += (log_sums[0, at] - (total - added)) + (value - added)
        log_sums[0, at] = total
    for column in range(plan[plan[LOG_EXTREME_FROM] + log], plan[plan[LOG_EXTREME_FROM] + log + 1]):
        stream = plan[plan[LOG_EXTREME_STREAM] + column]
        if rows[plan[HAS_ROWS] + stream, row]:
            _push(logs, column, entry, rows[plan[KEY_ROWS] + stream, row])


@woven
def _begin_sums(plan, logs, log_sums, log, entry):  # type: ignore[no-untyped-def]
    """A new entry starts with the running sums of the entry before it."""
    for column in range(plan[plan[LOG_INT_FROM] + log], plan[plan[LOG_INT_FROM] + log + 1]):
        at = logs[logs[ENTRY_INT_AT] + column] + entry
        logs[logs[ENTRY_INT_HIGH] + at + 1] = logs[logs[ENTRY_INT_HIGH] + at]
        logs[logs[ENTRY_INT_LOW] + at + 1] = logs[logs[ENTRY_INT_LOW] + at]
    for column in range(plan[plan[LOG_REAL_FROM] + log], plan[plan[LOG_REAL_FROM] + log + 1]):
        at = logs[logs[ENTRY_REAL_AT] + column] + entry
        log_sums[0, at + 1] = log_sums[0, at]
        log_sums[1, at + 1] = log_sums[1, at]


@woven
def _push(logs, column, entry, key):  # type: ignore[no-untyped-def]
    """Pushes a key onto the stack of extremes; larger keys below it are removed first."""
    at = logs[logs[ENTRY_STACK_AT] + column]
    size = logs[logs[ENTRY_STACK_SIZE] + column]
    while size > 0 and logs[logs[ENTRY_STACK_KEY] + at + size - 1] >= key:
        size -= 1
    logs[logs[ENTRY_STACK_ENTRY] + at + size] = entry
    logs[logs[ENTRY_STACK_KEY] + at + size] = key
    logs[logs[ENTRY_STACK_SIZE] + column] = size + 1


@woven
def forget(plan, logs, log_sums):  # type: ignore[no-untyped-def]
    """Empties the logs before another sequence."""
    for log in range(plan[LOGS]):
        logs[logs[ENTRY_ENTRIES] + log] = 0
        logs[logs[ENTRY_FRESH] + log] = 1
        logs[logs[ENTRY_GROWTH] + logs[logs[ENTRY_ENTRY_FROM] + log]] = 0
        logs[logs[ENTRY_TIES] + logs[logs[ENTRY_ENTRY_FROM] + log]] = 0
        for column in range(plan[plan[LOG_INT_FROM] + log], plan[plan[LOG_INT_FROM] + log + 1]):
            logs[logs[ENTRY_INT_HIGH] + logs[logs[ENTRY_INT_AT] + column]] = 0
            logs[logs[ENTRY_INT_LOW] + logs[logs[ENTRY_INT_AT] + column]] = 0
        for column in range(plan[plan[LOG_REAL_FROM] + log], plan[plan[LOG_REAL_FROM] + log + 1]):
            log_sums[0, logs[logs[ENTRY_REAL_AT] + column]] = 0.0
            log_sums[1, logs[logs[ENTRY_REAL_AT] + column]] = 0.0
        for column in range(plan[plan[LOG_EXTREME_FROM] + log], plan[plan[LOG_EXTREME_FROM] + log + 1]):
            logs[logs[ENTRY_STACK_SIZE] + column] = 0


# --- bringing a lane up to date ---------------------------------------------------------------------------------------


@woven
def add_times_sum(table, into, source, high, low, spare):  # type: ignore[no-untyped-def]
    """into += what * (high * 2**32 + low)."""
    if -_FEW < high < _FEW and low < (1 << 61):
        add_scaled(table, into, source, (high << WORD) + low)
    else:
        add_scaled(table, into, source, low)
        copy(table, spare, source)
        shift_left(table, spare, WORD)
        add_scaled(table, into, spare, high)


@woven
def add_keeps(plan, loop, table, real, cells, negative):  # type: ignore[no-untyped-def]
    """Adds `ahead` to the cells that gain with it, or subtracts it.

    Subtracting before a loop's events and adding afterwards leaves the gain.
    """
    base, width, real_base, reals, _, _ = cells
    ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
    for index in range(plan[plan[LOOP_KEEPS_FROM] + loop], plan[plan[LOOP_KEEPS_FROM] + loop + 1]):
        keep = base + plan[plan[LOOP_KEEPS_CELL] + index] * width
        for offset in range(width):
            if negative:
                subtract(table, keep + offset, ahead + offset)
            else:
                add(table, keep + offset, ahead + offset)
    real_ahead = real_base + plan[plan[LOOP_FULL_AHEAD] + loop] * reals
    if reals:
        for index in range(plan[plan[LOOP_FULL_KEEPS_FROM] + loop], plan[plan[LOOP_FULL_KEEPS_FROM] + loop + 1]):
            keep = real_base + plan[plan[LOOP_FULL_KEEPS_CELL] + index] * reals
            for offset in range(reals):
                if negative:
                    subtract(real, keep + offset, real_ahead + offset)
                else:
                    add(real, keep + offset, real_ahead + offset)


@woven
def take_extremes(plan, loop, lanes, cells):  # type: ignore[no-untyped-def]
    """The cells that gain with `ahead` also take its extremes."""
    _, _, _, _, base, extreme_width = cells
    ahead = base + plan[plan[LOOP_FULL_AHEAD] + loop] * extreme_width
    for index in range(plan[plan[LOOP_FULL_KEEPS_FROM] + loop], plan[plan[LOOP_FULL_KEEPS_FROM] + loop + 1]):
        keep = base + plan[plan[LOOP_FULL_KEEPS_CELL] + index] * extreme_width
        for offset in range(extreme_width):
            take_extreme(
                lanes, keep + offset, lanes[lanes[LANE_KEY] + ahead + offset], lanes[lanes[LANE_HAS] + ahead + offset]
            )


@woven
def take_extreme(lanes, at, key, has):  # type: ignore[no-untyped-def]
    """Keeps the smaller of the stored key and this one."""
    if has and (not lanes[lanes[LANE_HAS] + at] or key < lanes[lanes[LANE_KEY] + at]):
        lanes[lanes[LANE_KEY] + at] = key
        lanes[lanes[LANE_HAS] + at] = 1


@woven
def times_ties(logs, base, first, last, table, ahead):  # type: ignore[no-untyped-def]
    """Multiplies `ahead` by the factors of entries with several events, as many as possible in one product."""
    product = np.int64(1)
    for tie in range(first, last):
        factor = 1 + logs[logs[ENTRY_EVENTS] + base + logs[logs[ENTRY_TIE_ENTRY] + base + tie]]
        if product > _LARGEST_FACTOR // factor:
            scale(table, ahead, product)
            product = np.int64(1)
        product *= factor
    if product > 1:
        scale(table, ahead, product)


@woven
def singles_with_slots(plan, loop, logs, log_sums, table, real, cells, first, last, spare):  # type: ignore[no-untyped-def]
    """Applies entries `first` to `last`, of one event each, to `ahead` and the sums beside it."""
    base, width, real_base, reals, _, _ = cells
    log = plan[plan[LOOP_LOG] + loop]
    events = last - first
    ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
    real_ahead = real_base + plan[plan[LOOP_FULL_AHEAD] + loop] * reals
    for offset in range(width - 1):
        shift_left(table, ahead + 1 + offset, events)
    for offset in range(reals):
        shift_left(real, real_ahead + offset, events)
    shift_left(table, ahead, events - 1)
    for offset in range(width - 1):
        column = plan[plan[LOOP_SLOT_LOG] + plan[plan[LOOP_SLOT_FROM] + loop] + offset]
        if column >= 0:
            at = logs[logs[ENTRY_INT_AT] + plan[plan[LOG_INT_FROM] + log] + column]
            high = logs[logs[ENTRY_INT_HIGH] + at + last] - logs[logs[ENTRY_INT_HIGH] + at + first]
            low = logs[logs[ENTRY_INT_LOW] + at + last] - logs[logs[ENTRY_INT_LOW] + at + first]
            add_times_sum(table, ahead + 1 + offset, ahead, high, low, spare)
    for offset in range(reals):
        column = plan[plan[LOOP_REAL_LOG] + plan[plan[LOOP_REAL_FROM] + loop] + offset]
        if column >= 0:
            at = logs[logs[ENTRY_REAL_AT] + plan[plan[LOG_REAL_FROM] + log] + column]
            value = log_sums[0, at + last] - log_sums[0, at + first]
            value += log_sums[1, at + last] - log_sums[1, at + first]
            add_scaled_float(real, real_ahead + offset, table, ahead, value)
    shift_left(table, ahead, 1)


@woven
def tie_with_slots(plan, loop, logs, log_sums, table, real, cells, entry, spare):  # type: ignore[no-untyped-def]
    """Applies an entry of k events: ahead * (1 + k), and W * (1 + k) + V * ahead for a sum W."""
    base, width, real_base, reals, _, _ = cells
    log = plan[plan[LOOP_LOG] + loop]
    factor = 1 + logs[logs[ENTRY_EVENTS] + logs[logs[ENTRY_ENTRY_FROM] + log] + entry]
    ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
    real_ahead = real_base + plan[plan[LOOP_FULL_AHEAD] + loop] * reals
    for offset in range(width - 1):
        scale(table, ahead + 1 + offset, factor)
        column = plan[plan[LOOP_SLOT_LOG] + plan[plan[LOOP_SLOT_FROM] + loop] + offset]
        if column >= 0:
            at = logs[logs[ENTRY_INT_AT] + plan[plan[LOG_INT_FROM] + log] + column] + entry
            high = logs[logs[ENTRY_INT_HIGH] + at + 1] - logs[logs[ENTRY_INT_HIGH] + at]
            low = logs[logs[ENTRY_INT_LOW] + at + 1] - logs[logs[ENTRY_INT_LOW] + at]
            add_times_sum(table, ahead + 1 + offset, ahead, high, low, spare)
    for offset in range(reals):
        scale(real, real_ahead + offset, factor)
        column = plan[plan[LOOP_REAL_LOG] + plan[plan[LOOP_REAL_FROM] + loop] + offset]
        if column >= 0:
            at = logs[logs[ENTRY_REAL_AT] + plan[plan[LOG_REAL_FROM] + log] + column] + entry
            value = log_sums[0, at + 1] - log_sums[0, at] + (log_sums[1, at + 1] - log_sums[1, at])
            add_scaled_float(real, real_ahead + offset, table, ahead, value)
    scale(table, ahead, factor)


@woven
def extremes_since(plan, loop, logs, lanes, cells, first):  # type: ignore[no-untyped-def]
    """`ahead` takes the extremes of all entries from `first` on, by binary search in the stack."""
    _, _, _, _, base, extreme_width = cells
    log = plan[plan[LOOP_LOG] + loop]
    ahead = base + plan[plan[LOOP_FULL_AHEAD] + loop] * extreme_width
    for offset in range(extreme_width - 1):
        column = plan[plan[LOOP_EXTREME_LOG] + plan[plan[LOOP_EXTREME_FROM] + loop] + offset]
        if column >= 0:
            column += plan[plan[LOG_EXTREME_FROM] + log]
            at = logs[logs[ENTRY_STACK_AT] + column]
            low, high = 0, logs[logs[ENTRY_STACK_SIZE] + column]
            while low < high:
                middle = (low + high) // 2
                if logs[logs[ENTRY_STACK_ENTRY] + at + middle] < first:
                    low = middle + 1
                else:
                    high = middle
            if low < logs[logs[ENTRY_STACK_SIZE] + column]:
                take_extreme(lanes, ahead + 1 + offset, logs[logs[ENTRY_STACK_KEY] + at + low], 1)


@woven
def catch_up(plan, loop, logs, log_sums, lanes, table, real, cells, position, spare):  # type: ignore[no-untyped-def]
    """Brings one loop of a lane up to date; returns whether anything changed."""
    base, width, _, reals, extreme_base, extreme_width = cells
    log = plan[plan[LOOP_LOG] + loop]
    first, now = lanes[lanes[LANE_POSITION] + position], logs[logs[ENTRY_ENTRIES] + log]
    if first >= now:
        return False
    lanes[lanes[LANE_POSITION] + position] = now
    logs[logs[ENTRY_FRESH] + log] = 1
    if not lanes[lanes[LANE_HAS] + extreme_base + plan[plan[LOOP_FULL_AHEAD] + loop] * extreme_width]:
        return False
    entries = logs[logs[ENTRY_ENTRY_FROM] + log]
    add_keeps(plan, loop, table, real, cells, True)
    tie, last_tie = logs[logs[ENTRY_TIES] + entries + first], logs[logs[ENTRY_TIES] + entries + now]
    if width == 1 and reals == 0:
        ahead = base + plan[plan[LOOP_AHEAD] + loop]
        times_ties(logs, entries, tie, last_tie, table, ahead)
        shift_left(table, ahead, now - first - (last_tie - tie))
    else:
        entry = first
        while entry < now:
            stop = logs[logs[ENTRY_TIE_ENTRY] + entries + tie] if tie < last_tie else now
            if stop > entry:
                singles_with_slots(plan, loop, logs, log_sums, table, real, cells, entry, stop, spare)
            if tie < last_tie:
                tie_with_slots(plan, loop, logs, log_sums, table, real, cells, stop, spare)
            tie += 1
            entry = stop + 1
    add_keeps(plan, loop, table, real, cells, False)
    extremes_since(plan, loop, logs, lanes, cells, first)
    take_extremes(plan, loop, lanes, cells)
    return True
