"""The log of a loop's events, and how a lane is brought up to date from it.

An entry of a log is one time at which events of the condition occur: how many, the running sums of their values, and a
stack of their extremes (bottom to top: the least of all, the least after that, ...). A lane remembers at which entry it
was last up to date. With m entries of one event each since then, and V the sum of their values,
`ahead` becomes 2^m * ahead, and a slot W beside it 2^m * W + 2^(m-1) * V * ahead.
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
    LOOP_EAHEAD,
    LOOP_EKEEPS_CELL,
    LOOP_EKEEPS_FROM,
    LOOP_EXTREME_FROM,
    LOOP_EXTREME_LOG,
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
"""Sums of values are kept in two parts of which neither overflows: value >> 32 and the rest."""
_FEW = 1 << 29
_LARGEST_FACTOR = 1 << 30


@woven
def append(plan, logs, log_sums, log, rows, doubles, row, serial):  # type: ignore[no-untyped-def]
    """An event of the log's condition. The first at a time makes an entry, further ones join it."""
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
        # With the rounding error beside it: the difference of two sums is asked for, which may be small.
        value = doubles[plan[plan[LOG_REAL_STREAM] + column], row]
        total = log_sums[0, at] + value
        part = total - log_sums[0, at]
        log_sums[1, at] += (log_sums[0, at] - (total - part)) + (value - part)
        log_sums[0, at] = total
    for column in range(plan[plan[LOG_EXTREME_FROM] + log], plan[plan[LOG_EXTREME_FROM] + log + 1]):
        stream = plan[plan[LOG_EXTREME_STREAM] + column]
        if rows[plan[HAS_ROWS] + stream, row]:
            _push(logs, column, entry, rows[plan[KEY_ROWS] + stream, row])


@woven
def _begin_sums(plan, logs, log_sums, log, entry):  # type: ignore[no-untyped-def]
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
    at = logs[logs[ENTRY_STACK_AT] + column]
    size = logs[logs[ENTRY_STACK_SIZE] + column]
    while size > 0 and logs[logs[ENTRY_STACK_KEY] + at + size - 1] >= key:
        size -= 1
    logs[logs[ENTRY_STACK_ENTRY] + at + size] = entry
    logs[logs[ENTRY_STACK_KEY] + at + size] = key
    logs[logs[ENTRY_STACK_SIZE] + column] = size + 1


@woven
def forget(plan, logs, log_sums):  # type: ignore[no-untyped-def]
    """Another sequence begins: no entries."""
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
def add_times_sum(table, into, what, high, low, spare):  # type: ignore[no-untyped-def]
    """into += what * (high * 2**32 + low)."""
    if -_FEW < high < _FEW and low < (1 << 61):
        add_scaled(table, into, what, (high << WORD) + low)
    else:
        add_scaled(table, into, what, low)
        copy(table, spare, what)
        shift_left(table, spare, WORD)
        add_scaled(table, into, spare, high)


@woven
def add_keeps(plan, loop, table, real, base, width, real_base, reals, negative):  # type: ignore[no-untyped-def]
    """Before a loop's events `ahead` is taken from what keeps its gain, then added: that leaves the gain."""
    ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
    for place in range(plan[plan[LOOP_KEEPS_FROM] + loop], plan[plan[LOOP_KEEPS_FROM] + loop + 1]):
        keep = base + plan[plan[LOOP_KEEPS_CELL] + place] * width
        for part in range(width):
            if negative:
                subtract(table, keep + part, ahead + part)
            else:
                add(table, keep + part, ahead + part)
    rahead = real_base + plan[plan[LOOP_EAHEAD] + loop] * reals
    if reals:
        for place in range(plan[plan[LOOP_EKEEPS_FROM] + loop], plan[plan[LOOP_EKEEPS_FROM] + loop + 1]):
            keep = real_base + plan[plan[LOOP_EKEEPS_CELL] + place] * reals
            for part in range(reals):
                if negative:
                    subtract(real, keep + part, rahead + part)
                else:
                    add(real, keep + part, rahead + part)


@woven
def take_extremes(plan, loop, lanes, base, ewidth):  # type: ignore[no-untyped-def]
    """What keeps the gain of a loop also gets the extremes of `ahead`."""
    ahead = base + plan[plan[LOOP_EAHEAD] + loop] * ewidth
    for place in range(plan[plan[LOOP_EKEEPS_FROM] + loop], plan[plan[LOOP_EKEEPS_FROM] + loop + 1]):
        keep = base + plan[plan[LOOP_EKEEPS_CELL] + place] * ewidth
        for part in range(ewidth):
            take_extreme(
                lanes, keep + part, lanes[lanes[LANE_KEY] + ahead + part], lanes[lanes[LANE_HAS] + ahead + part]
            )


@woven
def take_extreme(lanes, at, key, has):  # type: ignore[no-untyped-def]
    if has and (not lanes[lanes[LANE_HAS] + at] or key < lanes[lanes[LANE_KEY] + at]):
        lanes[lanes[LANE_KEY] + at] = key
        lanes[lanes[LANE_HAS] + at] = 1


@woven
def times_ties(logs, base, first, last, table, ahead):  # type: ignore[no-untyped-def]
    """`ahead` alone: the factors of times with several events, as many as possible in one product."""
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
def singles_with_slots(plan, loop, logs, log_sums, table, real, places, first, last, spare):  # type: ignore[no-untyped-def]
    """Entries `first` to `last`, of one event each, taken by `ahead` and the slots beside it."""
    base, width, real_base, reals = places
    log = plan[plan[LOOP_LOG] + loop]
    events = last - first
    ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
    rahead = real_base + plan[plan[LOOP_EAHEAD] + loop] * reals
    for part in range(width - 1):
        shift_left(table, ahead + 1 + part, events)
    for part in range(reals):
        shift_left(real, rahead + part, events)
    shift_left(table, ahead, events - 1)
    for part in range(width - 1):
        column = plan[plan[LOOP_SLOT_LOG] + plan[plan[LOOP_SLOT_FROM] + loop] + part]
        if column >= 0:
            at = logs[logs[ENTRY_INT_AT] + plan[plan[LOG_INT_FROM] + log] + column]
            high = logs[logs[ENTRY_INT_HIGH] + at + last] - logs[logs[ENTRY_INT_HIGH] + at + first]
            low = logs[logs[ENTRY_INT_LOW] + at + last] - logs[logs[ENTRY_INT_LOW] + at + first]
            add_times_sum(table, ahead + 1 + part, ahead, high, low, spare)
    for part in range(reals):
        column = plan[plan[LOOP_REAL_LOG] + plan[plan[LOOP_REAL_FROM] + loop] + part]
        if column >= 0:
            at = logs[logs[ENTRY_REAL_AT] + plan[plan[LOG_REAL_FROM] + log] + column]
            value = log_sums[0, at + last] - log_sums[0, at + first]
            value += log_sums[1, at + last] - log_sums[1, at + first]
            add_scaled_float(real, rahead + part, table, ahead, value)
    shift_left(table, ahead, 1)


@woven
def tie_with_slots(plan, loop, logs, log_sums, table, real, places, entry, spare):  # type: ignore[no-untyped-def]
    """One entry of several events: ahead * (1 + k), and W * (1 + k) + V * ahead for a slot W."""
    base, width, real_base, reals = places
    log = plan[plan[LOOP_LOG] + loop]
    factor = 1 + logs[logs[ENTRY_EVENTS] + logs[logs[ENTRY_ENTRY_FROM] + log] + entry]
    ahead = base + plan[plan[LOOP_AHEAD] + loop] * width
    rahead = real_base + plan[plan[LOOP_EAHEAD] + loop] * reals
    for part in range(width - 1):
        scale(table, ahead + 1 + part, factor)
        column = plan[plan[LOOP_SLOT_LOG] + plan[plan[LOOP_SLOT_FROM] + loop] + part]
        if column >= 0:
            at = logs[logs[ENTRY_INT_AT] + plan[plan[LOG_INT_FROM] + log] + column] + entry
            high = logs[logs[ENTRY_INT_HIGH] + at + 1] - logs[logs[ENTRY_INT_HIGH] + at]
            low = logs[logs[ENTRY_INT_LOW] + at + 1] - logs[logs[ENTRY_INT_LOW] + at]
            add_times_sum(table, ahead + 1 + part, ahead, high, low, spare)
    for part in range(reals):
        scale(real, rahead + part, factor)
        column = plan[plan[LOOP_REAL_LOG] + plan[plan[LOOP_REAL_FROM] + loop] + part]
        if column >= 0:
            at = logs[logs[ENTRY_REAL_AT] + plan[plan[LOG_REAL_FROM] + log] + column] + entry
            value = log_sums[0, at + 1] - log_sums[0, at] + (log_sums[1, at + 1] - log_sums[1, at])
            add_scaled_float(real, rahead + part, table, ahead, value)
    scale(table, ahead, factor)


@woven
def extremes_since(plan, loop, logs, lanes, base, ewidth, first):  # type: ignore[no-untyped-def]
    """`ahead` takes the extremes of all entries from `first` on."""
    log = plan[plan[LOOP_LOG] + loop]
    ahead = base + plan[plan[LOOP_EAHEAD] + loop] * ewidth
    for part in range(ewidth - 1):
        column = plan[plan[LOOP_EXTREME_LOG] + plan[plan[LOOP_EXTREME_FROM] + loop] + part]
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
                take_extreme(lanes, ahead + 1 + part, logs[logs[ENTRY_STACK_KEY] + at + low], 1)


@woven
def catch_up(plan, loop, logs, log_sums, lanes, table, real, places, extreme_base, ewidth, position, spare):  # type: ignore[no-untyped-def]
    """Brings one loop of a lane up to date; whether there was anything to bring."""
    log = plan[plan[LOOP_LOG] + loop]
    first, now = lanes[lanes[LANE_POSITION] + position], logs[logs[ENTRY_ENTRIES] + log]
    if first >= now:
        return False
    lanes[lanes[LANE_POSITION] + position] = now
    logs[logs[ENTRY_FRESH] + log] = 1
    if not lanes[lanes[LANE_HAS] + extreme_base + plan[plan[LOOP_EAHEAD] + loop] * ewidth]:
        return False
    base, width, real_base, reals = places
    entries = logs[logs[ENTRY_ENTRY_FROM] + log]
    add_keeps(plan, loop, table, real, base, width, real_base, reals, True)
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
                singles_with_slots(plan, loop, logs, log_sums, table, real, places, entry, stop, spare)
            if tie < last_tie:
                tie_with_slots(plan, loop, logs, log_sums, table, real, places, stop, spare)
            tie += 1
            entry = stop + 1
    add_keeps(plan, loop, table, real, base, width, real_base, reals, False)
    extremes_since(plan, loop, logs, lanes, extreme_base, ewidth, first)
    take_extremes(plan, loop, lanes, extreme_base, ewidth)
    return True
