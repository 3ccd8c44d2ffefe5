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
def _after_extended(words, offset, end):  # type: ignore[no-untyped-def]
    """Checks a double and its exponent; returns the position behind them, or BROKEN."""
    if offset + 2 > end or words[offset + 1] % STEP != 0 or abs(words[offset + 1]) > LARGEST_EXPONENT:
        return BROKEN
    return offset + 2


@inline_kernel
def _after_number(words, offset, end, exact):  # type: ignore[no-untyped-def]
    if not exact:
        return _after_extended(words, offset, end)
    if offset >= end or words[offset] < 1 or words[offset] > end - offset - 1:
        return BROKEN
    last = offset + words[offset]
    for limb in range(offset + 1, last):
        if words[limb] < 0 or words[limb] >= BASE:
            return BROKEN
    if words[last] < -BASE or words[last] >= BASE:
        return BROKEN
    return last + 1


@inline_kernel
def _after_sum(words, offset, end, exact, sizes):  # type: ignore[no-untyped-def]
    """Checks one running sum. `sizes`: how many whole numbers, doubles, best values and flags it has."""
    for _ in range(sizes[0]):
        offset = _after_number(words, offset, end, exact)
        if offset == BROKEN:
            return BROKEN
    for _ in range(sizes[1]):
        offset = _after_extended(words, offset, end)
        if offset == BROKEN:
            return BROKEN
    offset += sizes[2]
    if offset + sizes[3] > end:
        return BROKEN
    for flag in range(offset, offset + sizes[3]):
        if words[flag] < 0 or words[flag] > 255:
            return BROKEN
    return offset + sizes[3]


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
    for sequence in range(len(states.starts) - 1):
        offset, end = states.starts[sequence], states.starts[sequence + 1]
        if offset == end:
            continue
        lane_count = words[offset]
        if lane_count < 0 or lane_count > end - offset:
            return False
        offset = _after_sum(words, offset + 1, end, exact, sizes)
        before = -FAR - 1
        for _ in range(lane_count):
            if offset == BROKEN or offset + 2 > end or not _is_lane(plan, words[offset], words[offset + 1], before):
                return False
            before = words[offset]
            offset += 2
            for _ in range(plan.sums_per_lane):
                if offset != BROKEN:
                    offset = _after_sum(words, offset, end, exact, sizes)
        if offset != end:
            return False
    return True
