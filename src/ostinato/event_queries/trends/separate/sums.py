"""Sums of trends at places: a count and, beside it, the slots of a query. What kernels add, carry on and empty.

Place p has the rows `p * width ...` of the table of whole numbers (the count first, then slots that are sums of
integers), `p * reals ...` of the table of doubles, and the p-th row of `best` and `seen`.
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


class Slots(NamedTuple):
    """[slot, label]: whether a slot takes the values of events bound to the label."""

    whole_on: Bools
    real_on: Bools
    best_on: Bools
    seen_on: Bools
    best_seen: Ints
    """For each best value the place in `seen` that says whether there is one."""


class Sums(NamedTuple):
    whole: Table
    real: Table
    best: Ints
    """The smallest value so far, of values turned round for MAX."""
    seen: NDArray[np.uint8]
    """Whether there was a value; of slots that may have none."""


class Values(NamedTuple):
    """[row, slot]: what an event adds for each run, and whether it has a value."""

    whole: Ints
    real: NDArray[np.float64]
    best: Ints
    valid: Bools


@inline_kernel
def clear(slots, sums, place):  # type: ignore[no-untyped-def]
    width, reals = slots.whole_on.shape[0] + 1, slots.real_on.shape[0]
    for w in range(width):
        set_zero(sums.whole, place * width + w)
    for f in range(reals):
        set_zero(sums.real, place * reals + f)
    for k in range(sums.seen.shape[1]):
        sums.seen[place, k] = 0


@inline_kernel
def merge(slots, sums, into, what):  # type: ignore[no-untyped-def]
    """Adds all that is at one place to another, which may be the same (and is doubled). False: too few columns."""
    width, reals, bests = slots.whole_on.shape[0] + 1, slots.real_on.shape[0], slots.best_on.shape[0]
    if is_zero(sums.whole, what * width):
        return True
    for b in range(bests):
        if sums.seen[what, slots.best_seen[b]]:
            value = sums.best[what, b]
            if not sums.seen[into, slots.best_seen[b]] or value < sums.best[into, b]:
                sums.best[into, b] = value
    for k in range(sums.seen.shape[1]):
        sums.seen[into, k] |= sums.seen[what, k]
    fits = True
    for w in range(width):
        fits &= add(sums.whole, into * width + w, what * width + w)
    for f in range(reals):
        add(sums.real, into * reals + f, what * reals + f)
    return fits


@inline_kernel
def take_values(slots, sums, values, into, runs, row, label):  # type: ignore[no-untyped-def]
    """Each run at the place `runs` takes the event's values; they are added at `into`, the count is not."""
    width, reals, bests = slots.whole_on.shape[0] + 1, slots.real_on.shape[0], slots.best_on.shape[0]
    for b in range(bests):
        at = slots.best_seen[b]
        if slots.best_on[b, label] and values.valid[row, at]:
            value = values.best[row, b]
            if not sums.seen[into, at] or value < sums.best[into, b]:
                sums.best[into, b] = value
                sums.seen[into, at] = 1
    for k in range(sums.seen.shape[1]):
        if slots.seen_on[k, label] and values.valid[row, k]:
            sums.seen[into, k] = 1
    fits = True
    for w in range(width - 1):
        if slots.whole_on[w, label] and values.whole[row, w] != 0:
            fits &= add_scaled(sums.whole, into * width + 1 + w, runs * width, values.whole[row, w])
    for f in range(reals):
        if slots.real_on[f, label] and values.real[row, f] != 0.0:
            add_scaled_float(sums.real, into * reals + f, sums.whole, runs * width, values.real[row, f])
    return fits


@inline_kernel
def lead(slots, sums, values, into, what, row, label):  # type: ignore[no-untyped-def]
    """The runs at a place, each carried on by the event, are added to another place (which may be the same)."""
    width, reals, bests = slots.whole_on.shape[0] + 1, slots.real_on.shape[0], slots.best_on.shape[0]
    if is_zero(sums.whole, what * width):
        return True
    for b in range(bests):
        at = slots.best_seen[b]
        if sums.seen[what, at]:
            value = sums.best[what, b]
            if not sums.seen[into, at] or value < sums.best[into, b]:
                sums.best[into, b] = value
                sums.seen[into, at] = 1
    for k in range(sums.seen.shape[1]):
        sums.seen[into, k] |= sums.seen[what, k]
    fits = True
    for w in range(1, width):
        fits &= add(sums.whole, into * width + w, what * width + w)
    for f in range(reals):
        add(sums.real, into * reals + f, what * reals + f)
    fits &= take_values(slots, sums, values, into, what, row, label)
    # The count last: the sums above are made of what it was.
    fits &= add(sums.whole, into * width, what * width)
    return fits
