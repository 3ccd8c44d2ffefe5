"""The kernel of `state_selection.py`: from the cut of each node and pattern to what each slot is kept for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel

Reals = NDArray[np.float64]


class KeptSlots(NamedTuple):
    """By class, or by slot as in `ledger.Orders`; to be filled in."""

    masks: NDArray[np.int64]
    """[2, slot, word]"""
    drawn: Reals
    """[class, age] the share of tags that belong to the first masks."""
    kept: Reals
    """[class, age] the share that is kept for some pattern."""
    whole: Reals
    """[class, age] the share that is kept for all patterns."""


@borrowing_kernel
def keep_above(bucket, cut, class_at, links, explore, slots):  # type: ignore[no-untyped-def]
    """`bucket`: [class, age]. `cut`: [node, pattern], below 0 where everything is kept."""
    for node in range(len(class_at) - 1):
        first, end = links.column_at[node], links.column_at[node + 1]
        is_cut = False
        for at in range(first, end):
            is_cut |= cut[node, links.column[at]] >= 0
        for of_class in range(class_at[node], class_at[node + 1]):
            for age in range(bucket.shape[1]):
                slots.drawn[of_class, age] = slots.kept[of_class, age] = slots.whole[of_class, age] = 1.0
                if is_cut:
                    _keep_slot(
                        of_class, age, bucket[of_class, age], cut[node], first, end, links.column, explore, slots
                    )


@inline_kernel
def _keep_slot(of_class, age, bucket, cut, first, end, column, explore, slots):  # type: ignore[no-untyped-def]
    most, least, part, any_less = 0.0, 1.0, 0.0, False
    slot = of_class * slots.kept.shape[1] + age
    for at in range(first, end):
        pattern = column[at]
        share = _share(bucket, cut[pattern])
        most, least = max(most, share), min(least, share)
        if share < 1.0:
            any_less, part = True, max(part, share)
            slots.masks[1, slot, pattern >> 6] &= ~(np.int64(1) << (pattern & 63))
    if any_less:
        slots.drawn[of_class, age] = max(part, explore)
    slots.kept[of_class, age] = max(most, explore)
    slots.whole[of_class, age] = least if part > explore else max(least, explore)
    if part > explore:
        # Where some pattern is kept in part, one that is dropped outright isn't kept with it.
        for at in range(first, end):
            pattern = column[at]
            if _share(bucket, cut[pattern]) <= 0.0:
                slots.masks[0, slot, pattern >> 6] &= ~(np.int64(1) << (pattern & 63))


@inline_kernel
def _share(bucket, cut):  # type: ignore[no-untyped-def]
    """All, none, or a part of the slots in the bucket of the cut."""
    return 1.0 if cut < 0 else min(max(bucket - cut + 1.0, 0.0), 1.0)
