"""Checks words of running sums from a stored state before kernels use them (`running_state.py` defines the format).

One pass over all words checks three things: numbers have the form of `number_table.py`, lanes start and end like the
plan's windows, and the words of a sequence end with its last lane.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.separate.running_arrays import FAR, UNBOUNDED, WINDOWS
from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.kernels.numbers.limbs import BASE, STEP
from ostinato.streams.stored_state import LARGEST, LARGEST_EXPONENT

BROKEN = np.int64(-1)


@inline_kernel
def _after_extended(words, at, end):  # type: ignore[no-untyped-def]
    """Checks a double and its exponent; returns the position behind them, or BROKEN."""
    if at + 2 > end or words[at + 1] % STEP != 0 or abs(words[at + 1]) > LARGEST_EXPONENT:
        return BROKEN
    return at + 2


@inline_kernel
def _after_number(words, at, end, exact):  # type: ignore[no-untyped-def]
    if not exact:
        return _after_extended(words, at, end)
    if at >= end or words[at] < 1 or words[at] > end - at - 1:
        return BROKEN
    last = at + words[at]
    for limb in range(at + 1, last):
        if words[limb] < 0 or words[limb] >= BASE:
            return BROKEN
    if words[last] < -BASE or words[last] >= BASE:
        return BROKEN
    return last + 1


@inline_kernel
def _after_place(words, at, end, exact, sizes):  # type: ignore[no-untyped-def]
    """Checks one place. `sizes`: how many whole numbers, doubles, best values and flags a place has."""
    for _ in range(sizes[0]):
        at = _after_number(words, at, end, exact)
        if at == BROKEN:
            return BROKEN
    for _ in range(sizes[1]):
        at = _after_extended(words, at, end)
        if at == BROKEN:
            return BROKEN
    at += sizes[2]
    if at + sizes[3] > end:
        return BROKEN
    for flag in range(at, at + sizes[3]):
        if words[flag] < 0 or words[flag] > 255:
            return BROKEN
    return at + sizes[3]


@inline_kernel
def _is_lane(plan, low, high, before):  # type: ignore[no-untyped-def]
    """Whether a lane may reach from `low` to `high`, behind one that starts at `before`."""
    if plan.bound == UNBOUNDED:
        return low == -FAR and high == FAR and before == -FAR - 1
    if low <= before or abs(low) > LARGEST:
        return False
    if plan.bound == WINDOWS:
        return low % plan.slide == 0 and high == low + plan.length
    return high == low + plan.length + 1


@borrowing_kernel
def are_sound(plan, states, exact, sizes):  # type: ignore[no-untyped-def]
    """Checks the words of all sequences."""
    words = states.words
    for sequence in range(len(states.at) - 1):
        at, end = states.at[sequence], states.at[sequence + 1]
        if at == end:
            continue
        many = words[at]
        if many < 0 or many > end - at:
            return False
        at = _after_place(words, at + 1, end, exact, sizes)
        before = -FAR - 1
        for _ in range(many):
            if at == BROKEN or at + 2 > end or not _is_lane(plan, words[at], words[at + 1], before):
                return False
            before = words[at]
            at += 2
            for _ in range(plan.places):
                if at != BROKEN:
                    at = _after_place(words, at, end, exact, sizes)
        if at != end:
            return False
    return True
