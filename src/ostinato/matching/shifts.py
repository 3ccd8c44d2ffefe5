"""Patterns of fixed length: a match starts wherever all masks hold, each shifted by its place. No automaton runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.kernel_cache import kernel


def starting_rows(
    masks: Sequence[NDArray[np.bool_] | None],
    key_at: NDArray[np.int64],
    time: NDArray[np.int64],
    within: int,
) -> NDArray[np.int64]:
    """The rows at which a match of len(masks) rows starts; None stands for a mask that always holds."""
    rows, length = int(key_at[-1]), len(masks)
    if rows < length:
        return np.empty(0, np.int64)
    count = rows - length + 1
    holds: NDArray[np.bool_] | None = None
    for place, mask in enumerate(masks):
        if mask is None:
            continue
        part = mask[place : place + count]
        holds = part.copy() if holds is None else np.logical_and(holds, part, out=holds)
    starts = np.arange(count, dtype=np.int64) if holds is None else np.flatnonzero(holds)
    if length > 1 and len(key_at) > 2:
        end = np.searchsorted(key_at, starts, side="right")
        starts = starts[starts + length <= key_at[end]]
    if within >= 0:
        starts = starts[np.abs(time[starts + length - 1] - time[starts]) <= within]
    return starts


@kernel
def without_overlap(starts, key_at, ahead):  # type: ignore[no-untyped-def]
    """Which starts remain when the search goes on `ahead` rows after each match."""
    kept = np.zeros(len(starts), np.bool_)
    next_free = np.int64(-1)
    for i in range(len(starts)):
        if starts[i] >= next_free:
            kept[i] = True
            next_free = starts[i] + ahead
    return kept
