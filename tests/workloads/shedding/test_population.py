"""Tests `unshed_population`: the observed number if nothing is dropped, and the same number if much is dropped."""

from __future__ import annotations

import numpy as np
import pytest
from tests.workloads.shedding.bounded_runs import Stream

from ostinato.workloads.matcher.plan_shape import PlanShape, shape_of
from ostinato.workloads.shedding.population import unshed_population
from ostinato.workloads.shedding.sketch import Sketch, living

AGES, ROWS = 4, 1000.0


def shape(*patterns: str) -> PlanShape:
    texts = (f"TIME at TYPE kind PATTERN SEQ({pattern}) WITHIN 10 EVENTS RETURN MATCHES" for pattern in patterns)
    return shape_of(Stream(tuple(texts), columns={}).merged)


def unshed_sketch(plan: PlanShape, first: float, pace: float, children: float) -> Sketch:
    """A sketch without drops: one class per node, `first` first events per row, and `children` births per visit."""
    sketch = Sketch(plan, np.arange(plan.nodes + 1), AGES, rows=ROWS)
    sketch.pace[:] = pace
    sketch.chain_visits[:] = sketch.cells[:] = 1e6
    sketch.cells[:] *= children
    sketch.attempts[plan.first, 0] = first * ROWS
    for node in plan.children_first[::-1]:
        for child in plan.children[node]:
            sketch.attempts[child] += pace * children * living(sketch.attempts)[node]
    return sketch


def test_without_drops_the_population_is_the_observed_one() -> None:
    sketch = unshed_sketch(shape("A a, B b, C c, D d", "A a, B b, E e"), first=0.2, pace=1.5, children=0.4)
    assert unshed_population(sketch) == pytest.approx(living(sketch.attempts) / ROWS, rel=1e-4)


def test_descendants_of_dropped_matches_are_counted() -> None:
    plan = shape("A a, B b, C c, D d")
    complete = unshed_sketch(plan, first=0.2, pace=1.5, children=0.4)
    dropping = unshed_sketch(plan, first=0.2, pace=1.5, children=0.4)
    behind = ~plan.first
    dropping.attempts[behind] *= 0.01
    assert unshed_population(dropping) == pytest.approx(unshed_population(complete))


def test_a_loop_adds_partial_matches() -> None:
    plan = shape("A a, B+ b, C c")
    assert plan.has_loops
    without = unshed_sketch(shape("A a, B b, C c"), first=0.2, pace=1.0, children=0.5)
    assert (
        unshed_population(unshed_sketch(plan, first=0.2, pace=1.0, children=0.5)).sum()
        > unshed_population(without).sum()
    )


def test_an_empty_sketch_has_no_population() -> None:
    assert unshed_population(Sketch(shape("A a, B b"), np.arange(4), AGES)).sum() == 0.0
