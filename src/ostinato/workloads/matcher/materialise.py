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
from ostinato.workloads.matcher.plan_events import Positions
from ostinato.workloads.matcher.store import LENGTH, NODE, ROW, older, older_than_new
from ostinato.workloads.merging.merged_plan import MergedPlan

Ints = NDArray[np.int64]
FIRST_MATCHES = 1 << 8
FIRST_ROWS = 1 << 11
# Places in `Found.counts`.
MATCHES, MATCH_ROWS = range(2)


@dataclass(frozen=True, slots=True)
class PatternMatches:
    """The matches of one pattern in the order in which they were complete, each once for every window that holds it.

    Match m is `rows[offsets[m]:offsets[m + 1]]`, bound to `labels` of the pattern's own program at the same places.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    window: NDArray[np.int64]
    """Where its window starts; NO_WINDOW without windows."""

    @property
    def count(self) -> int:
        return len(self.offsets) - 1


class Found(NamedTuple):
    """Room for the matches of all patterns; match m starts at `at[m]`."""

    at: NDArray[np.int64]
    pattern: NDArray[np.int32]
    rows: NDArray[np.int32]
    labels: NDArray[np.int32]
    """Those of the plan."""
    counts: NDArray[np.int64]


def new_found(matches: int, rows: int) -> Found:
    return Found(
        at=np.zeros(matches + 1, np.int64),
        pattern=np.zeros(matches, np.int32),
        rows=np.zeros(rows, np.int32),
        labels=np.zeros(rows, np.int32),
        counts=np.zeros(2, np.int64),
    )


def found_with_room(found: Found, matches: int, rows: int) -> Found:
    """The same with room for so many more."""
    room = max(2 * len(found.pattern), len(found.pattern) + matches)
    larger = new_found(room, max(2 * len(found.rows), len(found.rows) + rows))
    arrays: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(found, larger, strict=True)
    for before, after in arrays:
        after[: len(before)] = before
    return larger


def by_pattern(found: Found, plan: MergedPlan, positions: Positions) -> tuple[PatternMatches, ...]:
    """The matches apart, with the labels of their patterns, once for each window."""
    extents = {end.pattern: plan.nodes[end.node].extent for end in plan.ends}
    count = int(found.counts[MATCHES])
    pattern, at = found.pattern[:count], found.at[: count + 1]
    result = []
    for number, labels in enumerate(plan.pattern_labels):
        whose = np.flatnonzero(pattern == number)
        chosen, window = _windows(whose, at, found.rows, positions, extents.get(number, Extent()))
        lengths = at[chosen + 1] - at[chosen]
        offsets = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = ranges(at[chosen], lengths)
        own = np.asarray(labels, np.int32)[found.labels[places]]
        result.append(PatternMatches(offsets, found.rows[places], own, window))
    return tuple(result)


def _windows(
    chosen: Ints, at: Ints, rows: NDArray[np.int32], positions: Positions, extent: Extent
) -> tuple[Ints, Ints]:
    """(the matches, each as often as there are windows that hold it; where the windows start)."""
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
def write_match(pattern, pm, segment, row, label, labels, store, found):  # type: ignore[no-untyped-def]
    """Writes `pm`, extended by the row or by the segment that ends with it, as a match. There is room."""
    links, kin = store.links, store.kin
    match, first = found.counts[MATCHES], found.counts[MATCH_ROWS]
    length = np.int64(1) if segment < 0 else links[segment, LENGTH]
    if pm >= 0:
        length += links[pm, LENGTH]
    place = first + length - 1
    found.rows[place], found.labels[place] = row, label
    at, waiting = older_than_new(pm, segment, kin)
    while at >= 0:
        place -= 1
        found.rows[place] = links[at, ROW]
        found.labels[place] = labels[kin[at, NODE]]
        at, waiting = older(at, waiting, kin)
    found.pattern[match] = pattern
    found.at[match + 1] = first + length
    found.counts[MATCHES], found.counts[MATCH_ROWS] = match + 1, first + length
