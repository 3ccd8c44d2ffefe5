"""Masks of a pattern of fixed length -> the rows where its matches start: where all masks hold, each shifted by its
offset in the pattern. No automaton runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.spans import Spans, keys_of
from ostinato.kernels.kernel_cache import kernel


def starting_rows(
    masks: Sequence[NDArray[np.bool_] | None],
    key_at: NDArray[np.int64],
    time: NDArray[np.int64],
    within: int | NDArray[np.int64],
    spans: Spans,
) -> NDArray[np.int64]:
    """The rows at which a match of len(masks) rows starts; None stands for a mask that always holds.

    `within` is the longest time of a match, for all starts or for each; below zero there is no limit.
    """
    rows, length = int(key_at[-1]), len(masks)
    if rows < length:
        return np.empty(0, np.int64)
    count = rows - length + 1
    holds: NDArray[np.bool_] | None = None
    for offset, mask in enumerate(masks):
        if mask is None:
            continue
        shifted = mask[offset : offset + count]
        holds = shifted.copy() if holds is None else np.logical_and(holds, shifted, out=holds)
    starts = np.arange(count, dtype=np.int64) if holds is None else np.flatnonzero(holds)
    if len(key_at) > 2 or spans.start[0] > 0 or min(spans.stop[0], spans.end[0]) < rows:
        key = keys_of(key_at, starts)
        inside = (starts >= spans.start[key]) & (starts < spans.stop[key]) & (starts + length <= spans.end[key])
        starts = starts[inside]
    most = within[starts] if isinstance(within, np.ndarray) else within
    if isinstance(most, np.ndarray) or most >= 0:
        starts = starts[np.abs(time[starts + length - 1] - time[starts]) <= most]
    return starts


def after_last(starts: NDArray[np.int64], length: int, ahead: int, spans: Spans) -> NDArray[np.int64]:
    """For each key the first start that later rows decide. `starts` are the matches, at least `ahead` rows apart."""
    in_reach = np.clip(spans.end - length + 1, spans.start, spans.stop)
    undecided = np.where(spans.is_open, in_reach, spans.stop)
    if not len(starts):
        return undecided
    last = np.searchsorted(starts, spans.stop, side="left") - 1
    has_match = (last >= 0) & (starts[last] >= spans.start)
    return np.maximum(undecided, np.where(has_match, starts[last] + ahead, spans.start))


@kernel
def without_overlap(starts, ahead):  # type: ignore[no-untyped-def]
    """Whether each start remains if the search goes on `ahead` rows after each match."""
    remains = np.zeros(len(starts), np.bool_)
    next_free = np.int64(-1)
    for i in range(len(starts)):
        if starts[i] >= next_free:
            remains[i] = True
            next_free = starts[i] + ahead
    return remains
