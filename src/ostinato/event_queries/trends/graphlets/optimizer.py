"""Chooses the queries that share a burst, by the two pruning principles of HAMLET, Section 4.3.

The paper's theorems that pruning loses nothing don't hold for its own formulas (`tests/benchmarks/test_hamlet_plans.py`
has counterexamples), so the choice isn't always the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

PlanCost = Callable[[frozenset[int]], float]
"""The shared queries -> the cost of all queries. The others run by themselves."""


def choose(queries: Iterable[int], without_snapshots: frozenset[int], cost: PlanCost) -> frozenset[int]:
    """The queries that share: none, or at least two. For m queries that need snapshots, it computes the costs of m + 2
    plans.

    Such a query is left out if sharing all queries but this one costs less than sharing all. The last plan shares
    nothing; the paper leaves this to its decision to split.
    """
    every = frozenset(queries)
    all_shared = cost(every)
    harmful = {query for query in every - without_snapshots if cost(_shared(every - {query})) < all_shared}
    shared = _shared(every - harmful)
    return frozenset() if cost(frozenset()) < cost(shared) else shared


def _shared(queries: frozenset[int]) -> frozenset[int]:
    return queries if len(queries) > 1 else frozenset()
