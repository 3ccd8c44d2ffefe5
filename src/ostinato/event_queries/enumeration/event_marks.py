"""For each event in each state, the earliest row at which a match through it can end. One pass from the last row back.

A search that enters only states that can end in time never has to backtrack, unless a condition over the run fails. The
rules for which event may follow which are also here, because the pass and the search both need them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.enumeration.event_tables import NEVER, PAIR_TEST
from ostinato.event_queries.language.event_query import Selection
from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel, inline_kernel

ANY, NEXT, STRICT = 0, 1, 2
SELECTIONS = {Selection.ANY: ANY, Selection.NEXT: NEXT, Selection.STRICT: STRICT}

SCANNED = 4096
"""The most candidates that `mark` tests for one row. It takes the next one as passing. The search then tries more than
it has to, but it finds the same matches."""


class Absences(NamedTuple):
    """[absence, row]: the nearest matches of the patterns under NOT, in the row's sequence."""

    latest_start: NDArray[np.int32]
    """The latest start of a forbidden match that ends before the row's time; -1 if there is none."""
    earliest_end: NDArray[np.int32]
    """The earliest end of a forbidden match that starts after the row's time; NEVER if there is none."""


class EndBounds(NamedTuple):
    """Matches end in rows [accept_from, accept_until). No forbidden match may end behind them before `absent_until`."""

    accept_from: int
    accept_until: int
    absent_until: int


@inline_kernel
def nothing_between(step, row, later, steps, members, absences):  # type: ignore[no-untyped-def]
    """Whether no forbidden match lies between `row` and `later`, which takes the step. If one does, rows after `later`
    fail, too."""
    for at in range(steps.absent_at[step], steps.absent_at[step + 1]):
        start = absences.latest_start[steps.absent[at], later]
        if start >= 0 and members.group_end[start] > members.group_end[row]:
            return False
    return True


@inline_kernel
def edge_holds(step, row, later, steps, members, tests):  # type: ignore[no-untyped-def]
    """Whether the tests of the step hold for `row` and `later`."""
    before_end = members.group_end[row]
    label = steps.label[step]
    before = steps.before[step]
    labels = len(members.rank)
    for test in range(tests.at[before * labels + label], tests.at[before * labels + label + 1]):
        op = tests.op[test]
        if op == PAIR_TEST:
            if later >= tests.reach[row]:
                return False
            bit = tests.bits_at[tests.bits_from[test] + members.rank[before, row]]
            bit += members.rank[label, later] - members.rank[label, before_end]
            if not (tests.bits[bit >> 3] >> np.uint8(bit & 7)) & np.uint8(1):
                return False
            continue
        column = tests.column[test]
        if not (tests.before_valid[column, row] and tests.after_valid[column, later]):
            return False
        left, right = tests.after[column, later], tests.before[column, row]
        if op == 0:
            holds = left < right
        elif op == 1:
            holds = left <= right
        elif op == 2:
            holds = left > right
        elif op == 3:
            holds = left >= right
        elif op == 4:
            holds = left == right
        else:
            holds = left != right
        if not holds:
            return False
    return True


@called_kernel
def following(row, state, end, steps, members, tests, absences):  # type: ignore[no-untyped-def]
    """SKIP TILL NEXT MATCH: the first row before `end` that can follow this one; NEVER if none can."""
    first_row = NEVER
    for step in range(steps.leave_at[state], steps.leave_at[state + 1]):
        label = steps.label[step]
        for at in range(members.rank[label, members.group_end[row]], members.rank[label, end]):
            later = members.rows[at]
            if later >= first_row:
                break
            if not steps.plain[step]:
                if not nothing_between(step, row, later, steps, members, absences):
                    break
                if not edge_holds(step, row, later, steps, members, tests):
                    continue
            first_row = later
            break
    return first_row


@inline_kernel
def may_end(state, row, bounds, steps, absences):  # type: ignore[no-untyped-def]
    """Whether a match may end at the row in the accepting state."""
    if row < bounds.accept_from or row >= bounds.accept_until:
        return False
    for at in range(steps.end_absent_at[state], steps.end_absent_at[state + 1]):
        if absences.earliest_end[steps.end_absent[at], row] < bounds.absent_until:
            return False
    return True


@called_kernel
def mark(  # type: ignore[no-untyped-def]
    first, end, bounds, selection, scanned, steps, members, tests, absences, ends, best_ends, stopped
):
    """Fills `ends` for the rows [first, end) of one sequence. Conditions over the run aren't considered.

    `best_ends` is working space, [2, state]: the earliest end of rows after the current time, and of those at it.
    """
    states = len(steps.entry)
    later_best, group_best = best_ends[0], best_ends[1]
    for state in range(states):
        later_best[state] = NEVER
        group_best[state] = NEVER
    time_end = -1
    for row in range(end - 1, first - 1, -1):
        if stopped[0] != 0:
            return
        if members.group_end[row] != time_end:
            time_end = members.group_end[row]
            for state in range(states):
                later_best[state] = min(later_best[state], group_best[state])
                group_best[state] = NEVER
        # No match with this row ends later. This bound keeps long sequences with short windows fast.
        until = min(end, tests.reach[row])
        for label in range(len(members.rank)):
            at = members.rank[label, row]
            if members.rank[label, row + 1] == at:
                continue
            for state_index in range(steps.state_at[label], steps.state_at[label + 1]):
                state = steps.states[state_index]
                if steps.accepting[state] and may_end(state, row, bounds, steps, absences):
                    best = row
                elif selection == ANY:
                    best = _best_of_any(row, state, until, scanned, steps, members, tests, absences, ends, later_best)
                else:
                    low, high = row + 1, row + 2
                    if selection == NEXT:
                        low = following(row, state, until, steps, members, tests, absences)
                        high = members.group_end[low] if low != NEVER else NEVER
                    best = NEVER
                    if low < until and low >= time_end:
                        best = _best_between(row, state, low, min(high, until), steps, members, tests, absences, ends)
                ends[members.offset[state] + at] = best
                group_best[state] = min(group_best[state], best)


@inline_kernel
def _best_of_any(row, state, until, scanned, steps, members, tests, absences, ends, later_best):  # type: ignore[no-untyped-def]
    """The earliest end before `until` through any later row."""
    best = until
    for step in range(steps.leave_at[state], steps.leave_at[state + 1]):
        target = steps.target[step]
        if steps.plain[step]:
            best = min(best, later_best[target])
            continue
        label = steps.label[step]
        low = members.rank[label, members.group_end[row]]
        for at in range(low, members.rank[label, until]):
            later = members.rows[at]
            if later >= best or not nothing_between(step, row, later, steps, members, absences):
                break
            if at - low >= scanned:
                best = later
                break
            reached = ends[members.offset[target] + at]
            if reached < best and edge_holds(step, row, later, steps, members, tests):
                best = reached
    return best if best < until else NEVER


@inline_kernel
def _best_between(row, state, low, high, steps, members, tests, absences, ends):  # type: ignore[no-untyped-def]
    """The earliest end through one of the rows [low, high)."""
    best = NEVER
    for step in range(steps.leave_at[state], steps.leave_at[state + 1]):
        target, label = steps.target[step], steps.label[step]
        for at in range(members.rank[label, low], members.rank[label, high]):
            later = members.rows[at]
            reached = ends[members.offset[target] + at]
            if reached < best and (
                steps.plain[step]
                or (
                    nothing_between(step, row, later, steps, members, absences)
                    and edge_holds(step, row, later, steps, members, tests)
                )
            ):
                best = reached
    return best


@borrowing_kernel
def mark_sequences(  # type: ignore[no-untyped-def]
    starts, bounds, selection, scanned, steps, members, tests, absences, ends, best_ends, stopped
):
    """Runs `mark` for every sequence."""
    for sequence in range(len(starts) - 1):
        first, end = starts[sequence], starts[sequence + 1]
        mark(first, end, bounds, selection, scanned, steps, members, tests, absences, ends, best_ends, stopped)
