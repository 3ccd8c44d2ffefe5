"""How many partial matches there would be: what was seen where nothing is dropped, and the same where much is."""

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


def seen(plan: PlanShape, first: float, pace: float, children: float) -> Sketch:
    """A class for each node; `first` of each first event, `children` out of each visit, nothing dropped."""
    sketch = Sketch(plan, np.arange(plan.nodes + 1), AGES, rows=ROWS)
    sketch.pace[:] = pace
    sketch.chain_visits[:] = sketch.cells[:] = 1e6
    sketch.cells[:] *= children
    sketch.attempts[plan.first, 0] = first * ROWS
    for node in plan.children_first[::-1]:
        for child in plan.children[node]:
            sketch.attempts[child] += pace * children * living(sketch.attempts)[node]
    return sketch


def test_what_was_seen_is_all_where_nothing_is_dropped() -> None:
    sketch = seen(shape("A a, B b, C c, D d", "A a, B b, E e"), first=0.2, pace=1.5, children=0.4)
    assert unshed_population(sketch) == pytest.approx(living(sketch.attempts) / ROWS, rel=1e-4)


def test_those_that_would_have_come_of_the_dropped_are_counted() -> None:
    plan = shape("A a, B b, C c, D d")
    complete = seen(plan, first=0.2, pace=1.5, children=0.4)
    dropping = seen(plan, first=0.2, pace=1.5, children=0.4)
    behind = ~plan.first
    dropping.attempts[behind] *= 0.01
    assert unshed_population(dropping) == pytest.approx(unshed_population(complete))


def test_a_loop_adds_to_what_enters_it() -> None:
    plan = shape("A a, B+ b, C c")
    assert plan.has_loops
    without = seen(shape("A a, B b, C c"), first=0.2, pace=1.0, children=0.5)
    assert unshed_population(seen(plan, first=0.2, pace=1.0, children=0.5)).sum() > unshed_population(without).sum()


def test_before_anything_was_seen_there_is_nothing() -> None:
    assert unshed_population(Sketch(shape("A a, B b"), np.arange(4), AGES)).sum() == 0.0
