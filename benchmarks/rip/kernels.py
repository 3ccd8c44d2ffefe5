"""The one engine under all variants: runs tried with events. Arrays in, arrays out; two kernels, the same conditions.

A run is a row of integers: the state it is in, its last event, and for each state the event with which it was entered.
Matches are contiguous, so that is the whole partial match. `advance_runs` is Algorithm 1 of the paper, event by event
over all runs; `advance_state` is one unit of the state pipeline. Both count each predicate evaluation under its state.
They never stop half-way through an event: short of room they return before it, and the driver makes room and calls
again.
"""

from __future__ import annotations

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel

# Everything that the kernels are made of stands in this file: a cached kernel doesn't see changes elsewhere.
LESS, AT_MOST, MORE, AT_LEAST = 0, 1, 2, 3
"""How a row's price compares with the other side."""
NUMBER, ROW_BEFORE = -2, -1
"""What the other side is; from 0 on, the state whose row is meant."""

STATE, LAST, ENTERED = 0, 1, 2
"""Columns of a run; the event with which state i was entered stands at ENTERED + i."""
PASSED_BY = -1
"""Instead of an event, for an optional state that the run did without."""
NO_STATE = -1
"""Where a run is before its first event."""

FINISHED, MORE_RUNS, MORE_FOUND = 0, 1, 2
"""How a kernel ends: all events are done, or it needs room for open runs, or for what it hands out."""

# Places in `progress` of advance_runs: the next event, open runs, matches, and whether the runs lie in `spare`.
ROW, RUNS, MATCHES, SWAPPED = 0, 1, 2, 3
# Places in `progress` of advance_state: the next event, buffered runs, what was sent on, incoming tried and forwarded.
BUFFERED, SENT, TRIED, FORWARDED, BUFFER_SWAPPED = 1, 2, 3, 4, 5


@inline_kernel
def _holds(states, state, price, row, runs, run):  # type: ignore[no-untyped-def]
    """Whether the event may be the state's, for this run."""
    here = price[row]
    for at in range(states.compared_at[state], states.compared_at[state + 1]):
        other = states.other[at]
        if other == NUMBER:
            value = states.number[at]
        elif other == ROW_BEFORE:
            if row == 0:
                return False
            value = price[row - 1]
        else:
            value = price[runs[run, ENTERED + other]]
        comparison = states.comparison[at]
        if comparison == LESS:
            held = here < value
        elif comparison == AT_MOST:
            held = here <= value
        elif comparison == MORE:
            held = here > value
        else:
            held = here >= value
        if not held:
            return False
    return True


@inline_kernel
def _write(target, place, runs, run, before, state, row):  # type: ignore[no-untyped-def]
    """A copy of the run, one event longer. `before` is the state it was in."""
    target[place, STATE] = state
    target[place, LAST] = row
    for column in range(ENTERED, ENTERED + before + 1):
        target[place, column] = runs[run, column]
    for column in range(ENTERED + before + 1, ENTERED + state):
        target[place, column] = PASSED_BY
    if state != before:
        target[place, ENTERED + state] = row


@inline_kernel
def _goes_on(states, max_length, price, state, row, runs, run, evaluations):  # type: ignore[no-untyped-def]
    """Whether the run takes the event as the state's: one counted evaluation, none if the run is too long already."""
    if row - runs[run, ENTERED] >= max_length:
        return False
    evaluations[state] += 1
    return _holds(states, state, price, row, runs, run)


@inline_kernel
def _begins(states, price, row, runs, evaluations):  # type: ignore[no-untyped-def]
    """Whether a run begins with the event; the first state's condition reads no run."""
    evaluations[0] += 1
    return _holds(states, 0, price, row, runs, 0)


@borrowing_kernel
def advance_runs(  # type: ignore[no-untyped-def]
    states, max_length, price, first, end, stop, stride, unit, runs, spare, found, evaluations, progress
):
    """All runs over the events up to `stop`; events from `first` to `end` with `event % stride == unit` begin runs.

    Ends early when no run is open and none can begin.
    """
    optional, loops = states.optional, states.loops
    final = len(optional) - 1
    row, count, matches, swapped = progress[ROW], progress[RUNS], progress[MATCHES], progress[SWAPPED]
    status = FINISHED
    while row < stop and (count > 0 or row < end):
        if count * (final + 2) + 1 > len(spare):
            status = MORE_RUNS
            break
        if matches + count > len(found):
            status = MORE_FOUND
            break
        kept = 0
        if first <= row < end and row % stride == unit and _begins(states, price, row, runs, evaluations):
            _write(spare, kept, runs, 0, NO_STATE, 0, row)
            kept += 1
        for run in range(count):
            before = runs[run, STATE]
            state = before if loops[before] else before + 1
            while state <= final:
                if _goes_on(states, max_length, price, state, row, runs, run, evaluations):
                    if state == final:
                        _write(found, matches, runs, run, before, state, row)
                        matches += 1
                    else:
                        _write(spare, kept, runs, run, before, state, row)
                        kept += 1
                if state != before and not optional[state]:
                    break
                state += 1
        runs, spare = spare, runs
        swapped = 1 - swapped
        count = kept
        row += 1
    progress[ROW], progress[RUNS], progress[MATCHES], progress[SWAPPED] = row, count, matches, swapped
    return status


@borrowing_kernel
def advance_state(  # type: ignore[no-untyped-def]
    states, max_length, price, state, end, incoming, arrived, buffer, spare, outgoing, evaluations, progress
):
    """One state over the events up to `end`, with the partial matches that arrived, in the order of their last events.

    The state tries an event with what arrived for the event before and, where it may repeat, with what it kept itself;
    events that follow neither are skipped. What it sends on is in the order of last events again. What waits for the
    event at `end` stays in the buffer.
    """
    row, buffered, swapped = progress[ROW], progress[BUFFERED], progress[BUFFER_SWAPPED]
    sent, tried, forwarded = progress[SENT], progress[TRIED], progress[FORWARDED]
    if not states.optional[state]:
        forwarded = arrived
    status = FINISHED
    while True:
        if state != 0 and buffered == 0:
            row = max(row, incoming[tried, LAST] + 1) if tried < arrived else end
        row = min(row, end)
        room = buffered + arrived - tried + 1
        if room > len(spare):
            status = MORE_RUNS
            break
        if sent + room + arrived - forwarded > len(outgoing):
            status = MORE_FOUND
            break
        while forwarded < arrived and incoming[forwarded, LAST] < row:
            before = incoming[forwarded, STATE]
            _write(outgoing, sent, incoming, forwarded, before, before, incoming[forwarded, LAST])
            sent += 1
            forwarded += 1
        if row == end:
            break
        kept = 0
        if state == 0 and _begins(states, price, row, incoming, evaluations):
            _write(outgoing, sent, incoming, 0, NO_STATE, 0, row)
            sent += 1
        for run in range(buffered):
            if _goes_on(states, max_length, price, state, row, buffer, run, evaluations):
                _write(outgoing, sent, buffer, run, buffer[run, STATE], state, row)
                sent += 1
                if states.loops[state]:
                    _write(spare, kept, buffer, run, buffer[run, STATE], state, row)
                    kept += 1
        while tried < arrived and incoming[tried, LAST] < row:
            if _goes_on(states, max_length, price, state, row, incoming, tried, evaluations):
                _write(outgoing, sent, incoming, tried, incoming[tried, STATE], state, row)
                sent += 1
                if states.loops[state]:
                    _write(spare, kept, incoming, tried, incoming[tried, STATE], state, row)
                    kept += 1
            tried += 1
        buffer, spare = spare, buffer
        swapped = 1 - swapped
        buffered = kept
        row += 1
    while status == FINISHED and tried < arrived:
        before = incoming[tried, STATE]
        _write(buffer, buffered, incoming, tried, before, before, incoming[tried, LAST])
        buffered += 1
        tried += 1
    progress[ROW], progress[BUFFERED], progress[BUFFER_SWAPPED] = row, buffered, swapped
    progress[SENT], progress[TRIED], progress[FORWARDED] = sent, tried, forwarded
    return status
