"""Counters of a summary, compiled: matches of each event, active counters, INSERT and REMOVE.

Counts only use additions and products of non-negative numbers. A count that must shrink is computed again, never
subtracted. So doubles are correct to about thirteen digits at any time, and an empty count is exactly 0. These counts
choose events; answers are counted with integers.
"""

from __future__ import annotations

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel
from ostinato.kernels.numbers.wide_numbers import plus, scaled, times
from ostinato.summaries.engine.bridge_kernels import begins, count_left, count_right, ways_left, ways_right
from ostinato.summaries.engine.kernel_tables import CELL, COUNT, FIRST, FIRST_OLD_CELL, LAST_OLD_CELL, STALE


@inline_kernel
def cell_at(time, window):  # type: ignore[no-untyped-def]
    """The cell (k - 1, k] * window that contains the time. With a window of 0, every time is a cell."""
    return -(-time // window) if window > 0 else time


@inline_kernel
def present(own, carried, fresh, event):  # type: ignore[no-untyped-def]
    """B_pres, eq. 1."""
    return plus(plus(own[event], carried[event]), fresh[event])


# --- matches ----------------------------------------------------------------------------------------------------------


@called_kernel
def _first_after(times, count, cell, window):  # type: ignore[no-untyped-def]
    """The first event after the cell."""
    border = cell * window if window > 0 else cell
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= border:
            low = middle + 1
        else:
            high = middle
    return low


@called_kernel
def count_matches(rules, columns, scratch, window):  # type: ignore[no-untyped-def]
    """Recounts the matches that start in cells marked by `recount_later`. Then `present` is correct for all events."""
    marks = columns.marks
    first_cell, last_cell = marks[FIRST_OLD_CELL], marks[LAST_OLD_CELL]
    if last_cell >= marks[CELL] - 1:  # fresh matches lie in the last two cells, which are recounted together
        last_cell = marks[CELL]
    marks[FIRST_OLD_CELL], marks[LAST_OLD_CELL] = 0, -1
    count = columns.marks[COUNT]
    zero = scratch.one[0]
    left = _first_after(columns.time, count, first_cell - 1, window)
    stop = _first_after(columns.time, count, last_cell, window)
    for event in range(
        _first_after(columns.time, count, first_cell, window), _first_after(columns.time, count, last_cell + 1, window)
    ):
        columns.carried[event] = zero  # even if the cell before is empty now
    while left < stop:
        cell = cell_at(columns.time[left], window)
        cut = left
        border = cell * window if window > 0 else cell
        while cut < count and columns.time[cut] <= border:
            columns.fresh[cut] = zero
            cut += 1
        right = cut
        if window > 0:
            while right < count and columns.time[right] - border <= window:
                right += 1
        types, weights, one = columns.type, columns.weight, scratch.one[1]
        ways_right(rules, types, weights, scratch.ways_right, scratch.completed, cut, right, one)
        ways_left(rules, types, weights, scratch.ways_left, left, cut, one)
        count_left(rules, columns, scratch, window, left, cut, right)
        count_right(rules, columns, scratch, left, cut, right)
        left = cut


# --- active counters --------------------------------------------------------------------------------------------------


@called_kernel
def count_active(rules, columns, scratch):  # type: ignore[no-untyped-def]
    """Active global and local counters, from the oldest active initiator on."""
    states = len(rules.final)
    zero, one = scratch.one[0], scratch.one[1]
    first, count = columns.marks[FIRST], columns.marks[COUNT]
    total, taken, ways = columns.total, scratch.vector, scratch.ways_left
    for z in range(states):
        total[z] = zero
    columns.marks[STALE] = 0
    if first >= count:
        return
    ways_left(rules, columns.type, columns.weight, ways, first, count, one)
    for event in range(first, count):
        take(rules, columns.type[event], columns.weight[event], total, taken, one)
        for y in range(states):
            columns.active[event, y] = zero
        for z in range(states):
            if taken[z] != zero:
                for y in range(states):
                    with_it = times(ways[event - first + 1, z, y], taken[z])
                    columns.active[event, y] = plus(columns.active[event, y], with_it)
        _pass(rules, columns.type[event], total, taken)


@inline_kernel
def take(rules, type, weight, counts, taken, one):  # type: ignore[no-untyped-def]
    """Partial matches that take the event, by state, and those that it begins."""
    for z in range(len(taken)):
        taken[z] = one - one
    for move in range(rules.move_first[type], rules.move_first[type + 1]):
        factor = weight if rules.move_weighted[move] else 1.0
        target = rules.move_target[move]
        taken[target] = plus(taken[target], scaled(counts[rules.move_source[move]], factor))
    for begin in range(rules.begin_first[type], rules.begin_first[type + 1]):
        factor = weight if rules.begin_weighted[begin] else 1.0
        target = rules.begin_target[begin]
        taken[target] = plus(taken[target], scaled(one, factor))


@inline_kernel
def _pass(rules, type, counts, taken):  # type: ignore[no-untyped-def]
    for z in range(len(taken)):
        counts[z] = plus(taken[z], counts[z]) if rules.may_skip[type, z] else taken[z]


# --- operations -------------------------------------------------------------------------------------------------------


@inline_kernel
def recount_later(marks, first_cell, last_cell):  # type: ignore[no-untyped-def]
    """Marks cells whose matches must be recounted before the next choice."""
    if marks[FIRST_OLD_CELL] > marks[LAST_OLD_CELL]:
        marks[FIRST_OLD_CELL], marks[LAST_OLD_CELL] = first_cell, last_cell
    else:
        marks[FIRST_OLD_CELL] = min(marks[FIRST_OLD_CELL], first_cell)
        marks[LAST_OLD_CELL] = max(marks[LAST_OLD_CELL], last_cell)


@inline_kernel
def expire(rules, columns, window, now):  # type: ignore[no-untyped-def]
    """Deactivates initiators that are too old for a match with the current event."""
    first, count = columns.marks[FIRST], columns.marks[COUNT]
    before = first
    while first < count and not (begins(rules, columns.type[first]) and now - columns.time[first] <= window):
        first += 1
    if first != before:
        columns.marks[FIRST] = first
        columns.marks[STALE] = 1


@called_kernel
def insert(rules, columns, scratch, any_match, window, time, type, weight):  # type: ignore[no-untyped-def]
    """INSERT at the end. The caller has copied the columns that kernels don't read. Active counters must not be
    stale, and there must be room."""
    states = len(rules.final)
    zero, one = scratch.one[0], scratch.one[1]
    first, count = columns.marks[FIRST], columns.marks[COUNT]
    taken = scratch.vector
    moves, end = rules.move_first[type], rules.move_first[type + 1]
    if moves < end:
        for event in range(first, count):
            for z in range(states):
                taken[z] = zero
            for move in range(moves, end):
                factor = weight if rules.move_weighted[move] else 1.0
                target = rules.move_target[move]
                with_it = scaled(columns.active[event, rules.move_source[move]], factor)
                taken[target] = plus(taken[target], with_it)
                if rules.final[target]:
                    columns.fresh[event] = plus(columns.fresh[event], with_it)
            for z in range(states):
                if rules.may_skip[type, z]:
                    columns.active[event, z] = plus(columns.active[event, z], taken[z])
                else:
                    columns.active[event, z] = taken[z]
    take(rules, type, weight, columns.total, taken, one)
    columns.time[count] = time
    columns.type[count] = type
    columns.weight[count] = weight
    columns.own[count] = zero
    columns.carried[count] = zero
    complete = zero
    for z in range(states):
        columns.active[count, z] = taken[z]
        if rules.final[z]:
            complete = plus(complete, taken[z])
    columns.fresh[count] = complete
    _pass(rules, type, columns.total, taken)
    if first == count and not begins(rules, type):
        columns.marks[FIRST] = count + 1
    columns.marks[COUNT] = count + 1
    cell, last = cell_at(time, window), columns.marks[CELL]
    if cell != last:  # moves fresh matches of older cells to `own` and `carried`
        recount_later(columns.marks, last - 1, last)
        columns.marks[CELL] = cell
    if not any_match:  # complete matches may have moved on
        recount_later(columns.marks, cell - 1, cell)


@called_kernel
def drop(columns, event):  # type: ignore[no-untyped-def]
    """Removes the event's row and moves later rows up."""
    count = columns.marks[COUNT] - 1
    states = columns.active.shape[1]
    for row in range(event, count):
        columns.time[row] = columns.time[row + 1]
        columns.type[row] = columns.type[row + 1]
        columns.weight[row] = columns.weight[row + 1]
        columns.payload[row] = columns.payload[row + 1]
        columns.valid[row] = columns.valid[row + 1]
        columns.number[row] = columns.number[row + 1]
    for row in range(event, count):
        columns.own[row] = columns.own[row + 1]
        columns.carried[row] = columns.carried[row + 1]
        columns.fresh[row] = columns.fresh[row + 1]
        for z in range(states):
            columns.active[row, z] = columns.active[row + 1, z]
    columns.marks[COUNT] = count


@inline_kernel
def remove(rules, columns, scratch, any_match, window, event):  # type: ignore[no-untyped-def]
    """REMOVE: shifts rows, and marks the cells within a window of the event for a recount, unless it is in no match.
    `count_matches` and `count_active` recount them in linear time."""
    zero = scratch.one[0]
    first = columns.marks[FIRST]
    if present(columns.own, columns.carried, columns.fresh, event) != zero or not any_match:
        cell = cell_at(columns.time[event], window)
        recount_later(columns.marks, cell - 1, cell)
    if event >= first:
        for z in range(len(rules.final)):
            if columns.active[event, z] != zero:
                columns.marks[STALE] = 1
    drop(columns, event)
    if event < first:
        columns.marks[FIRST] = first - 1
    else:
        while first < columns.marks[COUNT] and not begins(rules, columns.type[first]):
            first += 1
        columns.marks[FIRST] = first
