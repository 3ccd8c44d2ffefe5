"""The store of partial matches: a structure of arrays with parent links, and lists by sequence and node.

A partial match is its node, its last row and a link to its parent. One that was joined with a segment has a second
link, to the segment's partial match. The lists have the newest first. A partial match that has left its list stays in
the store while it has children. The values that a visit reads first are together in `links`: a row of it is one line
of the processor's cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.workloads.merging.features import MAX_FEATURES

Ints = NDArray[np.int64]
NOTHING = -1

# Columns of `links`.
NEXT, BEFORE, LIMIT, ORDER, CLASS, TAG, ROW, LENGTH = range(8)
# Columns of `ancestry`.
PARENT, SEGMENT, NODE, CHILDREN, FIRST, STATUS = range(6)
# Values of STATUS.
FREE, LISTED, KEPT_FOR_CHILDREN = range(3)
# Indexes of `Store.counts`: rows of the arrays that were ever used, those of them that are free again, and partial
# matches that were ever made.
USED, SPARE, SERIAL = range(3)

FIRST_ROOM = 1 << 10


class Store(NamedTuple):
    """Row i of each array is partial match i."""

    links: Ints
    """Columns:
    NEXT, BEFORE: its neighbours in the list, or NOTHING
    LIMIT: the last position at which it can grow
    ORDER: the order of its last row
    CLASS, TAG: see `ledger.py`
    ROW: its last row
    LENGTH: its number of events
    """
    ancestry: NDArray[np.int32]
    """Columns:
    PARENT, SEGMENT: the partial matches that it grew out of, or NOTHING
    NODE: its node
    CHILDREN: the number of links to it
    FIRST: its first row
    STATUS: whether it is free, in its list, or only kept for its children
    """
    masks: Ints
    """[word] bits of the patterns that it is kept for."""
    serial: Ints
    """Partial matches are numbered as they are made."""
    features: NDArray[np.float64]
    nulls: NDArray[np.uint8]
    """A bit for each feature that is NULL."""
    registers: Ints
    int_totals: Ints
    real_totals: NDArray[np.float64]
    """Operands of run conditions (expressions/run_conditions/interpreter.py)."""
    free: NDArray[np.int32]
    """The first `counts[SPARE]` are free."""
    fresh: NDArray[np.int32]
    """Those made by the present row."""
    counts: Ints

    @property
    def room(self) -> int:
        return len(self.links)


class StoreShape(NamedTuple):
    """Widths of the arrays."""

    words: int
    registers: int
    totals: int


def new_store(room: int, shape: StoreShape) -> Store:
    return Store(
        links=np.zeros((room, 8), np.int64),
        ancestry=np.zeros((room, 6), np.int32),
        masks=np.zeros((room, shape.words), np.int64),
        serial=np.zeros(room, np.int64),
        features=np.zeros((room, MAX_FEATURES), np.float64),
        nulls=np.zeros(room, np.uint8),
        registers=np.full((room, shape.registers), -1, np.int64),
        int_totals=np.zeros((room, shape.totals), np.int64),
        real_totals=np.zeros((room, shape.totals), np.float64),
        free=np.zeros(room, np.int32),
        fresh=np.zeros(room, np.int32),
        counts=np.zeros(3, np.int64),
    )


def grown(store: Store, room: int) -> Store:
    """The same with room for more partial matches."""
    return store._replace(**{name: _longer(getattr(store, name), room) for name in store._fields if name != "counts"})


def _longer(array: NDArray[Any], room: int) -> NDArray[Any]:
    longer = np.zeros((room, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


class Lists(NamedTuple):
    """By sequence (and node): the newest partial match; the last rows."""

    heads: NDArray[np.int32]
    """At sequence * nodes + node; NOTHING: an empty list."""
    absent: NDArray[np.int32]
    """[sequence, absence] the last row at which it occurred, or NOTHING."""
    absent_before: NDArray[np.int32]
    """The last such row of an earlier time than that."""
    last_row: NDArray[np.int32]
    """[sequence]"""
    absent_by_row: NDArray[np.int32]
    """[row, absence] the last row of an earlier time at which it occurred; empty unless segments need it."""


def new_lists(sequences: int, nodes: int, absences: int, by_row: tuple[int, int]) -> Lists:
    """`by_row`: shape of `absent_by_row`."""
    return Lists(
        heads=np.full(sequences * nodes, NOTHING, np.int32),
        absent=np.full((sequences, absences), NOTHING, np.int32),
        absent_before=np.full((sequences, absences), NOTHING, np.int32),
        last_row=np.full(sequences, NOTHING, np.int32),
        absent_by_row=np.full(by_row, NOTHING, np.int32),
    )


# --- kernels ----------------------------------------------------------------------------------------------------------


@inline_kernel
def next_free(free, counts):  # type: ignore[no-untyped-def]
    """The free row that `add_listed` will take."""
    spare = counts[SPARE]
    return np.int64(free[spare - 1]) if spare > 0 else counts[USED]


@inline_kernel
def add_listed(pm, list_index, links, ancestry, heads, counts):  # type: ignore[no-untyped-def]
    """Takes the next free row and puts it at the head of a list. The caller has filled in the rest."""
    if counts[SPARE] > 0:
        counts[SPARE] -= 1
    else:
        counts[USED] += 1
    head = np.int64(heads[list_index])
    links[pm, NEXT], links[pm, BEFORE] = head, NOTHING
    if head >= 0:
        links[head, BEFORE] = pm
    heads[list_index] = pm
    ancestry[pm, CHILDREN], ancestry[pm, STATUS] = 0, LISTED
    parent, segment = np.int64(ancestry[pm, PARENT]), np.int64(ancestry[pm, SEGMENT])
    if parent >= 0:
        ancestry[parent, CHILDREN] += 1
    if segment >= 0:
        ancestry[segment, CHILDREN] += 1


@inline_kernel
def remove(pm, list_index, links, ancestry, heads, free, counts):  # type: ignore[no-untyped-def]
    """Takes a partial match out of its list, and out of the store if it has no children."""
    following, before = links[pm, NEXT], links[pm, BEFORE]
    if before >= 0:
        links[before, NEXT] = following
    else:
        heads[list_index] = following
    if following >= 0:
        links[following, BEFORE] = before
    ancestry[pm, STATUS] = KEPT_FOR_CHILDREN
    gone, segment = np.int64(pm), np.int64(NOTHING)
    # Its ancestors may go with it, and so may the segments that were joined to them, which are plain chains.
    while gone >= 0 and ancestry[gone, STATUS] == KEPT_FOR_CHILDREN and ancestry[gone, CHILDREN] == 0:
        ancestry[gone, STATUS] = FREE
        free[counts[SPARE]] = gone
        counts[SPARE] += 1
        segment = np.int64(ancestry[gone, SEGMENT])
        while segment >= 0:
            ancestry[segment, CHILDREN] -= 1
            if ancestry[segment, CHILDREN] > 0 or ancestry[segment, STATUS] != KEPT_FOR_CHILDREN:
                break
            ancestry[segment, STATUS] = FREE
            free[counts[SPARE]] = segment
            counts[SPARE] += 1
            segment = np.int64(ancestry[segment, PARENT])
        gone = np.int64(ancestry[gone, PARENT])
        if gone >= 0:
            ancestry[gone, CHILDREN] -= 1


@inline_kernel
def older(pm, waiting, ancestry):  # type: ignore[no-untyped-def]
    """Returns the partial match with the previous event, and the one to go on with at the end of this chain."""
    segment = ancestry[pm, SEGMENT]
    if segment >= 0:
        before, waiting = np.int64(ancestry[segment, PARENT]), np.int64(ancestry[pm, PARENT])
    else:
        before = np.int64(ancestry[pm, PARENT])
    if before < 0:
        return waiting, np.int64(NOTHING)
    return before, waiting


@inline_kernel
def older_than_new(pm, segment, ancestry):  # type: ignore[no-untyped-def]
    """The same for a new partial match that extends `pm` by an event or by a segment."""
    if segment < 0:
        return np.int64(pm), np.int64(NOTHING)
    before = np.int64(ancestry[segment, PARENT])
    if before < 0:
        return np.int64(pm), np.int64(NOTHING)
    return before, np.int64(pm)


@inline_kernel
def last_absent(absence, row, sequence, order, lists):  # type: ignore[no-untyped-def]
    """The last row at which it occurred at an earlier time than that of `row`, a row not before any noted one."""
    last = lists.absent[sequence, absence]
    if last >= 0 and order[last] >= order[row]:
        return lists.absent_before[sequence, absence]
    return last


@inline_kernel
def note_absences(row, positions, lists):  # type: ignore[no-untyped-def]
    """Notes the last absences before a row, for segments that start with it."""
    for absence in range(lists.absent_by_row.shape[1]):
        lists.absent_by_row[row, absence] = last_absent(absence, row, positions.sequence[row], positions.order, lists)


@inline_kernel
def note_row(row, positions, fulfilled, absence_of, lists):  # type: ignore[no-untyped-def]
    """Notes the row as the last of its sequence, and its absences. Later rows depend on both."""
    sequence, order = positions.sequence[row], positions.order
    lists.last_row[sequence] = row
    for at in range(fulfilled.at[row], fulfilled.at[row + 1]):
        absence = absence_of[fulfilled.condition[at]]
        if absence >= 0:
            last = lists.absent[sequence, absence]
            if last >= 0 and order[last] < order[row]:
                lists.absent_before[sequence, absence] = last
            lists.absent[sequence, absence] = row
