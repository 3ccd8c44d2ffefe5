"""The log of a loop's events, and the functions that bring a lane up to date from it.

A log has one entry for each time at which events of its condition occur: the number of events and the running sums of
their values. Beside the entries there is a stack of extremes (from bottom to top: the minimum of all, the minimum after
that event, and so on). A lane remembers the entry up to which it is up to date. After m further entries of one event
each, with V the sum of their values, `ahead` becomes 2^m * ahead, and a sum W beside it 2^m * W + 2^(m-1) * V * ahead.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.lookups import add_signed, within
from ostinato.kernels.numbers.limbs import bit_length
from ostinato.kernels.numbers.number_calls import add_scaled, add_scaled_float, copy, scale, shift_left, woven

WORD = 32
"""Sums of values have two halves, neither of which can overflow: value >> 32, and the low 32 bits."""
_FEW = 1 << 29
_LARGEST_FACTOR = 1 << 30


@woven
def append(arrays, events, log, row, serial):  # type: ignore[no-untyped-def]
    """Appends an event to a log. The first event of a time makes an entry; further ones join it."""
    plan, logs, log_sums = arrays.plan, arrays.logs, arrays.log_sums
    rows, doubles = events.rows, events.doubles
    base = logs[logs[s.ENTRY_ENTRY_FROM] + log]
    entry = logs[logs[s.ENTRY_ENTRIES] + log]
    if logs[logs[s.ENTRY_MARKED] + log] != -serial:
        logs[logs[s.ENTRY_MARKED] + log] = -serial
        logs[logs[s.ENTRY_ENTRIES] + log] = entry + 1
        logs[logs[s.ENTRY_EVENTS] + base + entry] = 1
        logs[logs[s.ENTRY_GROWTH] + base + entry + 1] = logs[logs[s.ENTRY_GROWTH] + base + entry] + 1
        logs[logs[s.ENTRY_TIES] + base + entry + 1] = logs[logs[s.ENTRY_TIES] + base + entry]
        _begin_sums(arrays, log, entry)
    else:
        entry -= 1
        ties = logs[logs[s.ENTRY_EVENTS] + base + entry] + 1
        logs[logs[s.ENTRY_EVENTS] + base + entry] = ties
        logs[logs[s.ENTRY_GROWTH] + base + entry + 1] = logs[logs[s.ENTRY_GROWTH] + base + entry] + bit_length(ties)
        if ties == 2:
            logs[logs[s.ENTRY_TIE_ENTRY] + base + logs[logs[s.ENTRY_TIES] + base + entry]] = entry
            logs[logs[s.ENTRY_TIES] + base + entry + 1] += 1
    for column in within(plan, s.LOG_INT_FROM, log):
        value = rows[s.INT_ROWS + plan[plan[s.LOG_INT_STREAM] + column], row]
        at = logs[logs[s.ENTRY_INT_AT] + column] + entry + 1
        logs[logs[s.ENTRY_INT_HIGH] + at] += value >> WORD
        logs[logs[s.ENTRY_INT_LOW] + at] += value & ((1 << WORD) - 1)
    for column in within(plan, s.LOG_REAL_FROM, log):
        at = logs[logs[s.ENTRY_REAL_AT] + column] + entry + 1
        # The rounding error is stored beside the sum: only differences of sums are used, and these may be small.
        value = doubles[plan[plan[s.LOG_REAL_STREAM] + column], row]
        total = log_sums[0, at] + value
        added = total - log_sums[0, at]
        log_sums[1, at] += (log_sums[0, at] - (total - added)) + (value - added)
        log_sums[0, at] = total
    for column in within(plan, s.LOG_EXTREME_FROM, log):
        stream = plan[plan[s.LOG_EXTREME_STREAM] + column]
        if rows[plan[s.HAS_ROWS] + stream, row]:
            _push(logs, column, entry, rows[plan[s.KEY_ROWS] + stream, row])


@woven
def _begin_sums(arrays, log, entry):  # type: ignore[no-untyped-def]
    """A new entry starts with the running sums of the entry before it."""
    plan, logs, log_sums = arrays.plan, arrays.logs, arrays.log_sums
    for column in within(plan, s.LOG_INT_FROM, log):
        at = logs[logs[s.ENTRY_INT_AT] + column] + entry
        logs[logs[s.ENTRY_INT_HIGH] + at + 1] = logs[logs[s.ENTRY_INT_HIGH] + at]
        logs[logs[s.ENTRY_INT_LOW] + at + 1] = logs[logs[s.ENTRY_INT_LOW] + at]
    for column in within(plan, s.LOG_REAL_FROM, log):
        at = logs[logs[s.ENTRY_REAL_AT] + column] + entry
        log_sums[0, at + 1] = log_sums[0, at]
        log_sums[1, at + 1] = log_sums[1, at]


@woven
def _push(logs, column, entry, key):  # type: ignore[no-untyped-def]
    """Pushes a key onto the stack of extremes; larger keys below it are removed first."""
    at = logs[logs[s.ENTRY_STACK_AT] + column]
    size = logs[logs[s.ENTRY_STACK_SIZE] + column]
    while size > 0 and logs[logs[s.ENTRY_STACK_KEY] + at + size - 1] >= key:
        size -= 1
    logs[logs[s.ENTRY_STACK_ENTRY] + at + size] = entry
    logs[logs[s.ENTRY_STACK_KEY] + at + size] = key
    logs[logs[s.ENTRY_STACK_SIZE] + column] = size + 1


@woven
def forget(arrays):  # type: ignore[no-untyped-def]
    """Empties the logs before another sequence."""
    plan, logs, log_sums = arrays.plan, arrays.logs, arrays.log_sums
    for log in range(plan[s.LOGS]):
        logs[logs[s.ENTRY_ENTRIES] + log] = 0
        logs[logs[s.ENTRY_FRESH] + log] = 1
        logs[logs[s.ENTRY_GROWTH] + logs[logs[s.ENTRY_ENTRY_FROM] + log]] = 0
        logs[logs[s.ENTRY_TIES] + logs[logs[s.ENTRY_ENTRY_FROM] + log]] = 0
        for column in within(plan, s.LOG_INT_FROM, log):
            logs[logs[s.ENTRY_INT_HIGH] + logs[logs[s.ENTRY_INT_AT] + column]] = 0
            logs[logs[s.ENTRY_INT_LOW] + logs[logs[s.ENTRY_INT_AT] + column]] = 0
        for column in within(plan, s.LOG_REAL_FROM, log):
            log_sums[0, logs[logs[s.ENTRY_REAL_AT] + column]] = 0.0
            log_sums[1, logs[logs[s.ENTRY_REAL_AT] + column]] = 0.0
        for column in within(plan, s.LOG_EXTREME_FROM, log):
            logs[logs[s.ENTRY_STACK_SIZE] + column] = 0


@woven
def count_event(arrays, log):  # type: ignore[no-untyped-def]
    """Counts an event of the log for the statistics. A burst begins after a lane was brought up to date."""
    plan, logs, counters = arrays.plan, arrays.logs, arrays.counters
    if logs[logs[s.ENTRY_FRESH] + log]:
        logs[logs[s.ENTRY_FRESH] + log] = 0
        counters[s.BURSTS] += 1
        counters[s.SHARED] += plan[plan[s.LOG_QUERIES] + log] > 1
    counters[s.SAVED] += logs[logs[s.ENTRY_LANES] + log]


# --- bringing a lane up to date ---------------------------------------------------------------------------------------


@woven
def add_times_sum(table, into, source, high, low, spare):  # type: ignore[no-untyped-def]
    """into += source * (high * 2**32 + low)."""
    if -_FEW < high < _FEW and low < (1 << 61):
        add_scaled(table, into, source, (high << WORD) + low)
    else:
        add_scaled(table, into, source, low)
        copy(table, spare, source)
        shift_left(table, spare, WORD)
        add_scaled(table, into, spare, high)


@woven
def add_to_gaining_cells(arrays, loop, cells, sign):  # type: ignore[no-untyped-def]
    """Adds `ahead` to the cells that gain with it, or subtracts it if the sign is negative.

    Subtracting before a loop's events and adding afterwards leaves the gain.
    """
    plan, table, real = arrays.plan, arrays.table, arrays.real
    base, width, real_base, reals, _, _ = cells
    ahead = base + plan[plan[s.LOOP_AHEAD] + loop] * width
    for index in within(plan, s.LOOP_KEEPS_FROM, loop):
        keep = base + plan[plan[s.LOOP_KEEPS_CELL] + index] * width
        for offset in range(width):
            add_signed(table, keep + offset, ahead + offset, sign)
    real_ahead = real_base + plan[plan[s.LOOP_FULL_AHEAD] + loop] * reals
    if reals:
        for index in within(plan, s.LOOP_FULL_KEEPS_FROM, loop):
            keep = real_base + plan[plan[s.LOOP_FULL_KEEPS_CELL] + index] * reals
            for offset in range(reals):
                add_signed(real, keep + offset, real_ahead + offset, sign)


@woven
def take_extremes(arrays, loop, cells):  # type: ignore[no-untyped-def]
    """The cells that gain with `ahead` also take its extremes."""
    plan, lanes = arrays.plan, arrays.lanes
    base, extreme_width = cells.extreme_base, cells.extreme_width
    ahead = base + plan[plan[s.LOOP_FULL_AHEAD] + loop] * extreme_width
    for index in within(plan, s.LOOP_FULL_KEEPS_FROM, loop):
        keep = base + plan[plan[s.LOOP_FULL_KEEPS_CELL] + index] * extreme_width
        for offset in range(extreme_width):
            key, has = lanes[lanes[s.LANE_KEY] + ahead + offset], lanes[lanes[s.LANE_HAS] + ahead + offset]
            take_extreme(lanes, keep + offset, key, has)


@woven
def take_extreme(lanes, at, key, has):  # type: ignore[no-untyped-def]
    """Keeps the smaller of the stored key and this one."""
    if has and (not lanes[lanes[s.LANE_HAS] + at] or key < lanes[lanes[s.LANE_KEY] + at]):
        lanes[lanes[s.LANE_KEY] + at] = key
        lanes[lanes[s.LANE_HAS] + at] = 1


@woven
def _times_ties(logs, base, first, last, table, ahead):  # type: ignore[no-untyped-def]
    """Multiplies `ahead` by the factors of entries with several events, as many as possible in one product."""
    product = np.int64(1)
    for tie in range(first, last):
        factor = 1 + logs[logs[s.ENTRY_EVENTS] + base + logs[logs[s.ENTRY_TIE_ENTRY] + base + tie]]
        if product > _LARGEST_FACTOR // factor:
            scale(table, ahead, product)
            product = np.int64(1)
        product *= factor
    if product > 1:
        scale(table, ahead, product)


@woven
def _take_singles(arrays, loop, cells, first, last):  # type: ignore[no-untyped-def]
    """Applies the entries `first` to before `last`, of one event each, to `ahead` and the sums beside it."""
    plan, table, real = arrays.plan, arrays.table, arrays.real
    ahead = cells.base + plan[plan[s.LOOP_AHEAD] + loop] * cells.width
    real_ahead = cells.real_base + plan[plan[s.LOOP_FULL_AHEAD] + loop] * cells.reals
    for offset in range(1, cells.width):
        shift_left(table, ahead + offset, last - first)
    for offset in range(cells.reals):
        shift_left(real, real_ahead + offset, last - first)
    shift_left(table, ahead, last - first - 1)
    _add_values(arrays, loop, cells, first, last)
    shift_left(table, ahead, 1)


@woven
def _take_tie(arrays, loop, cells, entry):  # type: ignore[no-untyped-def]
    """Applies an entry of k events: ahead * (1 + k), and W * (1 + k) + V * ahead for a sum W."""
    plan, logs, table, real = arrays.plan, arrays.logs, arrays.table, arrays.real
    first_entry = logs[logs[s.ENTRY_ENTRY_FROM] + plan[plan[s.LOOP_LOG] + loop]]
    factor = 1 + logs[logs[s.ENTRY_EVENTS] + first_entry + entry]
    ahead = cells.base + plan[plan[s.LOOP_AHEAD] + loop] * cells.width
    real_ahead = cells.real_base + plan[plan[s.LOOP_FULL_AHEAD] + loop] * cells.reals
    for offset in range(1, cells.width):
        scale(table, ahead + offset, factor)
    for offset in range(cells.reals):
        scale(real, real_ahead + offset, factor)
    _add_values(arrays, loop, cells, entry, entry + 1)
    scale(table, ahead, factor)


@woven
def _add_values(arrays, loop, cells, first, last):  # type: ignore[no-untyped-def]
    """Adds V * ahead to each sum beside `ahead`. V is the sum of the values of entries `first` to before `last`."""
    plan, logs, log_sums, table = arrays.plan, arrays.logs, arrays.log_sums, arrays.table
    log = plan[plan[s.LOOP_LOG] + loop]
    ahead = cells.base + plan[plan[s.LOOP_AHEAD] + loop] * cells.width
    real_ahead = cells.real_base + plan[plan[s.LOOP_FULL_AHEAD] + loop] * cells.reals
    for offset in range(cells.width - 1):
        column = plan[plan[s.LOOP_SLOT_LOG] + plan[plan[s.LOOP_SLOT_FROM] + loop] + offset]
        if column >= 0:
            at = logs[logs[s.ENTRY_INT_AT] + plan[plan[s.LOG_INT_FROM] + log] + column]
            high = logs[logs[s.ENTRY_INT_HIGH] + at + last] - logs[logs[s.ENTRY_INT_HIGH] + at + first]
            low = logs[logs[s.ENTRY_INT_LOW] + at + last] - logs[logs[s.ENTRY_INT_LOW] + at + first]
            add_times_sum(table, ahead + 1 + offset, ahead, high, low, arrays.lanes[s.ASIDE_SPARE])
    for offset in range(cells.reals):
        column = plan[plan[s.LOOP_REAL_LOG] + plan[plan[s.LOOP_REAL_FROM] + loop] + offset]
        if column >= 0:
            at = logs[logs[s.ENTRY_REAL_AT] + plan[plan[s.LOG_REAL_FROM] + log] + column]
            value = log_sums[0, at + last] - log_sums[0, at + first]
            value += log_sums[1, at + last] - log_sums[1, at + first]
            add_scaled_float(arrays.real, real_ahead + offset, table, ahead, value)


@woven
def _extremes_since(arrays, loop, cells, first):  # type: ignore[no-untyped-def]
    """`ahead` takes the extremes of all entries from `first` on, by binary search in the stack."""
    plan, logs, lanes = arrays.plan, arrays.logs, arrays.lanes
    base, extreme_width = cells.extreme_base, cells.extreme_width
    log = plan[plan[s.LOOP_LOG] + loop]
    ahead = base + plan[plan[s.LOOP_FULL_AHEAD] + loop] * extreme_width
    for offset in range(extreme_width - 1):
        column = plan[plan[s.LOOP_EXTREME_LOG] + plan[plan[s.LOOP_EXTREME_FROM] + loop] + offset]
        if column >= 0:
            column += plan[plan[s.LOG_EXTREME_FROM] + log]
            at = logs[logs[s.ENTRY_STACK_AT] + column]
            low, high = 0, logs[logs[s.ENTRY_STACK_SIZE] + column]
            while low < high:
                middle = (low + high) // 2
                if logs[logs[s.ENTRY_STACK_ENTRY] + at + middle] < first:
                    low = middle + 1
                else:
                    high = middle
            if low < logs[logs[s.ENTRY_STACK_SIZE] + column]:
                take_extreme(lanes, ahead + 1 + offset, logs[logs[s.ENTRY_STACK_KEY] + at + low], 1)


@woven
def catch_up(arrays, loop, cells, position):  # type: ignore[no-untyped-def]
    """Brings one loop of a lane up to date; returns whether anything changed."""
    plan, logs, lanes, table = arrays.plan, arrays.logs, arrays.lanes, arrays.table
    base, width, _, reals, extreme_base, extreme_width = cells
    log = plan[plan[s.LOOP_LOG] + loop]
    first, now = lanes[lanes[s.LANE_POSITION] + position], logs[logs[s.ENTRY_ENTRIES] + log]
    if first >= now:
        return False
    lanes[lanes[s.LANE_POSITION] + position] = now
    logs[logs[s.ENTRY_FRESH] + log] = 1
    if not lanes[lanes[s.LANE_HAS] + extreme_base + plan[plan[s.LOOP_FULL_AHEAD] + loop] * extreme_width]:
        return False
    entries = logs[logs[s.ENTRY_ENTRY_FROM] + log]
    add_to_gaining_cells(arrays, loop, cells, -1)
    tie, last_tie = logs[logs[s.ENTRY_TIES] + entries + first], logs[logs[s.ENTRY_TIES] + entries + now]
    if width == 1 and reals == 0:
        ahead = base + plan[plan[s.LOOP_AHEAD] + loop]
        _times_ties(logs, entries, tie, last_tie, table, ahead)
        shift_left(table, ahead, now - first - (last_tie - tie))
    else:
        entry = first
        while entry < now:
            stop = logs[logs[s.ENTRY_TIE_ENTRY] + entries + tie] if tie < last_tie else now
            if stop > entry:
                _take_singles(arrays, loop, cells, entry, stop)
            if tie < last_tie:
                _take_tie(arrays, loop, cells, stop)
            tie += 1
            entry = stop + 1
    add_to_gaining_cells(arrays, loop, cells, 1)
    _extremes_since(arrays, loop, cells, first)
    take_extremes(arrays, loop, cells)
    return True
