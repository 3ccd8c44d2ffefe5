"""Rows of matches -> the rows that hold a percentile at every frame. One pass over the rows computes all frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.task.match_aggregates import AggregateRows
from ostinato.kernels.kernel_cache import inline_kernel, kernel
from ostinato.rows.match_navigation import NO_ROW


class Percentile(NamedTuple):
    """For each frame the entries of `label` on both sides of the percentile; NO_ROW if no row counts."""

    lower: NDArray[np.int64]
    higher: NDArray[np.int64]
    position: NDArray[np.float64]
    """The place of the percentile among the values, from 0; between two values, it has a fraction."""


def percentile(rows: AggregateRows, ranks: NDArray[np.int64], fraction: float, *, discrete: bool) -> Percentile:
    """`ranks` order the values. `discrete`: the first value at or below which the fraction of the values lies."""
    matches, frames = rows.matches, rows.frames
    owner = np.repeat(np.arange(len(matches.length)), matches.length)
    in_order = np.lexsort((ranks, owner)).astype(np.int64)
    place = np.empty(len(in_order), np.int64)
    place[in_order] = np.arange(len(in_order)) - matches.path_at[owner]
    count = len(frames.match)
    result = Percentile(np.full(count, NO_ROW), np.full(count, NO_ROW), np.zeros(count))
    tree = np.zeros(int(matches.length.max(initial=0)) + 1, np.int64)
    _percentile(
        matches.path_at, matches.length, rows.counts, frames.match, rows.last, place, in_order, fraction, discrete,
        tree, result.lower, result.higher, result.position,
    )  # fmt: skip
    return result


@kernel
def _percentile(  # type: ignore[no-untyped-def]
    path_at, length, counts, match, last, place, in_order, fraction, discrete, tree, lower, higher, positions
):
    """`tree` is a Fenwick tree over the places of the values that count, in the order of their ranks."""
    current, reached, size = -1, 0, 0
    for frame in range(len(match)):
        if match[frame] != current:
            current, reached, size = match[frame], 0, 0
            tree[: length[current] + 1] = 0
        first, count = path_at[current], length[current]
        while reached <= last[frame]:
            if counts[first + reached]:
                _add(tree, count, place[first + reached] + 1)
                size += 1
            reached += 1
        if size == 0:
            continue
        if discrete:
            low = max(int(np.ceil(fraction * size)) - 1, 0)
            lower[frame] = higher[frame] = in_order[first + _found(tree, count, low)]
            continue
        position = fraction * (size - 1)
        low, high = int(np.floor(position)), int(np.ceil(position))
        lower[frame] = in_order[first + _found(tree, count, low)]
        higher[frame] = in_order[first + _found(tree, count, high)]
        positions[frame] = position


@inline_kernel
def _add(tree, count, node):  # type: ignore[no-untyped-def]
    while node <= count:
        tree[node] += 1
        node += node & -node


@inline_kernel
def _found(tree, count, number):  # type: ignore[no-untyped-def]
    """The place, from 0, of the value with this number, from 0, among those that count."""
    step = 1
    while step * 2 <= count:
        step *= 2
    node, left = 0, number
    while step > 0:
        if node + step <= count and tree[node + step] <= left:
            node += step
            left -= tree[node]
        step //= 2
    return node
