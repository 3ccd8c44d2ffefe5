"""Which queries share a burst: the search space of HAMLET, Section 4.3, its two pruning principles, and all of it.

A plan is one set of sharing queries; every other query runs by itself. The paper's theorems that pruning loses nothing
don't hold for its own formulas (`tests/event_queries/trends/test_optimizer.py` has counterexamples), so nothing
here claims to be optimal but `best_of_all`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True, slots=True)
class Plan:
    """`shared` has no query (nothing is shared) or two and more."""

    queries: frozenset[int]
    shared: frozenset[int]

    def __str__(self) -> str:
        groups = [sorted(self.shared)] if self.shared else []
        groups += [[query] for query in sorted(self.queries - self.shared)]
        return "".join(f"({''.join(map(str, group))})" for group in groups)


PlanCost = Callable[[frozenset[int]], float]
"""The shared queries -> the cost of all queries, the others not shared. Of a single query, and of none: not shared."""


@dataclass(frozen=True, slots=True)
class Choice:
    plan: Plan
    cost: float
    plans_asked: int


def plans(queries: Iterable[int]) -> tuple[Plan, ...]:
    """All of them, from everything shared to nothing shared (Figure 7: 12 for four queries)."""
    every = frozenset(queries)
    sizes = range(len(every), 1, -1)
    shared = [frozenset(some) for size in sizes for some in combinations(sorted(every), size)]
    return tuple(Plan(every, some) for some in [*shared, frozenset[int]()])


def snapshot_driven(candidates: Iterable[Plan], without_snapshots: frozenset[int]) -> tuple[Plan, ...]:
    """Theorem 4.1's principle: only plans that share all queries for which no snapshot has to be created."""
    return tuple(plan for plan in candidates if without_snapshots <= plan.shared)


def benefit_driven(candidates: Iterable[Plan], beneficial: frozenset[int], harmful: frozenset[int]) -> tuple[Plan, ...]:
    """Theorem 4.2's principle: only plans that share what is beneficial to share, and nothing that isn't."""
    return tuple(plan for plan in candidates if beneficial <= plan.shared and not harmful & plan.shared)


def best_of_all(queries: Iterable[int], cost: PlanCost) -> Choice:
    """The cheapest plan; of equally cheap ones, the one that shares more. 2^k - k plans are asked."""
    candidates = plans(queries)
    costs = [cost(plan.shared) for plan in candidates]
    cheapest = min(range(len(costs)), key=costs.__getitem__)
    return Choice(candidates[cheapest], costs[cheapest], len(candidates))


def choose(queries: Iterable[int], without_snapshots: frozenset[int], cost: PlanCost) -> Choice:
    """By both principles: for m queries that need snapshots, m + 2 plans are asked.

    Each of those is left out when all queries without it cost less. At the end nothing shared is asked too, which the
    paper leaves to the decision to split.
    """
    every = frozenset(queries)
    asked = sorted(every - without_snapshots)
    all_shared = cost(every)
    harmful = frozenset(query for query in asked if cost(_shared(every - {query})) < all_shared)
    shared = _shared(every - harmful)
    chosen, alone = cost(shared), cost(frozenset())
    if shared and alone < chosen:
        return Choice(Plan(every, frozenset()), alone, len(asked) + 2)
    return Choice(Plan(every, shared), chosen, len(asked) + 2)


def _shared(queries: frozenset[int]) -> frozenset[int]:
    return queries if len(queries) > 1 else frozenset()
