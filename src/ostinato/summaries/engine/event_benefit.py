"""Benefit of an event: the matches that contain it (present), and the expected further ones (eq. 1 to 5).

The expected benefit is the product of the event's active counters with a row of a table. The table has, for each number
of further events, the expected growth of a partial match in each state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel
from ostinato.kernels.numbers.wide_numbers import below, is_sound, plus, scaled, times
from ostinato.summaries.engine.bridge_kernels import begins
from ostinato.summaries.engine.counter_moves import CountProgram
from ostinato.summaries.engine.counting_kernels import present, take
from ostinato.summaries.engine.kernel_tables import COUNT, FIRST

TIE = 2.0**-40
"""Benefits with a smaller relative difference count as equal."""


def growth(program: CountProgram, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean step of all counters, eq. 2 as a matrix: [from, to]. The start comes first; its count is always 1.

    Row 0 of its t-th power is the growth from the start in t events. The other rows are the cached coefficients.
    """
    mean = np.eye(program.plain_states + 1)
    for type, probability in enumerate(probabilities):
        for move in program.moves[type]:
            if max(move.source, move.target) < program.plain_states:
                mean[move.source + 1, move.target + 1] += probability
                if not program.may_skip[type][move.source]:
                    mean[move.source + 1, move.source + 1] -= probability
        for begin in program.begins[type]:
            if begin.target < program.plain_states:
                mean[0, begin.target + 1] += probability
    return mean


@called_kernel
def fill_table(rules, columns, scratch):  # type: ignore[no-untyped-def]
    """Row t: the expected number of new complete matches from one partial match of a state in t events, eq. 2 and 3."""
    table = scratch.table
    zero, one = scratch.one[0], scratch.one[1]
    states = table.shape[1]
    for z in range(states):
        table[0, z] = zero
    for t in range(1, table.shape[0]):
        for z in range(states):
            table[t, z] = zero
        for type in range(len(columns.probabilities)):
            probability = columns.probabilities[type]
            for move in range(rules.move_first[type], rules.move_first[type + 1]):
                source, target = rules.move_source[move], rules.move_target[move]
                if source < states and target < states:
                    gain = table[t - 1, target]
                    if rules.plain_final[target]:
                        gain = plus(gain, one)
                    if not rules.may_skip[type, source]:
                        gain = plus(gain, scaled(table[t - 1, source], -1.0))
                        if rules.plain_final[source]:
                            gain = plus(gain, scaled(one, -1.0))
                    table[t, source] = plus(table[t, source], scaled(gain, probability))
        for z in range(states):
            table[t, z] = plus(table[t, z], table[t - 1, z])


@inline_kernel
def moved_by(number, fraction):  # type: ignore[no-untyped-def]
    """The number, increased by a fraction of its size (decreased if the fraction is negative)."""
    return scaled(number, 1.0 + fraction if number.real >= 0.0 else 1.0 - fraction)


@inline_kernel
def _steps(tick, last, choice, age, position):  # type: ignore[no-untyped-def]
    """Expected number of events while an initiator of that age is in the window, at most the size of the table. If
    capped, at most the number of older events in the summary, which can make room."""
    if choice.is_capped and position < last:
        last = position
    remaining = choice.window - age
    if tick <= 0.0 or remaining >= last * tick:
        return last
    return int(remaining / tick)


@inline_kernel
def _set_mean(tick, table, mean, choice, old_age, old_position, new_age, new_position):  # type: ignore[no-untyped-def]
    """(growth in Δτ_old + growth in Δτ_new) / 2, for each state, given age and position of both initiators."""
    old = _steps(tick, table.shape[0] - 1, choice, old_age, old_position)
    new = _steps(tick, table.shape[0] - 1, choice, new_age, new_position)
    for z in range(len(mean)):
        mean[z] = scaled(plus(table[old, z], table[new, z]), 0.5)


@called_kernel
def lowest_benefit(rules, columns, scratch, choice, now):  # type: ignore[no-untyped-def]
    """The position of the event with the lowest benefit (the oldest among equal ones), and its benefit."""
    count, first = columns.marks[COUNT], columns.marks[FIRST]
    position, lowest = 0, present(columns.own, columns.carried, columns.fresh, 0)
    bound = lowest
    for event in range(count):
        benefit = present(columns.own, columns.carried, columns.fresh, event)
        if event >= first and choice.looks_ahead:
            if begins(rules, columns.type[event]):
                old, new = now - columns.time[first], now - columns.time[event]
                _set_mean(columns.tick[0], scratch.table, scratch.mean, choice, old, first, new, event)
            expected = times(columns.active[event, 0], scratch.mean[0])
            for z in range(1, len(scratch.mean)):
                expected = plus(expected, times(columns.active[event, z], scratch.mean[z]))
            if choice.weighs_values:
                expected = scaled(expected, columns.weight[event])
            benefit = plus(benefit, expected)
        if event == 0 or below(benefit, bound):
            position, lowest = event, benefit
            bound = moved_by(lowest, -TIE)
        if not is_sound(benefit):
            return -1, benefit
    return position, lowest


@called_kernel
def benefit_of_newcomer(rules, columns, scratch, choice, now, type, weight):  # type: ignore[no-untyped-def]
    """The benefit that an event would have if it were inserted and no other event dropped."""
    take(rules, type, weight, columns.total, scratch.vector, scratch.one[1])
    counts = scratch.vector
    benefit = scratch.one[0]
    for z in range(len(rules.final)):
        if rules.final[z]:
            benefit = plus(benefit, counts[z])
    first, count = columns.marks[FIRST], columns.marks[COUNT]
    starts = begins(rules, type)
    if choice.looks_ahead and (starts or first < count):
        old = now - columns.time[first] if first < count else 0
        new, position = 0, count
        if not starts:
            position = count - 1
            while not begins(rules, columns.type[position]):
                position -= 1
            new = now - columns.time[position]
        _set_mean(columns.tick[0], scratch.table, scratch.mean, choice, old, first, new, position)
        expected = scratch.one[0]
        for z in range(len(scratch.mean)):
            expected = plus(expected, times(counts[z], scratch.mean[z]))
        if choice.weighs_values:
            expected = scaled(expected, weight)
        benefit = plus(benefit, expected)
    return benefit
