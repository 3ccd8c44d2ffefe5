"""The RETURN MATCHES queries of a plan that the shared matcher takes, ready to run; and their matches.

In: a typed plan, what is bounded, and the events of one stream. Out: for each of its queries the matches, and a report
of what was given up. Without a bound the matches are exactly those of the enumerator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ostinato.matching.event_matches import EventMatches, MatchLimits
from ostinato.planning.bounded_conditions import lower_plan
from ostinato.planning.event_types import TypedEventsPlan
from ostinato.planning.shared_matches import SharedGroup, shared_matches
from ostinato.runtimes.bounded_options import BoundRequest
from ostinato.runtimes.task.bounded_rows import arrive, numbering_of
from ostinato.runtimes.task.trend_matches import Scene
from ostinato.sharing.bounds import Bounds
from ostinato.sharing.plan_conditions import PlanConditions

if TYPE_CHECKING:
    from ostinato.techniques.bounded_latency.engine import BoundedEngine
    from ostinato.techniques.bounded_latency.report import Report


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """Queries of one stream that one engine matches. Values only: sent to workers."""

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
        """The budget of a micro-batch is shared by its buckets."""
        return self if self.bounds is None else replace(self, bounds=self.bounds.split(1, buckets))

    def engine(self) -> BoundedEngine:
        from ostinato.techniques.bounded_latency.engine import BoundedEngine  # loads its kernels

        return BoundedEngine(
            self.group.merged,
            self.conditions,
            self.bounds,
            policy=self.request.shedding,
            clock=self.request.new_clock(),
            limits=self.limits,
            materialise=self.request.state,
        )


@dataclass(frozen=True, slots=True)
class SharedPlans:
    """What the matcher runs, and for every other query that returns matches why the enumerator does."""

    plans: tuple[SharedPlan, ...]
    declined: Mapping[int, str]

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
    """The engines of a plan's queries, which share a task's memory and budget; raises as `shared_matches` does."""
    bounds = None if request.is_empty else request.bounds(names)
    found = shared_matches(typed, names, sharing, bounds, carried=carried)
    plans = []
    for group in found.groups:
        conditions = lower_plan(group.merged, typed.input_types.__getitem__, typed.settings, typed.plan.values)
        mine = None if bounds is None else bounds.of(group.queries).split(len(found.groups))
        plans.append(SharedPlan(group, conditions, None if mine is None or mine.is_none else mine, request, limits))
    return SharedPlans(tuple(plans), found.declined)


@dataclass(frozen=True, slots=True)
class SharedFound:
    """For each query of the shared plan its matches, and what was given up where it is bounded."""

    matches: Mapping[int, EventMatches]
    report: Report | None


NOTHING_SHARED = SharedFound({}, None)


def find_shared_matches(plan: SharedPlan, scene: Scene, keys: Sequence[str]) -> SharedFound:
    """All events of a stream at once; `keys` are the columns that tell its sequences apart."""
    arrival = arrive(scene, keys)
    step = plan.engine().advance(arrival.plan_events(numbering_of(scene.events)), None, finished=True)
    matches = {query: arrival.matches(found) for query, found in zip(plan.queries, step.matches, strict=True)}
    return SharedFound(matches, step.report)
