"""Kernels that go over all rows of the history, or over all partial matches."""

from __future__ import annotations

import numpy as np

from ostinato.kernel_cache import borrowing_kernel, called_kernel
from ostinato.techniques.bounded_latency.births import class_of
from ostinato.techniques.bounded_latency.store import (
    CLASS,
    LIMIT,
    LISTED,
    NODE,
    PLACE,
    ROW,
    USED,
    note_row,
    remove,
    see_absences,
)
from ostinato.techniques.bounded_latency.visits import is_dead_end


@called_kernel
def sweep(row, by_place, gaps, positions, links, kin, lists, free, counts, live):  # type: ignore[no-untyped-def]
    """Forgets every partial match that is over; by place, its own sequence must have gone on."""
    nodes = len(by_place)
    for pm in range(counts[USED]):
        if kin[pm, PLACE] == LISTED:
            node = np.int64(kin[pm, NODE])
            sequence = positions.sequence[links[pm, ROW]]
            now = positions.place[lists.last_row[sequence]] if by_place[node] else positions.time[row]
            if links[pm, LIMIT] < now or is_dead_end(node, links[pm, ROW], sequence, gaps, positions, lists):
                live[links[pm, CLASS]] -= 1
                remove(pm, sequence * nodes + node, links, kin, lists.heads, free, counts)


@borrowing_kernel
def note_rows(end, positions, fulfilled, absence_of, lists):  # type: ignore[no-untyped-def]
    """Takes the history in: what the new rows must know of it."""
    for row in range(end):
        see_absences(row, positions, lists)
        note_row(row, positions, fulfilled, absence_of, lists)


@borrowing_kernel
def classify(pms, nodes, features, nulls, buckets, classes):  # type: ignore[no-untyped-def]
    """The class of each of `pms`."""
    for pm in pms:
        classes[pm] = class_of(pm, nodes[pm], features, nulls, buckets)
