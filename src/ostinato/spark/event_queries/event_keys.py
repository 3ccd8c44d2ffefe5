"""Bound event query -> its shuffle key. Queries with the same key share a shuffle, or an operator of a stream."""

from __future__ import annotations

from typing import NamedTuple

from ostinato.event_queries.language.event_query import (
    BoundEventQuery,
    EventSpan,
    EventWindows,
    ReturnMatches,
    TimeSpan,
)
from ostinato.event_queries.plan.event_plan import plan_events
from ostinato.workloads.plan.event_programs import why_declined


class ShuffleKey(NamedTuple):
    """The key of a query."""

    group: tuple[str, ...]
    by_same: bool = False
    same: tuple[str, ...] = ()
    time: str = ""
    carried: bool = False
    """In a stream: whether partial matches are carried from batch to batch. Then matches are returned at once."""


def shuffle_key(bound: BoundEventQuery) -> ShuffleKey:
    """In a batch: GROUP BY, or SAME if there is no group."""
    group = tuple(sorted(bound.group_by))
    counts_events = isinstance(bound.query.bound, EventSpan | EventWindows)
    by_same = not group and bool(bound.same) and not counts_events
    if not by_same or isinstance(bound.query.returns, ReturnMatches):
        return ShuffleKey(group)
    return ShuffleKey(group, True, tuple(sorted(bound.same)))


def stream_key(bound: BoundEventQuery, *, is_bounded: bool) -> ShuffleKey:
    """In a stream: GROUP BY, SAME and TIME, because an operator carries one set of sequences."""
    carried = isinstance(bound.query.returns, ReturnMatches) and (is_bounded or _is_carried(bound))
    return ShuffleKey(tuple(sorted(bound.group_by)), False, tuple(sorted(set(bound.same))), bound.time, carried)


def _is_carried(bound: BoundEventQuery) -> bool:
    """Whether a match is complete with its last event: it waits for no window, and the shared matcher supports it."""
    if not isinstance(bound.query.bound, TimeSpan | EventSpan):
        return False
    return why_declined(plan_events([bound]).queries[0]) is None
