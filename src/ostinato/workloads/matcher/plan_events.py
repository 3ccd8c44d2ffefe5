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
from ostinato.workloads.matcher.plan_tables import PreparedPlan

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlanEvents:
    """Rows in order of time, all sequences interleaved as a stream brings them.

    Rows before `first_new` are history: rows that the call before said it needs, in the same order.
    """

    sequence: Ints
    """Numbers from 0, anew in every call."""
    order: Ints
    """Rank of the row's time within its sequence. Events of equal time can't follow one another."""
    time: Ints
    place: Ints
    """Number of the event within its group. Extents by place are measured in it."""
    link: Ints
    """Two events are neighbours where the later one has a link that is one more."""
    conditions: tuple[NDArray[np.bool_], ...]
    values: tuple[NDArray[np.int64] | NDArray[np.float64], ...] = ()
    valid: tuple[NDArray[np.bool_] | None, ...] = ()
    """The operands of edge checks are `values`; `valid` tells where they aren't NULL (None: everywhere)."""
    column: Callable[[Expr], Vector] | None = None
    """Evaluates an expression over one row, for run conditions and features."""
    first_new: int = 0


class RowPositions(NamedTuple):
    """The positions of rows, as in `PlanEvents`."""

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
    """[column, row] operands of edge checks. A column has the same number in all three arrays."""

    whole: Ints
    real: NDArray[np.float64]
    valid: NDArray[np.bool_]


class KernelRows(NamedTuple):
    """The events for the kernel."""

    positions: RowPositions
    fulfilled: Fulfilled
    values: EdgeValues


def rows_of(events: PlanEvents, prepared: PreparedPlan) -> KernelRows:
    arrays = (events.sequence, events.order, events.time, events.place, events.link)
    return KernelRows(
        RowPositions(*(np.ascontiguousarray(array, np.int64) for array in arrays)),
        _fulfilled(events, prepared),
        _edge_values(events, prepared),
    )


def _fulfilled(events: PlanEvents, prepared: PreparedPlan) -> Fulfilled:
    count = len(events.time)
    held = np.zeros((len(prepared.conditions), count), np.bool_)
    for at, number in enumerate(prepared.conditions):
        held[at] = events.conditions[number]
    fulfilled = Fulfilled(np.zeros(count + 1, np.int64), np.empty(int(np.count_nonzero(held)), np.int32))
    list_conditions(held, *fulfilled)
    return fulfilled


def _edge_values(events: PlanEvents, prepared: PreparedPlan) -> EdgeValues:
    shape = len(prepared.edge_columns), len(events.time)
    edge_values = EdgeValues(np.zeros(shape, np.int64), np.zeros(shape, np.float64), np.ones(shape, np.bool_))
    for at, column in enumerate(prepared.edge_columns):
        (edge_values.real if column.real else edge_values.whole)[at] = events.values[column.value]
        valid = events.valid[column.value]
        if valid is not None:
            edge_values.valid[at] = valid
    return edge_values


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
    for c in range(conditions - 1, -1, -1):  # from the last, so that each is put in front of the others
        for row in range(count):
            if held[c, row]:
                condition_at[row + 1] -= 1
                condition[condition_at[row + 1]] = c
    # The end of row r has moved to its start, which is the end of the row before.
    for row in range(count):
        condition_at[row] = condition_at[row + 1]
    condition_at[count] = len(condition)
