"""A burst of events of one Kleene label with conditions between adjacent events: HAMLET's graphlets and snapshots.

An event's predecessors within its burst are the same for all queries, or they differ. If they are the same, the event's
count is a sum over the burst's snapshots, with the same coefficients for every lane (a query in one open window). If
they differ, or if some event before the burst may not precede the event, the event becomes a snapshot of its own, with
a value for each lane. Coefficients are vectors instead of hash tables. Numbers are Python's integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.trends.graphlets.burst_benefit import BurstCosts, BurstWork, engine_costs
from ostinato.event_queries.trends.graphlets.optimizer import choose
from ostinato.kernels.stopping import check_stopped

Matrix = NDArray[np.object_]
Mask = NDArray[np.bool_]
LIMB_BITS = 30
"""Bits in a limb of Python's integers."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The answers of one condition between adjacent events, for a burst."""

    inside: Mask
    """[j, i]: whether event j of the burst may directly precede event i."""
    outside: Mask
    """[h, i]: whether event h before the burst may directly precede event i."""
    earlier: NDArray[np.int64]
    """For each event, the number of events of the burst at an earlier time."""

    def fails(self) -> Mask:
        """The events of the burst that some event before the burst may not precede."""
        failing: Mask = np.logical_or.reduce(~self.outside, axis=0)
        return failing


@dataclass(frozen=True, slots=True)
class Propagated:
    """[event, column]: the contribution of a column (a snapshot or a lane) to the count of an event. `slots` has the
    same for sums of values."""

    counts: Matrix
    slots: tuple[Matrix, ...]

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        return self.counts, *self.slots


def propagated(
    arriving: Matrix,
    test: Adjacency,
    inside: Mask,
    values: Sequence[Matrix],
    arriving_slots: Sequence[Matrix] | None = None,
) -> Propagated:
    """Equation 2 through a burst, for all columns at once. The count of an event is the number that arrives from before
    the burst plus the counts of its predecessors in the burst.

    A sum of values W follows the count: W(e) = W arriving + sum of W(predecessors) + value(e) * count(e). The sum over
    predecessors starts from zero, or from the running total less the others, whichever is less work.
    """
    counts = arriving.copy()
    slots = [np.zeros_like(arriving) for _ in values] if arriving_slots is None else [s.copy() for s in arriving_slots]
    every = [counts, *slots]
    totals = [np.zeros(arriving.shape[1], object) for _ in every]
    added = 0
    for event, earlier in enumerate(test.earlier):
        check_stopped()
        for other in range(added, earlier):
            totals = [total + numbers[other] for total, numbers in zip(totals, every, strict=True)]
        added = earlier
        passing = inside[:earlier, event]
        if 2 * passing.sum() >= earlier:
            missing = np.flatnonzero(~passing)
            for total, numbers in zip(totals, every, strict=True):
                numbers[event] += total - numbers[missing].sum(axis=0)
        else:
            predecessors = np.flatnonzero(passing)
            for numbers in every:
                numbers[event] += numbers[predecessors].sum(axis=0)
        for value, slot in zip(values, slots, strict=True):
            slot[event] += value[event] * counts[event]
    return Propagated(counts, tuple(slots))


def needs_snapshot(tests: Sequence[Adjacency]) -> Mask:
    """Definition 9: the events whose predecessors differ between the tests, or that an event before the burst may not
    precede."""
    needed: Mask = np.logical_or.reduce([test.fails() for test in tests])
    for test in tests[1:]:
        needed |= (test.inside != tests[0].inside).any(axis=0)
    return needed


@dataclass(frozen=True, slots=True)
class SharedGraphlet:
    """A shared graphlet: coefficients by (event, snapshot); snapshot 0 is that of the graphlet (Definition 8)."""

    own: NDArray[np.int64]
    """The events that are snapshots of their own; snapshot 1 is the first of them."""
    coefficients: Propagated


def shared_graphlet(tests: Sequence[Adjacency], values: Sequence[Matrix]) -> SharedGraphlet:
    own = np.flatnonzero(needs_snapshot(tests))
    events = len(tests[0].inside)
    arriving = np.zeros((events, 1 + len(own)), object)
    arriving[:, 0] = 1
    arriving[own] = 0
    arriving[own, 1 + np.arange(len(own))] = 1
    inside = tests[0].inside.copy()
    inside[:, own] = False
    plain = [value.copy() for value in values]
    for value in plain:
        value[own] = 0  # the value of the event's snapshot includes it
    return SharedGraphlet(own, propagated(arriving, tests[0], inside, plain))


# --- the decision -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """A query that could share a burst."""

    query: int
    test: int
    lanes: int
    limbs: int


@dataclass(frozen=True, slots=True)
class _Shape:
    """The part of the work for a burst that depends on the tests only (`BurstWork` has the fields)."""

    events: int
    links: int
    own_links: int
    snapshots: int


def _shape(tests: Sequence[Adjacency]) -> _Shape:
    own = needs_snapshot(tests)
    passing = tests[0].inside.sum(axis=0)
    return _Shape(
        events=len(own),
        links=int(np.minimum(passing, tests[0].earlier - passing + 1).sum()),
        own_links=max(int(_fewer(test.outside[:, own]).sum()) for test in tests) if own.any() else 0,
        snapshots=1 + int(own.sum()),
    )


def _work(shape: _Shape, candidates: Sequence[Candidate]) -> BurstWork:
    """The work for these queries together, if they share or not."""
    return BurstWork(
        events=shape.events,
        lanes=sum(candidate.lanes for candidate in candidates),
        links=shape.links,
        own_links=shape.own_links,
        snapshots=shape.snapshots,
        limbs=max(candidate.limbs for candidate in candidates),
        coefficient_limbs=1 + shape.events // (2 * LIMB_BITS),
    )


def _fewer(mask: Mask) -> NDArray[np.int64]:
    fewer: NDArray[np.int64] = np.minimum(mask.sum(axis=0), (~mask).sum(axis=0))
    return fewer


def decide(candidates: Sequence[Candidate], tests: Mapping[int, Adjacency]) -> frozenset[int]:
    """Chooses the queries that share the burst, by both pruning principles and the costs of this engine."""
    by_query = {candidate.query: candidate for candidate in candidates}
    test_counts = Counter(candidate.test for candidate in candidates)
    commonest = max(test_counts, key=lambda number: test_counts[number])
    # Many queries have few different tests, so shapes are computed once for each set of tests.
    free = {number for number in test_counts if not needs_snapshot([tests[commonest], tests[number]]).any()}
    shapes: dict[frozenset[int], _Shape] = {}

    def costs(queries: Iterable[int]) -> BurstCosts:
        chosen = [by_query[query] for query in queries]
        numbers = frozenset(candidate.test for candidate in chosen)
        if numbers not in shapes:
            shapes[numbers] = _shape([tests[number] for number in sorted(numbers)])
        return engine_costs(_work(shapes[numbers], chosen))

    alone = {query: costs([query]).separate for query in by_query}
    everyone = sum(alone.values())

    def cost(shared: frozenset[int]) -> float:
        return everyone - sum(alone[query] for query in shared) + costs(shared).shared if shared else everyone

    return choose(by_query, frozenset(c.query for c in candidates if c.test in free), cost)
