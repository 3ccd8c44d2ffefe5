"""Bound event queries -> which of them travel together: by what their rows are brought together, and how they run."""

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


class ShuffleKey(NamedTuple):
    """Queries with equal ones travel together."""

    group: tuple[str, ...]
    by_same: bool = False
    same: tuple[str, ...] = ()
    time: str = ""
    carried: bool = False
    """In a stream: whether partial matches are carried on, and matches leave as they complete."""


def shuffle_key(bound: BoundEventQuery) -> ShuffleKey:
    """In a batch: by group, or where there is none by the values of SAME."""
    group = tuple(sorted(bound.group_by))
    counts_events = isinstance(bound.query.bound, EventSpan | EventWindows)
    by_same = not group and bool(bound.same) and not counts_events
    if not by_same or isinstance(bound.query.returns, ReturnMatches):
        return ShuffleKey(group)
    return ShuffleKey(group, True, tuple(sorted(bound.same)))


def stream_key(bound: BoundEventQuery, *, is_bounded: bool) -> ShuffleKey:
    """In a stream, whose operators carry on one set of sequences each: by group, SAME and time."""
    carried = isinstance(bound.query.returns, ReturnMatches) and (is_bounded or _is_carried(bound))
    return ShuffleKey(tuple(sorted(bound.group_by)), False, tuple(sorted(set(bound.same))), bound.time, carried)


def _is_carried(bound: BoundEventQuery) -> bool:
    """Whether a match is known when its last event is: no window to wait for, and the shared matcher takes it."""
    if not isinstance(bound.query.bound, TimeSpan | EventSpan):
        return False
    from ostinato.workloads.plan.event_programs import why_declined  # loads kernels

    return why_declined(plan_events([bound]).queries[0]) is None
