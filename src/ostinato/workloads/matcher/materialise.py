"""Complete matches, written out by walking up the links of their partial matches (the paper's view)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import NO_WINDOW, BoundKind, Extent
from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.rows.matches import ranges
from ostinato.workloads.matcher.plan_events import RowPositions
from ostinato.workloads.matcher.store import LENGTH, NODE, ROW, older, older_than_new
from ostinato.workloads.merging.merged_plan import MergedPlan

Ints = NDArray[np.int64]
FIRST_MATCHES = 1 << 8
FIRST_ROWS = 1 << 11
# Indexes of `MatchBuffer.counts`.
MATCHES, MATCH_ROWS = range(2)


@dataclass(frozen=True, slots=True)
class PatternMatches:
    """The matches of one pattern in the order in which they were complete, each once for every window that holds it.

    Match m is `rows[offsets[m]:offsets[m + 1]]`, bound to the `labels` of the pattern's own program at the same
    indexes.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    window: NDArray[np.int64]
    """Start of its window; NO_WINDOW without windows."""

    @property
    def count(self) -> int:
        return len(self.offsets) - 1


class MatchBuffer(NamedTuple):
    """The matches of all patterns, with room for more. Match m has the rows from `at[m]` to before `at[m + 1]`."""

    at: NDArray[np.int64]
    pattern: NDArray[np.int32]
    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    """Labels of the plan."""
    counts: NDArray[np.int64]


def new_match_buffer(matches: int, rows: int) -> MatchBuffer:
    return MatchBuffer(
        at=np.zeros(matches + 1, np.int64),
        pattern=np.zeros(matches, np.int32),
        rows=np.zeros(rows, np.int32),
        labels=np.zeros(rows, np.int32),
        counts=np.zeros(2, np.int64),
    )


def grown_buffer(buffer: MatchBuffer, matches: int, rows: int) -> MatchBuffer:
    """The same buffer, with room for at least `matches` more matches and `rows` more rows."""
    room = max(2 * len(buffer.pattern), len(buffer.pattern) + matches)
    larger = new_match_buffer(room, max(2 * len(buffer.rows), len(buffer.rows) + rows))
    arrays: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(buffer, larger, strict=True)
    for before, after in arrays:
        after[: len(before)] = before
    return larger


def by_pattern(buffer: MatchBuffer, plan: MergedPlan, positions: RowPositions) -> tuple[PatternMatches, ...]:
    """The matches of each pattern, with the labels of its own program, once for each window."""
    extents = {end.pattern: plan.nodes[end.node].extent for end in plan.ends}
    count = int(buffer.counts[MATCHES])
    pattern, at = buffer.pattern[:count], buffer.at[: count + 1]
    result = []
    for number, labels in enumerate(plan.pattern_labels):
        own_matches = np.flatnonzero(pattern == number)
        chosen, window = _windows(own_matches, at, buffer.rows, positions, extents.get(number, Extent()))
        lengths = at[chosen + 1] - at[chosen]
        offsets = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        indexes = ranges(at[chosen], lengths)
        own_labels = np.asarray(labels, np.int32)[buffer.labels[indexes]]
        result.append(PatternMatches(offsets, buffer.rows[indexes], own_labels, window))
    return tuple(result)


def _windows(
    chosen: Ints, at: Ints, rows: NDArray[np.int32], positions: RowPositions, extent: Extent
) -> tuple[Ints, Ints]:
    """Returns the matches, each once for every window that holds it, and the start of the window for each."""
    if extent.kind is not BoundKind.WINDOWS:
        return chosen, np.full(len(chosen), NO_WINDOW, np.int64)
    position = positions.place if extent.by_place else positions.time
    first, last = position[rows[at[chosen]]], position[rows[at[chosen + 1] - 1]]
    lowest = -((extent.length - 1 - last) // extent.slide)  # the first window that reaches the last event
    if extent.by_place:
        lowest = np.maximum(lowest, 0)
    count = first // extent.slide - lowest + 1
    return np.repeat(chosen, count), ranges(lowest, count) * extent.slide


# --- kernels ----------------------------------------------------------------------------------------------------------


@inline_kernel
def write_match(pattern, pm, segment, row, label, labels, store, buffer):  # type: ignore[no-untyped-def]
    """Writes `pm`, extended by the row or by the segment that ends with it, as a match. There is room."""
    links, ancestry = store.links, store.ancestry
    match, first = buffer.counts[MATCHES], buffer.counts[MATCH_ROWS]
    length = np.int64(1) if segment < 0 else links[segment, LENGTH]
    if pm >= 0:
        length += links[pm, LENGTH]
    index = first + length - 1
    buffer.rows[index], buffer.labels[index] = row, label
    at, waiting = older_than_new(pm, segment, ancestry)
    while at >= 0:
        index -= 1
        buffer.rows[index] = links[at, ROW]
        buffer.labels[index] = labels[ancestry[at, NODE]]
        at, waiting = older(at, waiting, ancestry)
    buffer.pattern[match] = pattern
    buffer.at[match + 1] = first + length
    buffer.counts[MATCHES], buffer.counts[MATCH_ROWS] = match + 1, first + length
