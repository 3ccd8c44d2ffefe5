"""Exact counts of matches, in total and for each event, in time linear in the events. Plain Python integers.

A match's window begins at its first event, so windows overlap and no single pass over the events serves them all. But
all windows that contain one common place can be counted together: a match is then a left part up to that place, and a
right part behind it, whose end depends on where the left part started. A `bridge` counts them for one such place:

    left part of c:   G[z][y] = sum over starts s of  f_s(before c)[z] * b_s(place)[y]      (forwards)
    right part of c:  H[y][z] = sum over starts s of  f_s(place)[y]    * b_s(after c)[z]    (backwards)

where f_s counts partial matches that start at s, and b_s ways to complete one within s's window. The windows that start
in one cell of a grid as wide as the window all contain the cell's end, so a bridge over each border of the grid counts
every match once (`contributions`).
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
class Kept:
    """Events in order: times never fall. `weights` are their values for SUM (exact; NULL is 0)."""

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


def taken(program: CountProgram, kept: Kept, event: int, row: Row) -> Row:
    """Counts by state before the event -> counts of those that take it."""
    counts: Row = [0] * program.states
    for source, target, weighted in program.moves[kept.types[event]]:
        if row[source]:
            counts[target] += row[source] * kept.weights[event] if weighted else row[source]
    return counts


def begun(program: CountProgram, kept: Kept, event: int) -> Row:
    """What the event alone is a partial match of."""
    counts: Row = [0] * program.states
    for target, weighted in program.begins[kept.types[event]]:
        counts[target] += kept.weights[event] if weighted else 1
    return counts


def passed(program: CountProgram, kept: Kept, event: int, row: Row) -> Row:
    """Counts before the event -> counts behind it, those that take it and those that live on without."""
    counts = taken(program, kept, event, row)
    stays = program.stays[kept.types[event]]
    return [count + before if stay else count for count, before, stay in zip(counts, row, stays, strict=True)]


def before_passing(program: CountProgram, kept: Kept, event: int, rows: Matrix, take_only: bool = False) -> Matrix:
    """Rows by the state behind the event -> rows by the state before it: `passed`, read backwards."""
    stays = program.stays[kept.types[event]]
    found: Matrix = [
        list(row) if stay and not take_only else [0] * len(row) for row, stay in zip(rows, stays, strict=True)
    ]
    for source, target, weighted in program.moves[kept.types[event]]:
        weight = kept.weights[event] if weighted else 1
        _add_scaled(found[source], rows[target], weight)
    return found


def _add_scaled(row: Row, other: Row, factor: Number) -> None:
    if factor:
        for place, value in enumerate(other):
            if value:
                row[place] += value * factor


def _dot(row: Row, other: Row) -> Number:
    return sum((a * b for a, b in zip(row, other, strict=True) if a and b), 0)


def _identity(states: int) -> Matrix:
    return [[int(row == column) for column in range(states)] for row in range(states)]


# --- a bridge ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bridge:
    """Matches that start in `left` and contain the place between `left` and `right`."""

    total: Number
    left: list[Number]
    """Of them, how many contain each event of `left`."""
    right: list[Number]


def bridge(
    program: CountProgram,
    kept: Kept,
    window: int,
    left: range,
    right: range,
) -> Bridge:
    """Every start in `left` must have the place, and all of `left` behind it, in its window."""
    states = program.states
    final: Row = list(program.final)
    right_times = [kept.times[event] for event in right]
    ways_right = [_identity(states)]  # [r][y][z]: from y at the place to z behind r events of `right`
    for event in right:
        check_stopped()
        ways_right.append([passed(program, kept, event, row) for row in ways_right[-1]])
    completed = [[_dot(row, final) for row in ways] for ways in ways_right]  # [r][y]
    ways_left = [_identity(states)]  # [z][y]: from z behind the event to y at the place
    for event in reversed(left):
        check_stopped()
        ways_left.append(before_passing(program, kept, event, ways_left[-1]))
    ways_left.reverse()

    arriving: list[Matrix] = [[] for _ in range(len(right) + 1)]  # [r]: f_s(place) of starts whose window ends behind r
    counts_left: list[Number] = []
    total: Number = 0
    pending: Matrix = [[0] * states for _ in range(states)]  # G
    for place, event in enumerate(left):
        check_stopped()
        behind = ways_left[place + 1]
        moved: Matrix = [[0] * states for _ in range(states)]
        for source, target, weighted in program.moves[kept.types[event]]:
            _add_scaled(moved[target], pending[source], kept.weights[event] if weighted else 1)
        if program.begins[kept.types[event]]:
            started = begun(program, kept, event)
            end = bisect_right(right_times, kept.times[event] + window)
            at_place: Row = [0] * states
            for state, count in enumerate(started):
                _add_scaled(at_place, behind[state], count)
                _add_scaled(moved[state], completed[end], count)
            arriving[end].append(at_place)
            total += _dot(at_place, completed[end])
        counts_left.append(sum((_dot(a, b) for a, b in zip(moved, behind, strict=True)), 0))
        stays = program.stays[kept.types[event]]
        for state, row in enumerate(moved):
            if stays[state]:
                _add_scaled(row, pending[state], 1)
        pending = moved
    return Bridge(total, counts_left, _right_counts(program, kept, right, ways_right, arriving, final))


def _right_counts(
    program: CountProgram, kept: Kept, right: range, ways_right: list[Matrix], arriving: list[Matrix], final: Row
) -> list[Number]:
    states = program.states
    counts: list[Number] = []
    pending: Matrix = [[0] * states for _ in range(states)]  # H, as [z][y]
    for place in reversed(range(len(right))):
        check_stopped()
        for at_place in arriving[place + 1]:
            for state, is_final in enumerate(final):
                _add_scaled(pending[state], at_place, is_final)
        taken_only = before_passing(program, kept, right[place], pending, take_only=True)
        before = ways_right[place]
        counts.append(sum((before[y][z] * taken_only[z][y] for z in range(states) for y in range(states)), 0))
        pending = before_passing(program, kept, right[place], pending)
    counts.reverse()
    return counts


# --- what is asked ----------------------------------------------------------------------------------------------------


def cell_of(time: int, window: int) -> int:
    """The cell (k - 1, k] * window that holds the time; without a window, every time is a cell."""
    return -(-time // window) if window else time


def contributions(program: CountProgram, kept: Kept, window: int) -> Contributions:
    """The number of matches (or their sum), and for each event the part of it that the event is in."""
    counts: list[Number] = [0] * len(kept)
    total: Number = 0
    cells: dict[int, range] = {}
    for cell, group in groupby(range(len(kept)), lambda event: cell_of(kept.times[event], window)):
        events = list(group)
        cells[cell] = range(events[0], events[-1] + 1)
    for cell, left in cells.items():
        right = cells.get(cell + 1, range(0)) if window else range(0)
        found = bridge(program, kept, window, left, right)
        total += found.total
        for event, count in zip((*left, *right), (*found.left, *found.right), strict=True):
            counts[event] += count
    return Contributions(total, counts)
