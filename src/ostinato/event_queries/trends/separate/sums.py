"""Sums over trends: a count and the slots of a query. Kernels add, extend and clear them.

The sum with index p has the rows `p * width ...` of the table of whole numbers (the count first, then slots that are
sums of integers), the rows `p * reals ...` of the table of doubles, and row p of `best` and `seen`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.kernels.numbers.number_table import (
    Table,
    add,
    add_scaled,
    add_scaled_float,
    is_zero,
    set_zero,
)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class SlotLabels(NamedTuple):
    """[slot, label]: whether a slot aggregates the values of events bound to the label."""

    integers_on: Bools
    real_on: Bools
    best_on: Bools
    seen_on: Bools
    best_seen: Ints
    """For each best value, the index in `seen` of its flag."""


class Sums(NamedTuple):
    integers: Table
    real: Table
    best: Ints
    """The smallest value so far. MAX slots store values in reverse order."""
    seen: NDArray[np.uint8]
    """Whether there was a value, for slots that may have none."""


class Values(NamedTuple):
    """[row, slot]: the value that an event adds for each run, and whether it has one."""

    integers: Ints
    real: NDArray[np.float64]
    best: Ints
    valid: Bools


@inline_kernel
def clear(slots, sums, sum_index):  # type: ignore[no-untyped-def]
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    for w in range(width):
        set_zero(sums.integers, sum_index * width + w)
    for f in range(reals):
        set_zero(sums.real, sum_index * reals + f)
    for k in range(sums.seen.shape[1]):
        sums.seen[sum_index, k] = 0


@inline_kernel
def _offer_best(slots, sums, into, b, value):  # type: ignore[no-untyped-def]
    """Keeps the smaller of the stored best value and this one."""
    flag = slots.best_seen[b]
    if not sums.seen[into, flag] or value < sums.best[into, b]:
        sums.best[into, b] = value
        sums.seen[into, flag] = 1


@inline_kernel
def _merge_slots(slots, sums, into, source):  # type: ignore[no-untyped-def]
    """Adds everything but the count. Returns False if the table has too few columns."""
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    for b in range(slots.best_on.shape[0]):
        if sums.seen[source, slots.best_seen[b]]:
            _offer_best(slots, sums, into, b, sums.best[source, b])
    for k in range(sums.seen.shape[1]):
        sums.seen[into, k] |= sums.seen[source, k]
    fits = True
    for w in range(1, width):
        fits &= add(sums.integers, into * width + w, source * width + w)
    for f in range(reals):
        add(sums.real, into * reals + f, source * reals + f)
    return fits


@inline_kernel
def merge(slots, sums, into, source):  # type: ignore[no-untyped-def]
    """Adds the sum `source` to the sum `into`, which may be the same. False: the table has too few columns."""
    width = slots.integers_on.shape[0] + 1
    if is_zero(sums.integers, source * width):
        return True
    fits = _merge_slots(slots, sums, into, source)
    fits &= add(sums.integers, into * width, source * width)
    return fits


@inline_kernel
def take_values(slots, sums, values, into, runs, row, label):  # type: ignore[no-untyped-def]
    """Adds the event's values for each run in the sum `runs` to the sum `into`. The count stays the same."""
    width, reals, bests = slots.integers_on.shape[0] + 1, slots.real_on.shape[0], slots.best_on.shape[0]
    for b in range(bests):
        if slots.best_on[b, label] and values.valid[row, slots.best_seen[b]]:
            _offer_best(slots, sums, into, b, values.best[row, b])
    for k in range(sums.seen.shape[1]):
        if slots.seen_on[k, label] and values.valid[row, k]:
            sums.seen[into, k] = 1
    fits = True
    for w in range(width - 1):
        if slots.integers_on[w, label] and values.integers[row, w] != 0:
            fits &= add_scaled(sums.integers, into * width + 1 + w, runs * width, values.integers[row, w])
    for f in range(reals):
        if slots.real_on[f, label] and values.real[row, f] != 0.0:
            add_scaled_float(sums.real, into * reals + f, sums.integers, runs * width, values.real[row, f])
    return fits


@inline_kernel
def extend_into(slots, sums, values, into, source, row, label):  # type: ignore[no-untyped-def]
    """Extends the runs of the sum `source` by the event and adds them to the sum `into`, which may be the same."""
    width = slots.integers_on.shape[0] + 1
    if is_zero(sums.integers, source * width):
        return True
    fits = _merge_slots(slots, sums, into, source)
    fits &= take_values(slots, sums, values, into, source, row, label)
    # The count comes last: the sums above need its old value.
    fits &= add(sums.integers, into * width, source * width)
    return fits
