"""The RETURN MATCHES queries of a plan that the shared matcher runs, and their matches.

In: a typed plan, the bounds, and the events of one stream. Out: the matches of each query, and a report of the losses.
Without a bound the matches are exactly those of the enumerator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ostinato.calls.bounds import Bounds
from ostinato.errors import MatchError
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.event_queries.task.shared_matching import NOTHING_SHARED, SharedQueryMatches
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.plan.event_groups import SharedGroup, shared_groups
from ostinato.workloads.plan.plan_lowering import lower_plan

if TYPE_CHECKING:
    from ostinato.event_queries.task.match_columns import Scene
    from ostinato.workloads.shedding.bounded_engine import BoundedEngine


ENUMERATED_AFTER_ALL = "queries enumerated after all"
"""Name of a statistic: queries whose shared state grew too large."""


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """Queries of one stream that one engine matches. Values only: it is sent to workers."""

    group: SharedGroup
    conditions: PlanConditions
    bounds: Bounds | None
    """None: exact."""
    request: BoundRequest
    limits: MatchLimits

    @property
    def queries(self) -> tuple[int, ...]:
        """Their numbers in the events plan."""
        return self.group.queries

    def for_buckets(self, buckets: int) -> SharedPlan:
        """Splits the budget of a micro-batch among its buckets."""
        return self if self.bounds is None else replace(self, bounds=self.bounds.split(1, buckets))

    def engine(self) -> BoundedEngine:
        from ostinato.workloads.shedding.bounded_engine import BoundedEngine  # loads its kernels

        clock = self.request.new_clock()
        return BoundedEngine(self.group.merged, self.conditions, self.bounds, clock=clock, limits=self.limits)


@dataclass(frozen=True, slots=True)
class SharedPlans:
    """The plans that the matcher runs, and for every other query that returns matches the reason why it doesn't."""

    plans: tuple[SharedPlan, ...]
    declined: Mapping[int, str]
    keys: tuple[tuple[str, ...], ...] = ()
    """[stream] the columns that tell its sequences apart."""

    def find(self, stream: int, scene: Scene, statistics: Counter[str]) -> SharedQueryMatches:
        """The matches of a stream's shared queries; NOTHING_SHARED if the enumerator has to run them."""
        plan = self.of_stream(stream)
        if plan is None:
            return NOTHING_SHARED
        most_held = plan.group.most_held
        if most_held is None:
            return find_shared_matches(plan, scene, self.keys[stream])
        limits = replace(plan.limits, max_partial_matches=min(plan.limits.max_partial_matches, most_held))
        try:
            return find_shared_matches(replace(plan, limits=limits), scene, self.keys[stream])
        except MatchError:
            # The enumerator makes only partial matches that may complete, so it may succeed.
            statistics[ENUMERATED_AFTER_ALL] += len(plan.queries)
            return NOTHING_SHARED

    def of_stream(self, stream: int) -> SharedPlan | None:
        return next((plan for plan in self.plans if plan.group.stream == stream), None)


def shared_plans(
    typed: TypedEventsPlan,
    names: Sequence[str],
    sharing: str,
    request: BoundRequest,
    limits: MatchLimits,
    *,
    carried: frozenset[int] = frozenset(),
) -> SharedPlans:
    """The engines of a plan's queries, which share a task's memory and budget; raises as `shared_groups` does."""
    bounds = None if request.is_empty else request.bounds(names)
    shared = shared_groups(typed, names, sharing, bounds, carried=carried)
    plans = []
    for group in shared.groups:
        conditions = lower_plan(group.merged, typed.input_types.__getitem__, typed.settings, typed.plan.values)
        own = None if bounds is None else bounds.of(group.queries).split(len(shared.groups))
        plans.append(SharedPlan(group, conditions, None if own is None or own.is_none else own, request, limits))
    keys = tuple(tuple(stream.keys) for stream in typed.plan.streams)
    return SharedPlans(tuple(plans), shared.declined, keys)


def find_shared_matches(plan: SharedPlan, scene: Scene, keys: Sequence[str]) -> SharedQueryMatches:
    """Matches all events of a stream at once. `keys`: the columns that tell its sequences apart."""
    from ostinato.workloads.task.arrival_rows import arrive, numbers_of  # loads kernels

    arrival = arrive(scene, keys)
    step = plan.engine().advance(arrival.plan_events(numbers_of(scene.events)), None, finished=True)
    matches = {query: arrival.matches(of_pattern) for query, of_pattern in zip(plan.queries, step.matches, strict=True)}
    return SharedQueryMatches(matches, step.report)
