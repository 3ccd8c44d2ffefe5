"""Exact counts of matches, in total and for each event, in time linear in the events. Plain Python integers.

The window of a match begins at its first event. Windows overlap, so a single pass over the events can't count them all.
But all windows that contain a common cut, between two events, can be counted together. The cut divides a match into a
left side and a right side, and the start of the left side limits the right side. A `bridge` counts these matches for
one cut:

    event c left of the cut:   G[z][y] = sum over starts s of  f_s(before c)[z] * b_s(cut)[y]        (forwards)
    event c right of the cut:  H[y][z] = sum over starts s of  f_s(cut)[y]      * b_s(after c)[z]    (backwards)

where f_s counts partial matches that start at s, and b_s the ways to complete one within the window of s. Divide time
into cells as wide as the window. All windows that start in a cell contain the end of the cell. So a bridge over the end
of each cell counts every match once (`contributions`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from ostinato.kernels.stopping import check_stopped
from ostinato.summaries.engine.counter_moves import CountProgram

Number = int | Fraction
Row = list[Number]
Matrix = list[Row]


@dataclass(frozen=True, slots=True)
class WeightedEvents:
    """Events ordered by time. `weights` are their exact values for SUM, and 0 for NULL."""

    times: Sequence[int]
    types: Sequence[int]
    weights: Sequence[Number]

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class Contributions:
    total: Number
    of_event: list[Number]


# --- one event, one vector --------------------------------------------------------------------------------------------


def counts_after_taking(program: CountProgram, events: WeightedEvents, event: int, row: Row) -> Row:
    """Counts by state before the event -> counts of the partial matches that take it."""
    counts: Row = [0] * program.states
    for source, target, weighted in program.moves[events.types[event]]:
        if row[source]:
            counts[target] += row[source] * events.weights[event] if weighted else row[source]
    return counts


def begun(program: CountProgram, events: WeightedEvents, event: int) -> Row:
    """Counts of the partial matches that consist of the event alone."""
    counts: Row = [0] * program.states
    for target, weighted in program.begins[events.types[event]]:
        counts[target] += events.weights[event] if weighted else 1
    return counts


def counts_after(program: CountProgram, events: WeightedEvents, event: int, row: Row) -> Row:
    """Counts before the event -> counts after it: partial matches that take it, and those that skip it."""
    counts = counts_after_taking(program, events, event, row)
    may_skip = program.may_skip[events.types[event]]
    return [
        count + before if can_skip else count for count, before, can_skip in zip(counts, row, may_skip, strict=True)
    ]


def before_passing(
    program: CountProgram, events: WeightedEvents, event: int, rows: Matrix, take_only: bool = False
) -> Matrix:
    """Rows by the state after the event -> rows by the state before it: `counts_after` backwards."""
    may_skip = program.may_skip[events.types[event]]
    result: Matrix = [
        list(row) if can_skip and not take_only else [0] * len(row)
        for row, can_skip in zip(rows, may_skip, strict=True)
    ]
    for source, target, weighted in program.moves[events.types[event]]:
        weight = events.weights[event] if weighted else 1
        _add_scaled(result[source], rows[target], weight)
    return result


def _add_scaled(row: Row, other: Row, factor: Number) -> None:
    if factor:
        for index, value in enumerate(other):
            if value:
                row[index] += value * factor


def _dot(row: Row, other: Row) -> Number:
    return sum((a * b for a, b in zip(row, other, strict=True) if a and b), 0)


def _identity(states: int) -> Matrix:
    return [[int(row == column) for column in range(states)] for row in range(states)]


# --- a bridge ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bridge:
    """Counts of the matches that start in `left` and whose window contains the cut between `left` and `right`."""

    total: Number
    left: list[Number]
    """For each event of `left`, the number of these matches that contain it."""
    right: list[Number]


def bridge(
    program: CountProgram,
    events: WeightedEvents,
    window: int,
    left: range,
    right: range,
) -> Bridge:
    """The window of every start in `left` must contain the cut, and all of `left` behind the start."""
    states = program.states
    final: Row = list(program.final)
    right_times = [events.times[event] for event in right]
    ways_right = [_identity(states)]  # [r][y][z]: from y at the cut to z after r events of `right`
    for event in right:
        check_stopped()
        ways_right.append([counts_after(program, events, event, row) for row in ways_right[-1]])
    completed = [[_dot(row, final) for row in ways] for ways in ways_right]  # [r][y]
    ways_left = [_identity(states)]  # [z][y]: from z after the event to y at the cut
    for event in reversed(left):
        check_stopped()
        ways_left.append(before_passing(program, events, event, ways_left[-1]))
    ways_left.reverse()

    # [r]: f_s(cut) of starts whose window ends after r events
    arriving: list[Matrix] = [[] for _ in range(len(right) + 1)]
    counts_left: list[Number] = []
    total: Number = 0
    pending: Matrix = [[0] * states for _ in range(states)]  # G
    for index, event in enumerate(left):
        check_stopped()
        behind = ways_left[index + 1]
        moved: Matrix = [[0] * states for _ in range(states)]
        for source, target, weighted in program.moves[events.types[event]]:
            _add_scaled(moved[target], pending[source], events.weights[event] if weighted else 1)
        if program.begins[events.types[event]]:
            started = begun(program, events, event)
            end = bisect_right(right_times, events.times[event] + window)
            at_cut: Row = [0] * states
            for state, count in enumerate(started):
                _add_scaled(at_cut, behind[state], count)
                _add_scaled(moved[state], completed[end], count)
            arriving[end].append(at_cut)
            total += _dot(at_cut, completed[end])
        counts_left.append(sum((_dot(a, b) for a, b in zip(moved, behind, strict=True)), 0))
        may_skip = program.may_skip[events.types[event]]
        for state, row in enumerate(moved):
            if may_skip[state]:
                _add_scaled(row, pending[state], 1)
        pending = moved
    return Bridge(total, counts_left, _right_counts(program, events, right, ways_right, arriving, final))


def _right_counts(
    program: CountProgram,
    events: WeightedEvents,
    right: range,
    ways_right: list[Matrix],
    arriving: list[Matrix],
    final: Row,
) -> list[Number]:
    states = program.states
    counts: list[Number] = []
    pending: Matrix = [[0] * states for _ in range(states)]  # H, as [z][y]
    for index in reversed(range(len(right))):
        check_stopped()
        for at_cut in arriving[index + 1]:
            for state, is_final in enumerate(final):
                _add_scaled(pending[state], at_cut, is_final)
        taken_only = before_passing(program, events, right[index], pending, take_only=True)
        before = ways_right[index]
        counts.append(sum((before[y][z] * taken_only[z][y] for z in range(states) for y in range(states)), 0))
        pending = before_passing(program, events, right[index], pending)
    counts.reverse()
    return counts


# --- all events -------------------------------------------------------------------------------------------------------


def cell_of(time: int, window: int) -> int:
    """The cell (k - 1, k] * window that contains the time. With a window of 0, every time is a cell."""
    return -(-time // window) if window else time


def contributions(program: CountProgram, events: WeightedEvents, window: int) -> Contributions:
    """The number of matches (or their sum), and for each event the number (or sum) of the matches with it."""
    counts: list[Number] = [0] * len(events)
    total: Number = 0
    cells: dict[int, range] = {}
    for cell, group in groupby(range(len(events)), lambda event: cell_of(events.times[event], window)):
        members = list(group)
        cells[cell] = range(members[0], members[-1] + 1)
    for cell, left in cells.items():
        right = cells.get(cell + 1, range(0)) if window else range(0)
        crossing = bridge(program, events, window, left, right)
        total += crossing.total
        for event, count in zip((*left, *right), (*crossing.left, *crossing.right), strict=True):
            counts[event] += count
    return Contributions(total, counts)
