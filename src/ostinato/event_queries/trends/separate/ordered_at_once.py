"""All events of all sequences -> the results of all windows, for calls without earlier or later events.

When SAME or GROUP BY have many values, there are many short sequences. A Python object for each of their windows would
cost more than evaluating the windows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ostinato.event_queries.plan.event_program import (
    NO_WINDOW,
    BoundKind,
    Events,
    Extent,
    Program,
    QueryResults,
    joined_results,
)
from ostinato.event_queries.trends.separate.buffered_events import Ints, Reads, arriving
from ostinato.event_queries.trends.separate.ordered_edges import OrderedEdges
from ostinato.kernels.stopping import check_stopped

MOST_ROWS = 1 << 20
"""The most rows of windows that are evaluated together. An event counts once for each window that contains it."""


def results_at_once(program: Program, reads: Reads, ordered: OrderedEdges, events: Events) -> QueryResults:
    """Evaluates all windows at once. There is no earlier state, and no events follow."""
    buffered = arriving(reads, events, 0, len(events.time))
    sequence = np.searchsorted(events.starts, buffered.name, "right") - 1
    position = buffered.place if program.extent.by_place else buffered.time
    results_by_range = []
    for rows, window, starts in _cut(program.extent, sequence, position):
        results = ordered.results(buffered.select(rows), starts, events.pair_tests)
        first = starts[:-1][results.sequence]
        of_sequence = sequence[rows[first]]
        results_by_range.append(QueryResults(of_sequence, window[first], results.count, results.slots, results.present))
    if not results_by_range:
        nothing = buffered.select(slice(0, 0))
        return ordered.results(nothing, np.zeros(1, np.int64), events.pair_tests)
    return joined_results(results_by_range)


def _cut(extent: Extent, sequence: Ints, position: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yields rows by sequence and window (a row once for each of its windows), the window of each row, and window
    starts."""
    if not len(sequence):
        return
    low, many = np.zeros(len(position), np.int64), np.ones(len(position), np.int64)
    if extent.kind is BoundKind.WINDOWS:
        low = (position - extent.length) // extent.slide + 1
        if extent.by_place:
            low = np.maximum(low, 0)
        many = np.maximum(position // extent.slide - low + 1, 0)
    for start, end in _whole_sequences(sequence, many):
        rows = np.repeat(np.arange(start, end), many[start:end])
        before = np.repeat(np.cumsum(many[start:end]) - many[start:end], many[start:end])
        window = low[rows] + np.arange(len(rows)) - before
        check_stopped()
        order = np.lexsort((rows, window, sequence[rows]))
        check_stopped()
        rows, window = rows[order], window[order]
        if not len(rows):
            continue
        of_row = sequence[rows]
        is_first = np.concatenate(([True], (of_row[1:] != of_row[:-1]) | (window[1:] != window[:-1])))
        starts = np.append(np.flatnonzero(is_first), len(rows))
        named = window * extent.slide if extent.kind is BoundKind.WINDOWS else np.full(len(rows), NO_WINDOW)
        yield rows, named, starts


def _whole_sequences(sequence: Ints, many: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of rows that split no sequence. A range stays below the limit unless a single sequence is larger."""
    ends = np.append(np.flatnonzero(np.diff(sequence)) + 1, len(sequence))
    rows = np.cumsum(many)[ends - 1]
    start, done, at = 0, 0, 0
    while at < len(ends):
        last = max(int(np.searchsorted(rows, done + MOST_ROWS, "right")), at + 1)
        yield start, int(ends[last - 1])
        start, done, at = int(ends[last - 1]), int(rows[last - 1]), last
