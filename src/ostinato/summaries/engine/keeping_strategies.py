"""Events + a summary -> the summary after them, compiled. Each strategy chooses the events that are kept (eq. 4).

The driver calls `advance_by_benefit` or `advance_blindly`. They change the given columns and return the number of
processed events. They stop early if counts overflow doubles; the driver then repeats the call with wide numbers.
"""

from __future__ import annotations

import numpy as np

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.kernels.mixing import mixed
from ostinato.kernels.numbers.wide_numbers import below, is_sound
from ostinato.summaries.engine.counting_kernels import count_active, count_matches, drop, expire, insert, remove
from ostinato.summaries.engine.event_benefit import TIE, benefit_of_newcomer, fill_table, lowest_benefit, moved_by
from ostinato.summaries.engine.kernel_tables import (
    COUNT,
    FIFO,
    FIRST_OLD_CELL,
    LAST_OLD_CELL,
    NOW,
    SEEN,
    STALE,
    STARTED,
)
from ostinato.summaries.engine.probabilities import learn, settle_learning

_BITS = np.uint64(0x7FFFFFFFFFFFFFFF)


@inline_kernel
def drawn(seed, number):  # type: ignore[no-untyped-def]
    """A pseudo-random number below 2**31, for the random strategy."""
    start = (seed * 0x1E3779B97F4A7C15 + number * 0x5851F42D4C957F2D + 0x14057B7EF767814F) & 0x7FFFFFFFFFFFFFFF
    bits = mixed(np.uint64(start), _BITS)
    return np.int64(bits ^ (bits >> np.uint64(31))) & 0x7FFFFFFF


@inline_kernel
def _copy_row(columns, count, incoming, i):  # type: ignore[no-untyped-def]
    columns.time[count] = incoming.time[i]
    columns.type[count] = incoming.type[i]
    columns.weight[count] = incoming.weight[i]
    columns.payload[count] = incoming.payload[i]
    columns.valid[count] = incoming.valid[i]
    columns.number[count] = incoming.number[i]


@borrowing_kernel
def advance_blindly(columns, choice, incoming, start, stop):  # type: ignore[no-untyped-def]
    """FIFO and random, which need no counters. Takes the events from `start` to `stop`."""
    marks = columns.marks
    for i in range(start, stop):
        marks[SEEN] += 1
        if incoming.type[i] < len(columns.probabilities):
            if marks[COUNT] == choice.size:
                position = 0 if choice.rule == FIFO else drawn(choice.seed, int(marks[SEEN])) % choice.size
                drop(columns, position)
            _copy_row(columns, marks[COUNT], incoming, i)
            marks[COUNT] += 1
    if start < stop:
        marks[NOW] = incoming.time[stop - 1]
        marks[STARTED] = 1
    return stop


@borrowing_kernel
def advance_by_benefit(rules, columns, scratch, choice, incoming, start, stop, stopped):  # type: ignore[no-untyped-def]
    """Takes the events from `start` to `stop`. Returns the index of the first event that wasn't taken."""
    types, zero = len(columns.probabilities), scratch.one[0]
    learns = choice.learns_types or choice.learns_tick
    marks = columns.marks
    fill_table(rules, columns, scratch)
    for i in range(start, stop):
        if stopped[0] != 0:
            return i
        now, type, weight = incoming.time[i], incoming.type[i], incoming.weight[i]
        marks[SEEN] += 1
        if learns and learn(columns, choice, type, now):
            settle_learning(columns, choice)
            fill_table(rules, columns, scratch)
        marks[NOW] = now
        marks[STARTED] = 1
        if type >= types:
            continue
        expire(rules, columns, choice.window, now)
        if marks[STALE]:
            count_active(rules, columns, scratch)
        if marks[COUNT] == choice.size:
            benefit = benefit_of_newcomer(rules, columns, scratch, choice, now, type, weight)
            if not is_sound(benefit):
                return i
            if choice.any_match and benefit == zero:
                continue
            if marks[FIRST_OLD_CELL] <= marks[LAST_OLD_CELL]:
                count_matches(rules, columns, scratch, choice.window)
            position, lowest = lowest_benefit(rules, columns, scratch, choice, now)
            if position < 0:
                return i
            if not below(moved_by(lowest, TIE), benefit):
                continue
            remove(rules, columns, scratch, choice.any_match, choice.window, position)
            if marks[STALE]:
                count_active(rules, columns, scratch)
        _copy_row(columns, marks[COUNT], incoming, i)
        insert(rules, columns, scratch, choice.any_match, choice.window, now, type, weight)
        for z in range(len(rules.final)):
            if not is_sound(columns.total[z]):
                return i
    return stop
