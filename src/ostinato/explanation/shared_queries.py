"""TypedEventsPlan -> the RETURN MATCHES queries that the shared matcher runs together, on a batch or on a stream.

On a stream, only the shared matcher carries partial matches from one micro-batch to the next. It runs the queries with
a bound, and the queries whose matches are final with their last event. Queries that wait for the end of a window run in
an operator of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ostinato.calls.bounds import Bounds
from ostinato.event_queries.plan.event_program import BoundKind
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.workloads.merging.merged_plan import merge
from ostinato.workloads.plan.event_groups import SharedGroups, shared_groups
from ostinato.workloads.plan.event_programs import bounded_programs

WAITS = "on a stream its matches are emitted at the end of their window, those of the others with their last event"


def shared_queries(
    typed: TypedEventsPlan, names: Sequence[str], sharing: str, bounds: Bounds | None, *, on_stream: bool = False
) -> SharedGroups:
    """`bounds` has an entry for each query; None if no query has a bound. Raises the errors of `shared_groups`."""
    if not on_stream:
        return shared_groups(typed, names, sharing, bounds)
    programs = bounded_programs(typed, names, bounds).programs
    carried = frozenset(i for i in programs if _is_carried(typed, i) or (bounds is not None and bounds.bounded[i]))
    shared = shared_groups(typed, names, sharing, bounds, carried=carried)
    groups, waiting = [], []
    for group in shared.groups:
        together = tuple(i for i in group.queries if i in carried)
        if together in ((), group.queries):
            groups.append(group)
        else:
            merged = merge([programs[i] for i in together], separate=sharing == "never")
            groups.append(replace(group, queries=together, merged=merged))
            waiting += [i for i in group.queries if i not in carried]
    return SharedGroups(tuple(groups), {**shared.declined, **dict.fromkeys(waiting, WAITS)})


def _is_carried(typed: TypedEventsPlan, query: int) -> bool:
    """Whether a match is final with its last event."""
    plan = typed.plan.queries[query]
    return plan.returns_matches and plan.programs[0].extent.kind is BoundKind.SPAN
