"""The state of a matcher between two calls: its partial matches, as arrays and as bytes.

Sequences, orders, places and positions aren't stored, since every call numbers them anew. Rows are numbered among those
that the next call must be given again (`rows_needed`).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ostinato.streams.stored_state import damaged, reading
from ostinato.workloads.matcher.births import Samples
from ostinato.workloads.matcher.plan_events import RowPositions
from ostinato.workloads.matcher.plan_tables import SPAN, UNBOUNDED, ExtentTable, PlanTables
from ostinato.workloads.matcher.store import (
    BEFORE,
    CHILDREN,
    FIRST,
    FIRST_ROOM,
    FREE,
    LENGTH,
    LIMIT,
    LISTED,
    NEXT,
    NODE,
    NOTHING,
    ORDER,
    PARENT,
    ROW,
    SEGMENT,
    SERIAL,
    STATUS,
    TAG,
    USED,
    Lists,
    Store,
    StoreShape,
    new_store,
)
from ostinato.workloads.matcher.visits import NEVER_OVER

Ints = NDArray[np.int64]
PARTIAL_MATCHES = "the partial matches in the state of this workload"
"""In error messages."""
VERSION = 2
_MAGIC = b"OSBM"
_HEADER = struct.Struct("<4sHH")
_SHAPE = struct.Struct("<cBBqq")


@dataclass(frozen=True, slots=True)
class MatcherState:
    """Partial matches in the order in which they were made; PARENT and SEGMENT are indexes in that order."""

    ancestry: Ints
    """[PARENT, SEGMENT, NODE, FIRST, STATUS, ROW, LENGTH, TAG]"""
    masks: Ints
    features: NDArray[np.float64]
    nulls: NDArray[np.uint8]
    registers: Ints
    int_totals: Ints
    real_totals: NDArray[np.float64]
    sampled: NDArray[np.float64]
    sample_counts: Ints
    counters: Ints
    """Partial matches that were ever made, matched rows of the stream, rows since the last sweep, and partial matches
    that it left."""
    rows_needed: Ints
    """Rows of the call that gave this state, in their order: the history of the next call."""

    def by_node(self, nodes: int) -> Ints:
        """The number of partial matches of each node that may still grow."""
        grows = self.ancestry[:, _STORED_STATUS] == LISTED
        return np.bincount(self.ancestry[grows, _STORED_NODE], minlength=nodes)

    def to_bytes(self) -> bytes:
        arrays = [getattr(self, field.name) for field in fields(self)]
        pieces = [_HEADER.pack(_MAGIC, VERSION, len(arrays))]
        for array in arrays:
            shape = (*array.shape, 0)[:2]
            pieces.append(_SHAPE.pack(array.dtype.kind.encode(), array.dtype.itemsize, array.ndim, *shape))
            pieces.append(np.ascontiguousarray(array).tobytes())
        return b"".join(pieces)

    @staticmethod
    def from_bytes(data: bytes) -> MatcherState:
        """Raises STATE_FORMAT for bytes that another version wrote. `matcher_state_checks.py` checks the numbers."""
        magic, version, count = _HEADER.unpack_from(data) if len(data) >= _HEADER.size else (b"", 0, 0)
        if (magic, version, count) != (_MAGIC, VERSION, len(fields(MatcherState))):
            raise damaged(PARTIAL_MATCHES, "they have a format that this version doesn't read")
        arrays, at = [], _HEADER.size
        with reading(PARTIAL_MATCHES):
            for _ in range(count):
                kind, size, dimensions, rows, columns = _SHAPE.unpack_from(data, at)
                shape = (rows, columns)[:dimensions]
                dtype = np.dtype(f"{kind.decode()}{size}")
                at += _SHAPE.size
                arrays.append(np.frombuffer(data, dtype, math.prod(shape), at).reshape(shape).copy())
                at += arrays[-1].nbytes
        if at != len(data):
            raise damaged(PARTIAL_MATCHES, "they go on behind their end")
        return MatcherState(*arrays)


# --- out of a run -----------------------------------------------------------------------------------------------------

_ANCESTRY, _LINKS = (PARENT, SEGMENT, NODE, FIRST, STATUS), (ROW, LENGTH, TAG)
_STORED_PARENT, _STORED_SEGMENT, _STORED_NODE, _STORED_FIRST, _STORED_STATUS, _STORED_ROW = range(6)
_OF_ROWS = (_STORED_FIRST, _STORED_ROW)
_OF_PARTIAL_MATCHES = (_STORED_PARENT, _STORED_SEGMENT)


def kept_state(store: Store, positions: RowPositions, lists: Lists, samples: Samples, counters: Ints) -> MatcherState:
    """The partial matches of a store, without its free rows. `counters` as in MatcherState."""
    used = int(store.counts[USED])
    alive = np.flatnonzero(store.ancestry[:used, STATUS] != FREE)
    alive = alive[np.argsort(store.serial[alive], kind="stable")]
    ancestry = np.concatenate(
        [store.ancestry[alive][:, _ANCESTRY].astype(np.int64), store.links[alive][:, _LINKS]], axis=1
    )
    needed = _rows_needed(ancestry, positions.sequence, lists)
    new_row = np.full(len(positions.time) + 1, NOTHING, np.int64)  # the last entry is for NOTHING
    new_row[needed] = np.arange(len(needed))
    new_index = np.full(used + 1, NOTHING, np.int64)
    new_index[alive] = np.arange(len(alive))
    for column in _OF_ROWS:
        ancestry[:, column] = new_row[ancestry[:, column]]
    for column in _OF_PARTIAL_MATCHES:
        ancestry[:, column] = new_index[ancestry[:, column]]
    return MatcherState(
        ancestry=ancestry,
        masks=store.masks[alive],
        features=store.features[alive],
        nulls=store.nulls[alive],
        registers=new_row[store.registers[alive]],
        int_totals=store.int_totals[alive],
        real_totals=store.real_totals[alive],
        sampled=samples.values,
        sample_counts=samples.counts,
        counters=counters,
        rows_needed=needed,
    )


def _rows_needed(ancestry: Ints, sequence: Ints, lists: Lists) -> Ints:
    """The rows of partial matches. Of sequences that have partial matches, also the last row, and the last rows of each
    absence."""
    needed = np.zeros(len(sequence) + 1, np.bool_)  # the last entry is for NOTHING
    needed[ancestry[:, _STORED_ROW]] = True
    sequences = np.unique(sequence[ancestry[ancestry[:, _STORED_STATUS] == LISTED, _STORED_ROW]])
    needed[lists.last_row[sequences]] = True
    needed[lists.absent[sequences]] = True
    needed[lists.absent_before[sequences]] = True
    if lists.absent_by_row.shape[1]:
        needed[lists.absent_by_row[ancestry[:, _STORED_FIRST]]] = True
    return np.flatnonzero(needed[:-1])


# --- into a run -------------------------------------------------------------------------------------------------------


def restored_store(
    state: MatcherState, plan: PlanTables, positions: RowPositions, lists: Lists, shape: StoreShape
) -> Store:
    """The store as it was, over the rows of this call. Fills the heads of `lists`. Classes are set later."""
    ancestry = state.ancestry
    count = len(ancestry)
    room = max(FIRST_ROOM, 1 << (2 * count - 1).bit_length()) if count else FIRST_ROOM
    store = new_store(room, shape)
    for after, before in zip(_columns(store), _columns(state), strict=True):
        after[tuple(slice(0, size) for size in before.shape)] = before
    store.ancestry[:count, _ANCESTRY] = ancestry[:, : len(_ANCESTRY)]
    store.links[:count, _LINKS] = ancestry[:, len(_ANCESTRY) :]
    store.serial[:count] = np.arange(count) - count  # below the numbers of new partial matches
    store.counts[USED], store.counts[SERIAL] = count, state.counters[0]
    for linked in (ancestry[:, _STORED_PARENT], ancestry[:, _STORED_SEGMENT]):
        np.add.at(store.ancestry[:, CHILDREN], linked[linked >= 0], 1)
    store.links[:count, ORDER] = positions.order[ancestry[:, _STORED_ROW]]
    store.links[:count, LIMIT] = _limits(ancestry[:, _STORED_NODE], ancestry[:, _STORED_FIRST], plan.extents, positions)
    _link_lists(ancestry, plan.node_count, positions.sequence, store, lists)
    return store


def _columns(owner: Store | MatcherState) -> tuple[NDArray[np.generic], ...]:
    return owner.masks, owner.features, owner.nulls, owner.registers, owner.int_totals, owner.real_totals


def _limits(node: Ints, first: Ints, extents: ExtentTable, positions: RowPositions) -> Ints:
    """As `visits.limit_from`, for many."""
    position = np.where(extents.by_place[node], positions.place[first], positions.time[first])
    in_window = position // extents.slide[node] * extents.slide[node] + extents.length[node] - 1
    limits = np.where(extents.kind[node] == SPAN, position + extents.length[node], in_window)
    return np.where(extents.kind[node] == UNBOUNDED, NEVER_OVER, limits)


def _link_lists(ancestry: Ints, nodes: int, sequence: Ints, store: Store, lists: Lists) -> None:
    """Puts the partial matches into their lists, the newest first."""
    listed = np.flatnonzero(ancestry[:, _STORED_STATUS] == LISTED)[::-1]
    at = sequence[ancestry[listed, _STORED_ROW]] * nodes + ancestry[listed, _STORED_NODE]
    order = np.argsort(at, kind="stable")
    listed, at = listed[order], at[order]
    same = at[1:] == at[:-1]
    store.links[listed, NEXT] = np.append(np.where(same, listed[1:], NOTHING), NOTHING)[: len(listed)]
    store.links[listed, BEFORE] = np.insert(np.where(same, listed[:-1], NOTHING), 0, NOTHING)[: len(listed)]
    first = np.insert(~same, 0, True)[: len(listed)]
    lists.heads[at[first]] = listed[first]
