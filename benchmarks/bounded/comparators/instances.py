"""Partial matches that copy all of their rows (the paper's instance), in place of links (its view).

A partial match is kept for all of its patterns or for none. Its rows are read from the copy when it becomes a match;
its labels are still those of its ancestors. Nothing is carried from one call to the next.
"""

from __future__ import annotations

import zlib
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel, interpreted
from ostinato.workloads.matcher.ledger import Buckets
from ostinato.workloads.matcher.matcher_kernels import NO_CONDITIONS, RUN_CONDITIONS, build_matcher, with_globals
from ostinato.workloads.matcher.matcher_run import MatcherRun
from ostinato.workloads.matcher.matcher_state import MatcherState
from ostinato.workloads.matcher.materialise import MATCH_ROWS, MATCHES
from ostinato.workloads.matcher.outcomes import FINISHED, STOPPED, lacks_room, list_new_match
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.matcher.shared_matcher import SharedMatcher
from ostinato.workloads.matcher.store import LENGTH, NODE, PARENT, ROW, SEGMENT, TAG, Store, older, older_than_new
from ostinato.workloads.matcher.upkeep import sweep
from ostinato.workloads.matcher.visits import apply_masks
from ostinato.workloads.merging.merged_plan import MergedPlan
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.shedding.bounded_engine import BoundedEngine

FIRST_LENGTH = 8
MORE_LENGTH = STOPPED + 1
"""The kernel returns it where a copy has more rows than there are columns for."""


class InstanceStore(namedtuple("InstanceStore", (*Store._fields, "rows"))):
    """A `Store` with one more array: [partial match, place] all of its rows."""

    __slots__ = ()

    @property
    def room(self) -> int:
        return len(self.links)


class InstanceEngine(BoundedEngine):
    """A bounded engine whose partial matches copy their rows."""

    def __init__(self, plan: MergedPlan, conditions: PlanConditions | None, *arguments: Any, **options: Any) -> None:
        super().__init__(plan, conditions, *arguments, **options)
        links = self.matcher
        self.matcher = InstanceMatcher(plan, conditions, limits=links.limits, ages=links.ages, counting=links.counting)


class InstanceMatcher(SharedMatcher):
    def __init__(self, plan: MergedPlan, conditions: PlanConditions | None, **options: Any) -> None:
        super().__init__(plan, conditions, **options)
        self.kernel = advance_checked_instances if conditions else advance_plain_instances

    def begin(self, events: PlanEvents, state: MatcherState | None, buckets: Buckets) -> InstanceRun:
        if state is not None:
            raise ValueError("copies of rows aren't kept between calls")
        return InstanceRun(self, events, None, buckets)


class InstanceRun(MatcherRun):
    def __init__(self, matcher: SharedMatcher, events: PlanEvents, state: None, buckets: Buckets) -> None:
        super().__init__(matcher, events, state, buckets)
        self.store: Any = InstanceStore(*self.store, np.zeros((self.store.room, FIRST_LENGTH), np.int32))

    def _make_room(self, status: int, most_live: int) -> None:
        if status != MORE_LENGTH:
            super()._make_room(status, most_live)
            return
        rows = self.store.rows
        self.store = self.store._replace(rows=np.concatenate([rows, np.zeros_like(rows)], axis=1))


# --- kernels ----------------------------------------------------------------------------------------------------------


@inline_kernel
def obey_for_all(pm, slot, of_class, keep_masks, links, masks, dropped):  # type: ignore[no-untyped-def]
    """A partial match that the keep masks keep for some of its patterns is kept for all of them."""
    which = 0 if links[pm, TAG] < keep_masks.threshold[slot] else 1
    for word in range(masks.shape[1]):
        if (masks[pm, word] & keep_masks.masks[which, slot, word]) != 0:
            return True
    return apply_masks(pm, slot, of_class, keep_masks, links, masks, dropped)


keep_for_all = inline_kernel(with_globals(interpreted(list_new_match), apply_masks=obey_for_all))
sweep_instances = called_kernel(with_globals(interpreted(sweep), apply_masks=obey_for_all))


@inline_kernel
def keep_copy(new, node, row, position, at, keep_masks, plan, store, lists, ledger, rules):  # type: ignore[no-untyped-def]
    is_kept = keep_for_all(new, node, row, position, at, keep_masks, plan, store, lists, ledger, rules)
    if is_kept:
        copy_rows(new, row, store.links, store.ancestry, store.rows)
    return is_kept


@inline_kernel
def lacks_room_for_copy(pm, segment, ends, links, buffer, store):  # type: ignore[no-untyped-def]
    status = lacks_room(pm, segment, ends, links, buffer, store)
    if status != FINISHED:
        return status
    length = np.int64(1) if segment < 0 else links[segment, LENGTH]
    if pm >= 0:
        length += links[pm, LENGTH]
    return MORE_LENGTH if store.rows.shape[1] < length else FINISHED


@inline_kernel
def copy_rows(new, row, links, ancestry, rows):  # type: ignore[no-untyped-def]
    """Copies all rows of a new partial match."""
    source, segment = np.int64(ancestry[new, PARENT]), np.int64(ancestry[new, SEGMENT])
    at = np.int64(0)
    if source >= 0:
        for i in range(links[source, LENGTH]):
            rows[new, i] = rows[source, i]
        at = links[source, LENGTH]
    if segment >= 0:
        for i in range(links[segment, LENGTH]):
            rows[new, at + i] = rows[segment, i]
    else:
        rows[new, at] = row


@inline_kernel
def write_copied_match(pattern, pm, segment, row, label, labels, store, buffer):  # type: ignore[no-untyped-def]
    """As `materialise.write_match`, with the rows of `pm` read from its copy."""
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
        buffer.rows[index] = store.rows[pm, index - first] if segment < 0 else links[at, ROW]
        buffer.labels[index] = labels[ancestry[at, NODE]]
        at, waiting = older(at, waiting, ancestry)
    buffer.pattern[match] = pattern
    buffer.at[match + 1] = first + length
    buffer.counts[MATCHES], buffer.counts[MATCH_ROWS] = match + 1, first + length


_REPLACED = {
    "apply_masks": obey_for_all,
    "list_new_match": keep_copy,
    "lacks_room": lacks_room_for_copy,
    "sweep": sweep_instances,
    "write_match": write_copied_match,
}
_SOURCE = zlib.crc32(Path(__file__).read_bytes())
"""Part of the kernels' names. The cache of kernels looks at the package's sources only, and this file isn't one."""
advance_plain_instances = build_matcher(f"advance_plain_instances_{_SOURCE}", NO_CONDITIONS, **_REPLACED)
advance_checked_instances = build_matcher(f"advance_checked_instances_{_SOURCE}", RUN_CONDITIONS, **_REPLACED)
