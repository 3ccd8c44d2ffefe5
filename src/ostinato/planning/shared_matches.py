"""TypedEventsPlan -> which RETURN MATCHES queries the shared matcher runs together, and why the others not.

Without a bound that is a question of cost, with one there is no other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.errors import QueryError
from ostinato.planning.bounded_plan import BoundedPrograms, bounded_programs
from ostinato.planning.event_types import TypedEventsPlan
from ostinato.sharing.bounds import Bounds
from ostinato.sharing.merged_plan import MergedPlan, merge

FEWEST_TO_SHARE = 8
"""Without a bound, each state has to stand for so many on average before the matcher, which makes every partial match,
is expected to beat the enumerator, which makes only those that complete (benchmarks/bounded)."""

NOT_SHARED = 'sharing="never"'
TOO_LITTLE = "too little is shared: making only what completes costs less"


@dataclass(frozen=True, slots=True)
class SharedGroup:
    """Queries of one stream that one engine matches; pattern p of the merged plan is that of `queries[p]`."""

    stream: int
    queries: tuple[int, ...]
    merged: MergedPlan


@dataclass(frozen=True, slots=True)
class SharedMatches:
    """What the matcher runs, and for every other query that returns matches why the enumerator does."""

    groups: tuple[SharedGroup, ...]
    declined: Mapping[int, str]


def shared_matches(
    typed: TypedEventsPlan,
    names: Sequence[str],
    sharing: str,
    bounds: Bounds | None,
    *,
    carried: frozenset[int] = frozenset(),
) -> SharedMatches:
    """`bounds` has an entry for each query; None: nothing is bounded. `carried` run on the matcher whatever it costs.

    Raises BOUND_NOT_SUPPORTED for a query that has a bound and that the matcher doesn't take.
    """
    plan = typed.plan
    found = bounded_programs(typed, names)
    declined = {i: why for i, why in found.declined.items() if plan.queries[i].returns_matches}
    forced = carried | (frozenset() if bounds is None else _bounded(typed, bounds, found))
    groups = []
    for stream in range(len(plan.streams)):
        able = tuple(i for i in plan.queries_of(stream) if i in found.programs)
        wanted = tuple(i for i in able if i in forced)
        if sharing != "never" and (wanted or sharing == "always" or _pays(able, found)):
            wanted = able
        declined.update({i: NOT_SHARED if sharing == "never" else TOO_LITTLE for i in able if i not in wanted})
        if wanted:
            merged = merge([found.programs[i] for i in wanted], separate=sharing == "never")
            groups.append(SharedGroup(stream, wanted, merged))
    return SharedMatches(tuple(groups), declined)


def _bounded(typed: TypedEventsPlan, bounds: Bounds, found: BoundedPrograms) -> frozenset[int]:
    bounded = frozenset(i for i, is_bounded in enumerate(bounds.bounded) if is_bounded)
    for query in sorted(bounded - set(found.programs)):
        raise QueryError(
            "BOUND_NOT_SUPPORTED",
            f"query '{bounds.names[query]}' can't be bounded: {found.declined[query]}",
            text=typed.plan.queries[query].bound.query.text,
            hint="bound the others only, with latency_bound={name: ...}, or run it in a workload of its own",
        )
    return bounded


def _pays(able: Sequence[int], found: BoundedPrograms) -> bool:
    """Whether the matcher is expected to be faster than enumerating the queries one by one."""
    if len(able) < 2:
        return False
    merged = merge([found.programs[i] for i in able])
    return merged.states_apart >= FEWEST_TO_SHARE * (len(merged.nodes) - 1)
