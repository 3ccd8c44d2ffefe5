"""The kernel for programs whose edges compare values: sums over the earlier events that pass a test.

Holders store the sums of the trends that ended in a state. There are four kinds: one sum, a Fenwick tree over the ranks
of a test's values, one sum for each value, or a list of events. An event reads the sum over all smaller (or larger)
values from a tree in O(log n). Only tests of pairs have to visit single events. The kernel processes one window after
another; all events of a window are known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ostinato.event_queries.trends.separate.running_arrays import (
    FAILED,
    FINISHED,
    LOADED,
    MORE_COLUMNS,
    MORE_PAIRS,
    ROW,
    SEQUENCE,
    STOPPED,
)
from ostinato.event_queries.trends.separate.running_state import write_result
from ostinato.event_queries.trends.separate.sums import Bools, Ints, clear, merge, take_values
from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel, inline_kernel
from ostinato.kernels.numbers.limbs import BITS, bit_length
from ostinato.kernels.numbers.number_table import set_small

# Kinds of holders.
PLAIN, BELOW, ABOVE, EACH, LISTED = range(5)
# Whether a value equal to the event's own also passes.
WITHOUT_EQUAL, WITH_EQUAL = range(2)
SLACK = 4
"""Limbs that must stay free above the largest number."""


class OrderedPlan(NamedTuple):
    """A program as arrays. `edge_at[label]:edge_at[label + 1]` are the edges of a label, sorted by class. A class is a
    state and the label that led to it.

    An edge reads the sum that its holder has for the event and adds it to the event's sum in the class.
    """

    labels: int
    edge_at: Ints
    edge_holder: Ints
    edge_equal: Ints
    edge_class: Ints
    kind: Ints
    """The kind of each holder."""
    test: Ints
    """The test that a holder answers."""
    start: int
    """The number of START's holders. They come first and always hold 1."""
    holder_at: Ints
    holder_of: Ints
    """Class c adds to the holders `holder_of[holder_at[c]:holder_at[c + 1]]`."""
    reset_at: Ints
    reset_holder: Ints
    totals: Ints
    """For each class, the holder of the sum over everything that ever ended there."""
    results: Ints


class Ranked(NamedTuple):
    """The events of all windows. For each test and event: the rank of its value within the window."""

    starts: Ints
    """The first event of each window, and at the end the number of events."""
    time: Ints
    mask: Ints
    rank: Ints
    """Rank as the earlier event, from 1; 0 if it has no value."""
    below: Ints
    """As the later event: how many ranks are below its value; -1 if it has no value."""
    until: Ints
    """As the later event: how many ranks are at most its value."""
    ranks: Ints
    """[test, window]: the number of ranks."""
    passes: Bools
    """[test, event - first, earlier event of the window]: answers of the tests of pairs."""
    pair_of: Ints
    """For each test its index in `passes`, or -1."""
    first: int
    end: int
    """The events `first:end` are in `passes`."""
    only_first: bool
    """Whether only trends that start with the first event of a window count."""
    value_bits: int


class HolderState(NamedTuple):
    """The sums and logs of all holders."""

    base: Ints
    """Where the sums of each holder begin. Behind the last holder there are sums for events of one time."""
    log_base: Ints
    log: Ints
    """Entries since the holder was last emptied: ranks or events."""
    logged: Ints
    new_class: Ints
    new_row: Ints


@inline_kernel
def _put(slots, sums, holders, ranked, plan, holder, window, row, source):  # type: ignore[no-untyped-def]
    """Adds the event's sum, at index `source`, to a holder."""
    kind, base = plan.kind[holder], holders.base[holder]
    if kind == PLAIN:
        return merge(slots, sums, base, source)
    test = plan.test[holder]
    index = row - ranked.starts[window] if kind == LISTED else ranked.rank[test, row]
    if kind != LISTED and index == 0:
        return True
    if kind == ABOVE:
        index = ranked.ranks[test, window] + 1 - index
    holders.log[holders.log_base[holder] + holders.logged[holder]] = index
    holders.logged[holder] += 1
    fits = True
    last = ranked.ranks[test, window] if kind in (BELOW, ABOVE) else index
    if kind == LISTED:
        clear(slots, sums, base + index)
    while index <= last:
        fits &= merge(slots, sums, base + index, source)
        index += (index & -index) if kind != LISTED else 1
    return fits


@inline_kernel
def _take(slots, sums, holders, ranked, plan, edge, window, row, into):  # type: ignore[no-untyped-def]
    """Adds the sum that the holder of an edge has for the event to the sum at `into`."""
    holder = plan.edge_holder[edge]
    kind, base = plan.kind[holder], holders.base[holder]
    if kind == PLAIN:
        return merge(slots, sums, into, base)
    test = plan.test[holder]
    fits = True
    if kind == LISTED:
        pair = ranked.pair_of[test]
        for i in range(holders.logged[holder]):
            earlier = holders.log[holders.log_base[holder] + i]
            if ranked.passes[pair, row - ranked.first, earlier]:
                fits &= merge(slots, sums, into, base + earlier)
        return fits
    below, until = ranked.below[test, row], ranked.until[test, row]
    if below < 0:
        return True
    if kind == EACH:
        if until > below:
            fits = merge(slots, sums, into, base + until)
        return fits
    if kind == BELOW:
        index = until if plan.edge_equal[edge] == WITH_EQUAL else below
    else:
        index = ranked.ranks[test, window] - (below if plan.edge_equal[edge] == WITH_EQUAL else until)
    while index > 0:
        fits &= merge(slots, sums, into, base + index)
        index &= index - 1
    return fits


@called_kernel
def _empty(slots, sums, holders, ranked, plan, holder, window):  # type: ignore[no-untyped-def]
    """Empties a holder. Only entries made since the last time are cleared, so this costs no more than adding did."""
    kind, base = plan.kind[holder], holders.base[holder]
    if kind == PLAIN:
        clear(slots, sums, base)
        return
    for i in range(holders.logged[holder]):
        index = holders.log[holders.log_base[holder] + i]
        last = ranked.ranks[plan.test[holder], window] if kind in (BELOW, ABOVE) else index
        while index <= last and kind != LISTED:
            clear(slots, sums, base + index)
            index += index & -index
    holders.logged[holder] = 0


@inline_kernel
def _has_room(plan, sums, holders, ranked, width, many):  # type: ignore[no-untyped-def]
    """Whether `many` events of one time will fit. No holder of a class has more than the class's total."""
    if not sums.integers.exact:
        return True
    longest = np.int64(1)
    for holder in plan.totals:
        longest = max(longest, sums.integers.length[holders.base[holder] * width])
    bits = BITS * longest + bit_length(np.int64(many * len(plan.edge_holder) + 1)) + 1
    if width > 1:
        bits += ranked.value_bits + bit_length(np.int64(len(ranked.time))) + 1
    return bits <= BITS * (sums.integers.limbs.shape[1] - SLACK)


@inline_kernel
def _step(slots, sums, holders, ranked, values, plan, window, row, end):  # type: ignore[no-untyped-def]
    """Processes the events `row:end` of one time: all of them read before any of them is added."""
    spare = holders.base[len(plan.kind)]
    first = ranked.starts[window]
    fits = True
    new = 0
    for each in range(row, end):
        for label in range(plan.labels):
            if not (ranked.mask[each] >> label) & 1:
                continue
            before = np.int64(-1)
            for edge in range(plan.edge_at[label], plan.edge_at[label + 1]):
                if plan.edge_class[edge] != before:
                    before = plan.edge_class[edge]
                    holders.new_class[new] = before
                    holders.new_row[new] = each
                    clear(slots, sums, spare + new)
                    new += 1
                if ranked.only_first and each > first and plan.edge_holder[edge] < plan.start:
                    continue
                fits &= _take(slots, sums, holders, ranked, plan, edge, window, each, spare + new - 1)
                if edge + 1 == plan.edge_at[label + 1] or plan.edge_class[edge + 1] != before:
                    fits &= take_values(slots, sums, values, spare + new - 1, spare + new - 1, each, label)
    for each in range(row, end):
        for absence in range(len(plan.reset_at) - 1):
            if (ranked.mask[each] >> (plan.labels + absence)) & 1:
                for at in range(plan.reset_at[absence], plan.reset_at[absence + 1]):
                    _empty(slots, sums, holders, ranked, plan, plan.reset_holder[at], window)
    for i in range(new):
        of = holders.new_class[i]
        for at in range(plan.holder_at[of], plan.holder_at[of + 1]):
            fits &= _put(slots, sums, holders, ranked, plan, plan.holder_of[at], window, holders.new_row[i], spare + i)
    return fits


@borrowing_kernel
def evaluate_windows(plan, slots, holders, ranked, values, sums, out, progress, stopped):  # type: ignore[no-untyped-def]
    """Evaluates all windows from `progress` on. The sequence of a result is the number of its window."""
    width = slots.integers_on.shape[0] + 1
    spare = holders.base[len(plan.kind)]
    while progress[SEQUENCE] < len(ranked.starts) - 1:
        window = progress[SEQUENCE]
        if progress[LOADED] == 0:
            for holder in range(plan.start):
                set_small(sums.integers, holders.base[holder] * width, 1)
            progress[LOADED] = 1
            progress[ROW] = ranked.starts[window]
        row, count = progress[ROW], ranked.starts[window + 1]
        while row < count:
            if stopped[0] != 0:
                return STOPPED
            end = row + 1
            while end < count and ranked.time[end] == ranked.time[row]:
                end += 1
            progress[ROW] = row
            if not _has_room(plan, sums, holders, ranked, width, end - row):
                return MORE_COLUMNS
            if ranked.passes.shape[0] > 0 and end > ranked.end:
                return MORE_PAIRS
            if not _step(slots, sums, holders, ranked, values, plan, window, row, end):
                return FAILED
            row = end
        progress[ROW] = row
        clear(slots, sums, spare)
        for holder in plan.results:
            if not merge(slots, sums, spare, holders.base[holder]):
                return MORE_COLUMNS
        status = write_result(slots, sums, out, progress, spare, np.int64(0))
        if status != FINISHED:
            return status
        for holder in range(len(plan.kind)):
            _empty(slots, sums, holders, ranked, plan, holder, window)
        progress[SEQUENCE] += 1
        progress[LOADED] = 0
    return FINISHED
