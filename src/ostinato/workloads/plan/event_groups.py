"""TypedEventsPlan -> groups of RETURN MATCHES queries that the shared matcher runs together, and why others run alone.

Queries with a bound always run on the shared matcher. Without a bound, queries that share a state run there together.
While their state is small, that takes about as long as enumerating two of them, however many there are. With many
partial matches the enumerator is faster, since it makes only those that complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.calls.bounds import Bounds
from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.workloads.merging.merged_plan import MergedPlan, merge
from ostinato.workloads.plan.event_programs import BoundedPrograms, bounded_programs

MOST_HELD_A_QUERY = 1 << 16
"""Partial matches per query up to which sharing by choice is tried. Two queries with 100,000 partial matches together
are still faster on the shared matcher: it takes two thirds of the time. With 1,000,000 it takes five times as long."""

NOT_SHARED = 'sharing="never"'
NOTHING_IN_COMMON = "no other query has a state in common with it"


@dataclass(frozen=True, slots=True)
class SharedGroup:
    """Queries of one stream that one engine matches. Pattern p of the merged plan is `queries[p]`."""

    stream: int
    queries: tuple[int, ...]
    merged: MergedPlan
    by_choice: bool
    """Whether the enumerator may also run them: there is no bound, and sharing isn't forced."""

    @property
    def most_held(self) -> int | None:
        """For sharing by choice: with more partial matches at one time, each query is enumerated alone."""
        return MOST_HELD_A_QUERY * len(self.queries) if self.by_choice else None


@dataclass(frozen=True, slots=True)
class SharedGroups:
    """The groups that the matcher runs, and for every other query that returns matches the reason why it doesn't."""

    groups: tuple[SharedGroup, ...]
    declined: Mapping[int, str]


def shared_groups(
    typed: TypedEventsPlan,
    names: Sequence[str],
    sharing: str,
    bounds: Bounds | None,
    *,
    carried: frozenset[int] = frozenset(),
) -> SharedGroups:
    """`bounds` has an entry for each query; None: nothing is bounded. The queries in `carried` always run on the
    matcher.

    Raises BOUND_NOT_SUPPORTED for a query that has a bound and that the matcher doesn't take.
    """
    plan = typed.plan
    programs = bounded_programs(typed, names, bounds)
    declined = {i: why for i, why in programs.declined.items() if plan.queries[i].returns_matches}
    forced = carried | (frozenset() if bounds is None else _bounded(typed, bounds, programs))
    not_shared = NOT_SHARED if sharing == "never" else NOTHING_IN_COMMON
    groups = []
    for stream in range(len(plan.streams)):
        able = tuple(i for i in plan.queries_of(stream) if i in programs.programs)
        if sharing == "dynamic" and forced.isdisjoint(able):
            group = _by_choice(stream, able, programs)
        else:
            wanted = tuple(i for i in able if sharing != "never" or i in forced)
            merged = merge([programs.programs[i] for i in wanted], separate=sharing == "never")
            group = SharedGroup(stream, wanted, merged, by_choice=False)
        declined.update({i: not_shared for i in able if i not in group.queries})
        groups += [group] if group.queries else []
    return SharedGroups(tuple(groups), declined)


def _bounded(typed: TypedEventsPlan, bounds: Bounds, programs: BoundedPrograms) -> frozenset[int]:
    bounded = frozenset(i for i, is_bounded in enumerate(bounds.bounded) if is_bounded)
    for query in sorted(bounded - set(programs.programs)):
        raise QueryError(
            "BOUND_NOT_SUPPORTED",
            f"query '{bounds.names[query]}' can't be bounded: {programs.declined[query]}",
            text=typed.plan.queries[query].bound.query.text,
            hint="bound the others only, with latency_bound={name: ...}, or run it in a workload of its own",
        )
    return bounded


def _by_choice(stream: int, able: tuple[int, ...], programs: BoundedPrograms) -> SharedGroup:
    """The queries that share a state with another."""
    merged = merge([programs.programs[i] for i in able])
    wanted = tuple(able[pattern] for pattern in merged.sharing_patterns)
    if wanted != able:
        merged = merge([programs.programs[i] for i in wanted])
    return SharedGroup(stream, wanted, merged, by_choice=True)
