"""Running sums for each state of an automaton: the kernel for programs without tests between events.

A lane is an open window or, with a span, a time at which trends start. Each lane has running sums:
sums over the trends that ended in a state so far. For each transition of an event's label, the kernel adds the sum at
the source to the sum at the target. So an event costs the same for any number of earlier events. Events of the same
time must not see each other: their gains wait in a spare lane until all of them have read.

The kernel never raises. It returns a status, and `progress` says where to continue.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.separate.running_arrays import (
    COUNT_BITS,
    FAILED,
    FAR,
    FINISHED,
    HEAD,
    LANES,
    LOADED,
    MORE_COLUMNS,
    NEXT,
    OVER,
    ROW,
    SEQUENCE,
    SLACK,
    SLOT_BITS,
    SPAN,
    STOPPED,
    STRICT,
    SUMMED,
    UNBOUNDED,
    WAITING,
    WINDOWS,
    WORDS,
)
from ostinato.event_queries.trends.separate.running_state import load, save, write_result
from ostinato.event_queries.trends.separate.sums import clear, extend_into, merge
from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel, inline_kernel
from ostinato.kernels.numbers.limbs import BITS, bit_length
from ostinato.kernels.numbers.number_table import set_small


@inline_kernel
def _open(plan, slots, lanes, sums, progress, low, high):  # type: ignore[no-untyped-def]
    lane = (progress[HEAD] + progress[LANES]) % lanes.capacity
    for sum_index in range(lane * plan.sums_per_lane, (lane + 1) * plan.sums_per_lane):
        clear(slots, sums, sum_index)
    width = slots.integers_on.shape[0] + 1
    for start in plan.starts:
        set_small(sums.integers, (lane * plan.sums_per_lane + start) * width, 1)
    lanes.low[lane] = low
    lanes.high[lane] = high
    progress[LANES] += 1
    if progress[LANES] == 1:
        progress[COUNT_BITS] = 1
        progress[SLOT_BITS] = 1


@inline_kernel
def _wants_lanes(plan, lanes, rows, progress, row, end):  # type: ignore[no-untyped-def]
    if progress[LANES] == 0 or (plan.bound == SPAN and (end > row + 1 or rows.mask[row] & plan.start_labels)):
        return True
    newest = (progress[HEAD] + progress[LANES] - 1) % lanes.capacity
    return plan.bound == WINDOWS and rows.position[end - 1] >= lanes.low[newest] + plan.slide


@called_kernel
def _open_lanes(plan, slots, lanes, rows, sums, progress, row, end):  # type: ignore[no-untyped-def]
    """Opens lanes for the events `row:end`, which have the same time."""
    newest = (progress[HEAD] + progress[LANES] - 1) % lanes.capacity
    if plan.bound == UNBOUNDED:
        if progress[LANES] == 0:
            _open(plan, slots, lanes, sums, progress, -FAR, FAR)
    elif plan.bound == SPAN:
        for each in range(row, end):
            if rows.mask[each] & plan.start_labels and (
                progress[LANES] == 0 or lanes.low[newest] < rows.position[each]
            ):
                first = rows.position[each]
                _open(plan, slots, lanes, sums, progress, first, first + plan.length + 1)
                newest = (progress[HEAD] + progress[LANES] - 1) % lanes.capacity
    else:
        window = (rows.position[row] - plan.length) // plan.slide + 1
        if plan.by_place and window < 0:
            window = 0
        if progress[LANES] > 0:
            window = max(window, lanes.low[newest] // plan.slide + 1)
        while window * plan.slide <= rows.position[end - 1]:
            _open(plan, slots, lanes, sums, progress, window * plan.slide, window * plan.slide + plan.length)
            window += 1


@inline_kernel
def _has_room(plan, slots, lanes, rows, integers, progress, many):  # type: ignore[no-untyped-def]
    """Whether `many` events at once will fit. Bounds on the numbers are stored, so lengths are seldom looked up."""
    if not integers.exact:
        return True
    edges = len(plan.edge_source)
    more = bit_length(np.int64(many * edges + 1)) + 1
    free_bits = BITS * (integers.limbs.shape[1] - SLACK)
    counts = progress[COUNT_BITS] + more
    sums = max(progress[SLOT_BITS], progress[COUNT_BITS] + rows.value_bits) + more + 1
    if max(counts, sums) > free_bits:
        longest = np.int64(1)
        size = plan.sums_per_lane * (slots.integers_on.shape[0] + 1)
        for i in range(progress[LANES]):
            lane = (progress[HEAD] + i) % lanes.capacity
            for number in range(lane * size, (lane + 1) * size):
                longest = max(longest, integers.length[number])
        # Some slack, so that the lengths aren't looked up again with every event.
        counts = BITS * (longest + 1) + more
        sums = BITS * (longest + 1) + rows.value_bits + more + 1
        if max(counts, sums) > free_bits:
            return False
        counts -= BITS
        sums -= BITS
    progress[COUNT_BITS] = counts
    progress[SLOT_BITS] = sums
    return True


@called_kernel
def _step(plan, slots, lanes, rows, values, sums, lane, row, end):  # type: ignore[no-untyped-def]
    """Applies the events `row:end` of one time to one lane."""
    base = lane * plan.sums_per_lane
    spare = (lanes.capacity + WAITING) * plan.sums_per_lane
    low, high = lanes.low[lane], lanes.high[lane]
    fits = True
    if plan.selection == STRICT and not rows.linked[row]:
        for sum_in_lane in range(plan.sums_per_lane):
            if plan.passing[sum_in_lane]:
                clear(slots, sums, base + sum_in_lane)
    for each in range(row, end):
        position = rows.position[each]
        if not low <= position < high:
            continue
        for label in range(plan.labels):
            if not (rows.mask[each] >> label) & 1:
                continue
            for edge in range(plan.edge_at[label], plan.edge_at[label + 1]):
                if plan.bound == SPAN and plan.edge_state[edge] == 0 and position != low:
                    continue
                state = plan.edge_target[edge]
                lanes.touched[state] = True
                source = base + plan.edge_source[edge]
                fits &= extend_into(slots, sums, values, spare + state, source, each, label)
    _leave(plan, slots, lanes, rows, sums, lane, row, end)
    for state in range(plan.states):
        if lanes.touched[state]:
            lanes.touched[state] = False
            for at in range(plan.sum_at[state], plan.sum_at[state + 1]):
                fits &= merge(slots, sums, base + plan.sum_of[at], spare + state)
            clear(slots, sums, spare + state)
    return fits


@inline_kernel
def _leave(plan, slots, lanes, rows, sums, lane, row, end):  # type: ignore[no-untyped-def]
    """Empties the running sums that runs leave at this time, and those that an absence ends."""
    base = lane * plan.sums_per_lane
    if plan.selection == STRICT:
        for sum_in_lane in range(plan.sums_per_lane):
            if plan.passing[sum_in_lane]:
                clear(slots, sums, base + sum_in_lane)
    for each in range(row, end):
        if not lanes.low[lane] <= rows.position[each] < lanes.high[lane]:
            continue
        if plan.selection == NEXT:
            for label in range(plan.labels):
                if (rows.mask[each] >> label) & 1:
                    for edge in range(plan.edge_at[label], plan.edge_at[label + 1]):
                        if plan.passing[plan.edge_source[edge]]:
                            clear(slots, sums, base + plan.edge_source[edge])
        for absence in range(len(plan.reset_at) - 1):
            if (rows.mask[each] >> (plan.labels + absence)) & 1:
                for at in range(plan.reset_at[absence], plan.reset_at[absence + 1]):
                    clear(slots, sums, base + plan.reset_sum[at])


@called_kernel
def _close(plan, slots, lanes, sums, out, progress):  # type: ignore[no-untyped-def]
    """Closes the oldest lane: writes its results, or adds them to those of the span."""
    lane = progress[HEAD]
    width = slots.integers_on.shape[0] + 1
    total = (lanes.capacity + SUMMED) * plan.sums_per_lane
    clear(slots, sums, total)
    for sum_in_lane in plan.results:
        if not merge(slots, sums, total, lane * plan.sums_per_lane + sum_in_lane):
            return MORE_COLUMNS
    if plan.bound == SPAN:
        over = (lanes.capacity + OVER) * plan.sums_per_lane
        for w in range(width):
            longer = max(sums.integers.length[over * width + w], sums.integers.length[total * width + w])
            if sums.integers.exact and longer + 1 > sums.integers.limbs.shape[1]:
                return MORE_COLUMNS
        if not merge(slots, sums, over, total):
            return FAILED
    else:
        status = write_result(slots, sums, out, progress, total, lanes.low[lane])
        if status != FINISHED:
            return status
    progress[HEAD] = (lane + 1) % lanes.capacity
    progress[LANES] -= 1
    return FINISHED


# --- all sequences ----------------------------------------------------------------------------------------------------


@borrowing_kernel
def advance_sums(plan, slots, lanes, rows, values, sums, out, before, after, progress, stopped):  # type: ignore[no-untyped-def]
    """Processes all sequences from `progress` on. States are read from `before` and written to `after`."""
    # Arrays as plain locals: each access to a tuple makes the compiler handle all of its fields.
    starts, time, positions, labels = rows.starts, rows.time, rows.position, rows.label
    low, high, capacity, sums_per_lane = lanes.low, lanes.high, lanes.capacity, plan.sums_per_lane
    edge_at, edge_source, edge_state, edge_target = plan.edge_at, plan.edge_source, plan.edge_state, plan.edge_target
    sum_at, sum_of, can_at_once, in_span = plan.sum_at, plan.sum_of, plan.at_once, plan.bound == SPAN
    sequences = len(starts) - 1
    while progress[SEQUENCE] < sequences:
        sequence = progress[SEQUENCE]
        if progress[LOADED] == 0:
            if not load(plan, slots, lanes, sums, before, sequence, progress):
                return MORE_COLUMNS
            progress[LOADED] = 1
            progress[ROW] = starts[sequence]
        row, last = progress[ROW], starts[sequence + 1]
        while row < last:
            if stopped[0] != 0:
                return STOPPED
            end = row + 1
            while end < last and time[end] == time[row]:
                end += 1
            position = positions[row]
            while progress[LANES] > 0 and high[progress[HEAD]] <= position:
                status = _close(plan, slots, lanes, sums, out, progress)
                if status != FINISHED:
                    progress[ROW] = row
                    return status
            if _wants_lanes(plan, lanes, rows, progress, row, end):
                _open_lanes(plan, slots, lanes, rows, sums, progress, row, end)
            if not _has_room(plan, slots, lanes, rows, sums.integers, progress, end - row):
                progress[ROW] = row
                return MORE_COLUMNS
            label = labels[row]
            at_once = end == row + 1 and label >= 0 and can_at_once[label]
            fits = True
            lane = progress[HEAD]
            for _ in range(progress[LANES]):
                if at_once:
                    base = lane * sums_per_lane
                    for edge in range(edge_at[label], edge_at[label + 1]):
                        if in_span and edge_state[edge] == 0 and position != low[lane]:
                            continue
                        into = base + sum_of[sum_at[edge_target[edge]]]
                        source = base + edge_source[edge]
                        fits &= extend_into(slots, sums, values, into, source, row, label)
                else:
                    fits &= _step(plan, slots, lanes, rows, values, sums, lane, row, end)
                lane += 1
                if lane == capacity:
                    lane = 0
            if not fits:
                return FAILED
            row = end
        progress[ROW] = row
        while progress[LANES] > 0 and (rows.final or high[progress[HEAD]] <= rows.until[sequence]):
            status = _close(plan, slots, lanes, sums, out, progress)
            if status != FINISHED:
                return status
        over = (capacity + OVER) * sums_per_lane
        if rows.final:
            if in_span:
                status = write_result(slots, sums, out, progress, over, np.int64(-FAR - 1))
                if status != FINISHED:
                    return status
        else:
            if plan.selection == STRICT and not rows.tail[sequence]:
                for lane in range(capacity):
                    for sum_in_lane in range(sums_per_lane):
                        if plan.passing[sum_in_lane]:
                            clear(slots, sums, lane * sums_per_lane + sum_in_lane)
            status = save(plan, slots, lanes, sums, after, progress)
            if status != FINISHED:
                return status
        after.starts[sequence + 1] = progress[WORDS]
        progress[SEQUENCE] += 1
        progress[LOADED] = 0
    return FINISHED
