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
from ostinato.workloads.matcher.plan_events import Positions
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
    PLACE,
    ROW,
    SEGMENT,
    SERIAL,
    TAG,
    USED,
    Lists,
    Store,
    StoreShape,
    new_store,
)
from ostinato.workloads.matcher.visits import NEVER_OVER

Ints = NDArray[np.int64]
VERSION = 2
_MAGIC = b"OSBM"
_HEADER = struct.Struct("<4sHH")
_SHAPE = struct.Struct("<cBBqq")


@dataclass(frozen=True, slots=True)
class MatcherState:
    """Partial matches in the order in which they were made; PARENT and SEGMENT are indexes in that order."""

    kin: Ints
    """[PARENT, SEGMENT, NODE, FIRST, PLACE, ROW, LENGTH, TAG]"""
    masks: Ints
    features: NDArray[np.float64]
    nulls: NDArray[np.uint8]
    registers: Ints
    whole: Ints
    real: NDArray[np.float64]
    sampled: NDArray[np.float64]
    seen: Ints
    counters: Ints
    """Partial matches that were ever made, matched rows of the stream, rows since the last sweep, and partial matches
    that it left."""
    rows_needed: Ints
    """Rows of the call that gave this state, in their order: the history of the next call."""

    def to_bytes(self) -> bytes:
        arrays = [getattr(self, field.name) for field in fields(self)]
        parts = [_HEADER.pack(_MAGIC, VERSION, len(arrays))]
        for array in arrays:
            shape = (*array.shape, 0)[:2]
            parts.append(_SHAPE.pack(array.dtype.kind.encode(), array.dtype.itemsize, array.ndim, *shape))
            parts.append(np.ascontiguousarray(array).tobytes())
        return b"".join(parts)

    @staticmethod
    def from_bytes(data: bytes) -> MatcherState:
        """Raises STATE_FORMAT for bytes that another version wrote. `matcher_state_checks.py` looks at the numbers."""
        what = "the partial matches in the state of this workload"
        magic, version, count = _HEADER.unpack_from(data) if len(data) >= _HEADER.size else (b"", 0, 0)
        if (magic, version, count) != (_MAGIC, VERSION, len(fields(MatcherState))):
            raise damaged(what, "they have a format that this version doesn't read")
        arrays, at = [], _HEADER.size
        with reading(what):
            for _ in range(count):
                kind, size, dimensions, rows, columns = _SHAPE.unpack_from(data, at)
                shape = (rows, columns)[:dimensions]
                dtype = np.dtype(f"{kind.decode()}{size}")
                at += _SHAPE.size
                arrays.append(np.frombuffer(data, dtype, math.prod(shape), at).reshape(shape).copy())
                at += arrays[-1].nbytes
        if at != len(data):
            raise damaged(what, "they go on behind their end")
        return MatcherState(*arrays)


# --- out of a run -----------------------------------------------------------------------------------------------------

_KIN, _LINKS = (PARENT, SEGMENT, NODE, FIRST, PLACE), (ROW, LENGTH, TAG)
_KEPT_PARENT, _KEPT_SEGMENT, _KEPT_NODE, _KEPT_FIRST, _KEPT_PLACE, _KEPT_ROW = range(6)
_OF_ROWS = (_KEPT_FIRST, _KEPT_ROW)
_OF_PARTIAL_MATCHES = (_KEPT_PARENT, _KEPT_SEGMENT)


def kept_state(store: Store, positions: Positions, lists: Lists, samples: Samples, counters: Ints) -> MatcherState:
    """The partial matches of a store, without its free rows. `counters` as in MatcherState."""
    used = int(store.counts[USED])
    alive = np.flatnonzero(store.kin[:used, PLACE] != FREE)
    alive = alive[np.argsort(store.serial[alive], kind="stable")]
    kin = np.concatenate([store.kin[alive][:, _KIN].astype(np.int64), store.links[alive][:, _LINKS]], axis=1)
    needed = _rows_needed(kin, positions.sequence, lists)
    new_row = np.full(len(positions.time) + 1, NOTHING, np.int64)  # the last entry is for NOTHING
    new_row[needed] = np.arange(len(needed))
    new_place = np.full(used + 1, NOTHING, np.int64)
    new_place[alive] = np.arange(len(alive))
    for column in _OF_ROWS:
        kin[:, column] = new_row[kin[:, column]]
    for column in _OF_PARTIAL_MATCHES:
        kin[:, column] = new_place[kin[:, column]]
    return MatcherState(
        kin=kin,
        masks=store.masks[alive],
        features=store.features[alive],
        nulls=store.nulls[alive],
        registers=new_row[store.registers[alive]],
        whole=store.whole[alive],
        real=store.real[alive],
        sampled=samples.values,
        seen=samples.seen,
        counters=counters,
        rows_needed=needed,
    )


def _rows_needed(kin: Ints, sequence: Ints, lists: Lists) -> Ints:
    """The rows of partial matches. Of sequences that have partial matches, also the last row, and the last rows of each
    absence."""
    needed = np.zeros(len(sequence) + 1, np.bool_)  # the last entry is for NOTHING
    needed[kin[:, _KEPT_ROW]] = True
    sequences = np.unique(sequence[kin[kin[:, _KEPT_PLACE] == LISTED, _KEPT_ROW]])
    needed[lists.last_row[sequences]] = True
    needed[lists.absent[sequences]] = True
    needed[lists.absent_before[sequences]] = True
    if lists.absent_seen.shape[1]:
        needed[lists.absent_seen[kin[:, _KEPT_FIRST]]] = True
    return np.flatnonzero(needed[:-1])


# --- into a run -------------------------------------------------------------------------------------------------------


def restored_store(
    state: MatcherState, plan: PlanTables, positions: Positions, lists: Lists, shape: StoreShape
) -> Store:
    """The store as it was, over the rows of this call. Fills the heads of `lists`. Classes are set later."""
    kin = state.kin
    count = len(kin)
    room = max(FIRST_ROOM, 1 << (2 * count - 1).bit_length()) if count else FIRST_ROOM
    store = new_store(room, shape)
    for after, before in zip(_columns(store), _columns(state), strict=True):
        after[tuple(slice(0, size) for size in before.shape)] = before
    for place, column in enumerate(_KIN):
        store.kin[:count, column] = kin[:, place]
    for place, column in enumerate(_LINKS):
        store.links[:count, column] = kin[:, len(_KIN) + place]
    store.serial[:count] = np.arange(count) - count  # before all that are still to be made
    store.counts[USED], store.counts[SERIAL] = count, state.counters[0]
    for linked in (kin[:, _KEPT_PARENT], kin[:, _KEPT_SEGMENT]):
        np.add.at(store.kin[:, CHILDREN], linked[linked >= 0], 1)
    store.links[:count, ORDER] = positions.order[kin[:, _KEPT_ROW]]
    store.links[:count, LIMIT] = _limits(kin[:, _KEPT_NODE], kin[:, _KEPT_FIRST], plan.extents, positions)
    _link_lists(kin, plan.node_count, positions.sequence, store, lists)
    return store


def _columns(of: Store | MatcherState) -> tuple[NDArray[np.generic], ...]:
    return of.masks, of.features, of.nulls, of.registers, of.whole, of.real


def _limits(node: Ints, first: Ints, extents: ExtentTable, positions: Positions) -> Ints:
    """As `visits.limit_from`, for many."""
    position = np.where(extents.by_place[node], positions.place[first], positions.time[first])
    in_window = position // extents.slide[node] * extents.slide[node] + extents.length[node] - 1
    limits = np.where(extents.kind[node] == SPAN, position + extents.length[node], in_window)
    return np.where(extents.kind[node] == UNBOUNDED, NEVER_OVER, limits)


def _link_lists(kin: Ints, nodes: int, sequence: Ints, store: Store, lists: Lists) -> None:
    """Puts the partial matches into their lists, the newest first."""
    listed = np.flatnonzero(kin[:, _KEPT_PLACE] == LISTED)[::-1]
    at = sequence[kin[listed, _KEPT_ROW]] * nodes + kin[listed, _KEPT_NODE]
    order = np.argsort(at, kind="stable")
    listed, at = listed[order], at[order]
    same = at[1:] == at[:-1]
    store.links[listed, NEXT] = np.append(np.where(same, listed[1:], NOTHING), NOTHING)[: len(listed)]
    store.links[listed, BEFORE] = np.insert(np.where(same, listed[:-1], NOTHING), 0, NOTHING)[: len(listed)]
    first = np.insert(~same, 0, True)[: len(listed)]
    lists.heads[at[first]] = listed[first]
