"""One bridge of `bridges.py`, compiled: events left and right of a cut -> the matches across it, by event.

The caller runs `ways_right` and `ways_left` first, then `count_left`, then `count_right`, which reads the scratch of
`count_left`.
"""

from __future__ import annotations

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel
from ostinato.kernels.numbers.wide_numbers import plus, scaled, times


@inline_kernel
def begins(rules, type):  # type: ignore[no-untyped-def]
    return rules.begin_first[type] < rules.begin_first[type + 1]


@called_kernel
def ways_right(rules, types, weights, ways, completed, cut, right, one):  # type: ignore[no-untyped-def]
    """`ways[r, y, z]`: from y at the cut to z after r events. `completed[r, y]`: to any final state."""
    states = len(rules.final)
    zero = one - one
    for y in range(states):
        for z in range(states):
            ways[0, y, z] = one if y == z else zero
    for r in range(right - cut):
        type, weight = types[cut + r], weights[cut + r]
        for y in range(states):
            for z in range(states):
                ways[r + 1, y, z] = ways[r, y, z] if rules.may_skip[type, z] else zero
            for move in range(rules.move_first[type], rules.move_first[type + 1]):
                factor = weight if rules.move_weighted[move] else 1.0
                target = rules.move_target[move]
                count = scaled(ways[r, y, rules.move_source[move]], factor)
                ways[r + 1, y, target] = plus(ways[r + 1, y, target], count)
    for r in range(right - cut + 1):
        for y in range(states):
            count = zero
            for z in range(states):
                if rules.final[z]:
                    count = plus(count, ways[r, y, z])
            completed[r, y] = count


@called_kernel
def ways_left(rules, types, weights, ways, left, cut, one):  # type: ignore[no-untyped-def]
    """`ways[k, z, y]`: from z before event left + k to y at the cut."""
    states = len(rules.final)
    zero = one - one
    last = cut - left
    for z in range(states):
        for y in range(states):
            ways[last, z, y] = one if y == z else zero
    for k in range(last - 1, -1, -1):
        type, weight = types[left + k], weights[left + k]
        for z in range(states):
            if rules.may_skip[type, z]:
                for y in range(states):
                    ways[k, z, y] = ways[k + 1, z, y]
            else:
                for y in range(states):
                    ways[k, z, y] = zero
        for move in range(rules.move_first[type], rules.move_first[type + 1]):
            source, target = rules.move_source[move], rules.move_target[move]
            factor = weight if rules.move_weighted[move] else 1.0
            for y in range(states):
                ways[k, source, y] = plus(ways[k, source, y], scaled(ways[k + 1, target, y], factor))


@called_kernel
def _clear(matrix, zero):  # type: ignore[no-untyped-def]
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            matrix[row, column] = zero


@called_kernel
def count_left(rules, columns, scratch, window, left, cut, right):  # type: ignore[no-untyped-def]
    """Sets `own` of the events before the cut. Stores for each start the counts at the cut, and its end."""
    states = len(rules.final)
    zero, one = scratch.one[0], scratch.one[1]
    pending, moved, ways = scratch.pending, scratch.moved, scratch.ways_left
    _clear(pending, zero)
    end = 0
    for event in range(left, cut):
        type, weight, behind = columns.type[event], columns.weight[event], event - left + 1
        _clear(moved, zero)
        for move in range(rules.move_first[type], rules.move_first[type + 1]):
            source, target = rules.move_source[move], rules.move_target[move]
            factor = weight if rules.move_weighted[move] else 1.0
            for y in range(states):
                moved[target, y] = plus(moved[target, y], scaled(pending[source, y], factor))
        if begins(rules, type):
            while cut + end < right and columns.time[cut + end] - columns.time[event] <= window:
                end += 1
            for y in range(states):
                scratch.at_cut[event - left, y] = zero
            for begin in range(rules.begin_first[type], rules.begin_first[type + 1]):
                target = rules.begin_target[begin]
                started = scaled(one, weight) if rules.begin_weighted[begin] else one
                for y in range(states):
                    arriving = times(ways[behind, target, y], started)
                    scratch.at_cut[event - left, y] = plus(scratch.at_cut[event - left, y], arriving)
                    moved[target, y] = plus(moved[target, y], times(scratch.completed[end, y], started))
        scratch.ends[event - left] = end
        count = zero
        for z in range(states):
            for y in range(states):
                count = plus(count, times(moved[z, y], ways[behind, z, y]))
        columns.own[event] = count
        for z in range(states):
            for y in range(states):
                pending[z, y] = plus(moved[z, y], pending[z, y]) if rules.may_skip[type, z] else moved[z, y]


@called_kernel
def count_right(rules, columns, scratch, left, cut, right):  # type: ignore[no-untyped-def]
    """Sets `carried` of the events after the cut, from the scratch of `count_left`."""
    states = len(rules.final)
    zero = scratch.one[0]
    pending, moved, ways = scratch.pending, scratch.moved, scratch.ways_right
    _clear(pending, zero)  # [z, y]
    start = cut - 1
    for event in range(right - 1, cut - 1, -1):
        type, weight, r = columns.type[event], columns.weight[event], event - cut
        while start >= left and scratch.ends[start - left] > r:
            if begins(rules, columns.type[start]):
                for z in range(states):
                    if rules.final[z]:
                        for y in range(states):
                            pending[z, y] = plus(pending[z, y], scratch.at_cut[start - left, y])
            start -= 1
        _clear(moved, zero)
        for move in range(rules.move_first[type], rules.move_first[type + 1]):
            source, target = rules.move_source[move], rules.move_target[move]
            factor = weight if rules.move_weighted[move] else 1.0
            for y in range(states):
                moved[source, y] = plus(moved[source, y], scaled(pending[target, y], factor))
        count = zero
        for z in range(states):
            for y in range(states):
                count = plus(count, times(ways[r, y, z], moved[z, y]))
        columns.carried[event] = count
        for z in range(states):
            for y in range(states):
                pending[z, y] = plus(moved[z, y], pending[z, y]) if rules.may_skip[type, z] else moved[z, y]
