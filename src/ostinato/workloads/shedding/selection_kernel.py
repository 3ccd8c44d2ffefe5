"""The kernel of `state_selection.py`: cut of each node and pattern -> the patterns that each slot is kept for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel

Reals = NDArray[np.float64]


class SlotShares(NamedTuple):
    """The kernel fills these in: by slot as in `ledger.KeepMasks`, or by class and age."""

    masks: NDArray[np.int64]
    """[2, slot, word]"""
    drawn: Reals
    """[class, age] fraction of the tags that use the first masks."""
    kept_share: Reals
    """[class, age] fraction that is kept for at least one pattern."""
    full_share: Reals
    """[class, age] fraction that is kept for all patterns."""


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
                slots.drawn[of_class, age] = slots.kept_share[of_class, age] = slots.full_share[of_class, age] = 1.0
                if is_cut:
                    _keep_slot(
                        of_class, age, bucket[of_class, age], cut[node], first, end, links.column, explore, slots
                    )


@inline_kernel
def _keep_slot(of_class, age, bucket, cut, first, end, column, explore, slots):  # type: ignore[no-untyped-def]
    most, least, most_partial, any_less = 0.0, 1.0, 0.0, False
    slot = of_class * slots.kept_share.shape[1] + age
    for at in range(first, end):
        pattern = column[at]
        share = _share(bucket, cut[pattern])
        most, least = max(most, share), min(least, share)
        if share < 1.0:
            any_less, most_partial = True, max(most_partial, share)
            slots.masks[1, slot, pattern >> 6] &= ~(np.int64(1) << (pattern & 63))
    if any_less:
        slots.drawn[of_class, age] = max(most_partial, explore)
    slots.kept_share[of_class, age] = max(most, explore)
    slots.full_share[of_class, age] = least if most_partial > explore else max(least, explore)
    if most_partial > explore:
        # The tags that keep a pattern in part don't keep a pattern that is dropped altogether.
        for at in range(first, end):
            pattern = column[at]
            if _share(bucket, cut[pattern]) <= 0.0:
                slots.masks[0, slot, pattern >> 6] &= ~(np.int64(1) << (pattern & 63))


@inline_kernel
def _share(bucket, cut):  # type: ignore[no-untyped-def]
    """Fraction of a slot that is kept: all above the cut, none below it, a part in its bucket."""
    return 1.0 if cut < 0 else min(max(bucket - cut + 1.0, 0.0), 1.0)
