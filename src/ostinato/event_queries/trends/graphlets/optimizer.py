"""Chooses the queries that share a burst: the search space of HAMLET, Section 4.3, its two pruning principles, and
exhaustive search.

A plan is one set of sharing queries; every other query runs by itself. The paper's theorems that pruning loses nothing
don't hold for its own formulas (`tests/event_queries/trends/graphlets/test_optimizer.py` has counterexamples). So only
`best_of_all` claims to be optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """`shared` is empty (nothing is shared) or has at least two queries."""

    queries: frozenset[int]
    shared: frozenset[int]

    def __str__(self) -> str:
        groups = [sorted(self.shared)] if self.shared else []
        groups += [[query] for query in sorted(self.queries - self.shared)]
        return "".join(f"({''.join(map(str, group))})" for group in groups)


PlanCost = Callable[[frozenset[int]], float]
"""The shared queries -> the cost of all queries. The others run by themselves."""


@dataclass(frozen=True, slots=True)
class PlanChoice:
    plan: SharingPlan
    cost: float
    plans_compared: int


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


def best_of_all(queries: Iterable[int], cost: PlanCost) -> PlanChoice:
    """The cheapest plan; of equally cheap plans, the one that shares more. Compares the costs of 2^k - k plans."""
    candidates = plans(queries)
    costs = [cost(plan.shared) for plan in candidates]
    cheapest = min(range(len(costs)), key=costs.__getitem__)
    return PlanChoice(candidates[cheapest], costs[cheapest], len(candidates))


def choose(queries: Iterable[int], without_snapshots: frozenset[int], cost: PlanCost) -> PlanChoice:
    """The plan by both principles. For m queries that need snapshots, it computes the costs of m + 2 plans.

    Such a query is left out if sharing all queries but this one costs less than sharing all. The last plan shares
    nothing; the paper leaves this to its decision to split.
    """
    every = frozenset(queries)
    candidates = sorted(every - without_snapshots)
    all_shared = cost(every)
    harmful = frozenset(query for query in candidates if cost(_shared(every - {query})) < all_shared)
    shared = _shared(every - harmful)
    chosen, alone = cost(shared), cost(frozenset())
    if shared and alone < chosen:
        return PlanChoice(SharingPlan(every, frozenset()), alone, len(candidates) + 2)
    return PlanChoice(SharingPlan(every, shared), chosen, len(candidates) + 2)


def _shared(queries: frozenset[int]) -> frozenset[int]:
    return queries if len(queries) > 1 else frozenset()
