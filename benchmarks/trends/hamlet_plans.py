"""HAMLET, Section 4, as published: its two formulas for the costs of a burst, its search space of plans, its pruning
principles, and exhaustive search. The engine decides by its own costs (`trends/graphlets/burst_benefit.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from ostinato.event_queries.trends.graphlets.burst_benefit import BurstCosts
from ostinato.event_queries.trends.graphlets.optimizer import PlanCost


@dataclass(frozen=True, slots=True)
class Burst:
    """The numbers that the paper's formulas need. The comments have its letters (Table 2)."""

    events: int  # b
    window_events: int  # n
    graphlet_events: int  # g
    created: int  # sc, snapshots created by this burst
    propagated: int  # sp, snapshots propagated through it
    queries: int  # k
    types: int = 2  # t, other types per query
    predecessor_types: int = 2  # p, predecessor types per type and query


def costs_of_definition_11(burst: Burst) -> BurstCosts:
    """Eq. 7, which the paper's worked example (Eq. 9 to 11) follows."""
    snapshots = burst.created * burst.queries * burst.graphlet_events * burst.types
    visits = burst.events * burst.window_events
    return BurstCosts(shared=visits * burst.propagated + snapshots, separate=burst.queries * visits)


def costs_of_definition_12(burst: Burst) -> BurstCosts:
    """Eq. 8, which the paper's pruning theorems use."""
    insertion = math.log2(burst.graphlet_events)
    snapshots = burst.created * burst.queries * burst.graphlet_events * burst.predecessor_types
    return BurstCosts(
        shared=snapshots + burst.events * (insertion + burst.window_events * burst.propagated),
        separate=burst.queries * burst.events * (insertion + burst.window_events),
    )


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """`shared` is empty (nothing is shared) or has at least two queries."""

    queries: frozenset[int]
    shared: frozenset[int]

    def __str__(self) -> str:
        groups = [sorted(self.shared)] if self.shared else []
        groups += [[query] for query in sorted(self.queries - self.shared)]
        return "".join(f"({''.join(map(str, group))})" for group in groups)


def plans(queries: Iterable[int]) -> tuple[SharingPlan, ...]:
    """All plans, from everything shared to nothing shared (Figure 7: 12 plans for four queries)."""
    every = frozenset(queries)
    sizes = range(len(every), 1, -1)
    shared = [frozenset(chosen) for size in sizes for chosen in combinations(sorted(every), size)]
    return tuple(SharingPlan(every, chosen) for chosen in [*shared, frozenset[int]()])


def snapshot_driven(candidates: Iterable[SharingPlan], without_snapshots: frozenset[int]) -> tuple[SharingPlan, ...]:
    """Theorem 4.1's principle: only plans that share all queries that need no snapshot."""
    return tuple(plan for plan in candidates if without_snapshots <= plan.shared)


def benefit_driven(
    candidates: Iterable[SharingPlan], beneficial: frozenset[int], harmful: frozenset[int]
) -> tuple[SharingPlan, ...]:
    """Theorem 4.2's principle: only plans that share all beneficial queries and no harmful query."""
    return tuple(plan for plan in candidates if beneficial <= plan.shared and not harmful & plan.shared)


def best_of_all(queries: Iterable[int], cost: PlanCost) -> SharingPlan:
    """The cheapest plan; of equally cheap plans, the one that shares more. Compares the costs of 2^k - k plans."""
    return min(plans(queries), key=lambda plan: cost(plan.shared))
