"""Kernels over all rows of the history, or over all partial matches."""

from __future__ import annotations

import numpy as np

from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel, inline_kernel
from ostinato.workloads.matcher.births import class_of
from ostinato.workloads.matcher.store import (
    CLASS,
    LIMIT,
    LISTED,
    NODE,
    ROW,
    STATUS,
    USED,
    note_absences,
    note_row,
    remove,
)
from ostinato.workloads.matcher.visits import age_at, apply_masks, is_dead_end


@inline_kernel
def now_for(pm, row, plan, positions, store, lists):  # type: ignore[no-untyped-def]
    """Current position of the sequence of `pm`. If positions count events, the number of the sequence's last row."""
    if plan.extents.by_place[store.ancestry[pm, NODE]]:
        return positions.place[lists.last_row[positions.sequence[store.links[pm, ROW]]]]
    return positions.time[row]


@called_kernel
def sweep(row, keep_masks, plan, positions, store, lists, ledger, ages):  # type: ignore[no-untyped-def]
    """Removes every partial match that has expired, or that the keep masks drop at its age."""
    links, ancestry, nodes = store.links, store.ancestry, len(plan.extents.by_place)
    for pm in range(store.counts[USED]):
        if ancestry[pm, STATUS] == LISTED:
            node, of_class = np.int64(ancestry[pm, NODE]), links[pm, CLASS]
            sequence, now = positions.sequence[links[pm, ROW]], now_for(pm, row, plan, positions, store, lists)
            is_alive = links[pm, LIMIT] >= now and not is_dead_end(
                node, links[pm, ROW], sequence, plan.gaps, positions, lists
            )
            if is_alive and keep_masks.restricted[node]:
                slot = of_class * ages + age_at(node, links[pm, LIMIT], now, plan.extents, ages)
                is_alive = apply_masks(pm, slot, of_class, keep_masks, links, store.masks, ledger.dropped)
            if not is_alive:
                ledger.live[of_class] -= 1
                remove(pm, sequence * nodes + node, links, ancestry, lists.heads, store.free, store.counts)


@borrowing_kernel
def slots_now(pms, row, plan, positions, store, lists, ages, slots):  # type: ignore[no-untyped-def]
    """The slot of each of `pms` after the row. Expired ones have the last age."""
    for i in range(len(pms)):
        pm = pms[i]
        now = now_for(pm, row, plan, positions, store, lists)
        age = age_at(np.int64(store.ancestry[pm, NODE]), store.links[pm, LIMIT], now, plan.extents, ages)
        slots[i] = store.links[pm, CLASS] * ages + age


@borrowing_kernel
def evict(pms, slots, positions, store, lists, ledger, nodes):  # type: ignore[no-untyped-def]
    """Drops each of `pms`, now in `slots`, for all of its patterns."""
    links, ancestry = store.links, store.ancestry
    for i in range(len(pms)):
        pm = pms[i]
        ledger.evicted[slots[i]] += 1
        for word in range(store.masks.shape[1]):
            lost, pattern = np.uint64(store.masks[pm, word]), word * 64
            while lost != 0:
                if lost & np.uint64(1):
                    ledger.dropped[links[pm, CLASS], pattern] += 1
                lost >>= np.uint64(1)
                pattern += 1
        ledger.live[links[pm, CLASS]] -= 1
        list_index = positions.sequence[links[pm, ROW]] * nodes + ancestry[pm, NODE]
        remove(pm, list_index, links, ancestry, lists.heads, store.free, store.counts)


@borrowing_kernel
def note_rows(end, positions, fulfilled, absence_of, lists):  # type: ignore[no-untyped-def]
    """Notes the rows of the history that the new rows depend on."""
    for row in range(end):
        note_absences(row, positions, lists)
        note_row(row, positions, fulfilled, absence_of, lists)


@borrowing_kernel
def classify(pms, ancestry, features, nulls, buckets, links):  # type: ignore[no-untyped-def]
    """Sets the class of each of `pms`."""
    for pm in pms:
        links[pm, CLASS] = class_of(pm, ancestry[pm, NODE], features, nulls, buckets)
