"""The events of one call: as the matcher is given them, and as its kernel reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.expressions.syntax import Expr
from ostinato.expressions.values.vectors import Vector
from ostinato.kernels.kernel_cache import borrowing_kernel
from ostinato.workloads.matcher.plan_tables import Prepared

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlanEvents:
    """Rows in order of time, all sequences interleaved as a stream brings them.

    Those before `first_new` were given before: rows that an earlier call said it needs, in the same order.
    """

    sequence: Ints
    """From 0; numbered anew in every call."""
    order: Ints
    """The rank of the row's time within its sequence: events of equal time can't follow one another."""
    time: Ints
    place: Ints
    """The number of the event within its group; what extents by place are measured in."""
    link: Ints
    """Two events are neighbours where the later one's is one more."""
    conditions: tuple[NDArray[np.bool_], ...]
    values: tuple[NDArray[np.int64] | NDArray[np.float64], ...] = ()
    valid: tuple[NDArray[np.bool_] | None, ...] = ()
    """What edge checks compare, and where it isn't NULL (None: everywhere)."""
    column: Callable[[Expr], Vector] | None = None
    """The values of an expression over one row, for run conditions and features."""
    first_new: int = 0


class Positions(NamedTuple):
    """Where rows stand, as `PlanEvents` has it."""

    sequence: Ints
    order: Ints
    time: Ints
    place: Ints
    link: Ints


class Fulfilled(NamedTuple):
    """The conditions that row r fulfils are `condition[at[r]:at[r + 1]]`."""

    at: Ints
    condition: NDArray[np.int32]


class EdgeValues(NamedTuple):
    """By column (its number is the same in all three) and row."""

    whole: Ints
    real: NDArray[np.float64]
    valid: NDArray[np.bool_]


class Rows(NamedTuple):
    """The events for the kernel."""

    positions: Positions
    fulfilled: Fulfilled
    values: EdgeValues


def rows_of(events: PlanEvents, prepared: Prepared) -> Rows:
    arrays = (events.sequence, events.order, events.time, events.place, events.link)
    return Rows(
        Positions(*(np.ascontiguousarray(array, np.int64) for array in arrays)),
        _fulfilled(events, prepared),
        _edge_values(events, prepared),
    )


def _fulfilled(events: PlanEvents, prepared: Prepared) -> Fulfilled:
    count = len(events.time)
    held = np.zeros((len(prepared.conditions), count), np.bool_)
    for at, number in enumerate(prepared.conditions):
        held[at] = events.conditions[number]
    found = Fulfilled(np.zeros(count + 1, np.int64), np.empty(int(np.count_nonzero(held)), np.int32))
    list_conditions(held, *found)
    return found


def _edge_values(events: PlanEvents, prepared: Prepared) -> EdgeValues:
    shape = len(prepared.edge_columns), len(events.time)
    found = EdgeValues(np.zeros(shape, np.int64), np.zeros(shape, np.float64), np.ones(shape, np.bool_))
    for at, column in enumerate(prepared.edge_columns):
        (found.real if column.real else found.whole)[at] = events.values[column.value]
        known = events.valid[column.value]
        if known is not None:
            found.valid[at] = known
    return found


@borrowing_kernel
def list_conditions(held, condition_at, condition):  # type: ignore[no-untyped-def]
    """held[condition, row] -> by row the conditions that hold, in ascending order."""
    conditions, count = held.shape
    for c in range(conditions):
        for row in range(count):
            if held[c, row]:
                condition_at[row + 1] += 1
    for row in range(count):
        condition_at[row + 1] += condition_at[row]
    for c in range(conditions - 1, -1, -1):  # from the last, so that each is put before those that are there
        for row in range(count):
            if held[c, row]:
                condition_at[row + 1] -= 1
                condition[condition_at[row + 1]] = c
    # What was the end of row r has moved to its start: it is the end of the row before.
    for row in range(count):
        condition_at[row] = condition_at[row + 1]
    condition_at[count] = len(condition)
