"""Compares the kernel of utilities with a plain implementation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from benchmarks.bounded.comparators.averaged_worth import averaged_estimate
from tests.workloads.shedding import naive_utility
from tests.workloads.shedding.bounded_runs import Stream

from ostinato.workloads.matcher.plan_shape import PlanShape, shape_of
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.utility import CostModel, estimate

AGES, CLASSES = 3, 2
PATTERNS = {
    "a common start": ("A a, B b, C c, D d", "A a, B b, C c, E e"),
    "a loop": ("A a, B+ b, C c", "A a, B+ b, D d"),
    "a common middle": ("F f, A a, B b, C c, D d", "G g, A a, B b, C c, E e"),
}


def _shape(patterns: tuple[str, ...]) -> PlanShape:
    where = "WHERE a.v < b.v WITHIN 10 EVENTS RETURN MATCHES"
    loops = any("+" in pattern for pattern in patterns)
    ends = "WITHIN 10 EVENTS RETURN MATCHES" if loops else where
    return shape_of(Stream(tuple(f"TIME at TYPE kind PATTERN SEQ({p}) {ends}" for p in patterns), columns={}).merged)


def _sketch(shape: PlanShape, seed: int) -> Sketch:
    """A random sketch. Some chains have no births."""
    rng = np.random.default_rng(seed)
    sketch = Sketch(shape, np.arange(shape.nodes + 1) * CLASSES, AGES, rows=1000.0)
    for name in ("attempts", "created", "visits", "checks", "chain_visits", "cells", "ended", "made", "pace"):
        values = getattr(sketch, name)
        setattr(sketch, name, rng.uniform(0.0, 50.0, values.shape))
    sketch.cells[rng.uniform(size=len(sketch.cells)) < 0.3] = 0.0
    return sketch


@pytest.mark.parametrize("patterns", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.5},
    ],
    ids=str,
)
def test_the_kernel_agrees_with_the_plain_implementation(patterns: tuple[str, ...], options: dict[str, Any]) -> None:
    model = CostModel(np.array([1.0, 3.0]), prices=np.array([1.0, 2.0, 3.0, 40.0]), **options)
    check_estimates(patterns, model, estimate)


@pytest.mark.parametrize("patterns", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize(
    "options",
    [{"per_cost": False}, {"by_class": False}, {"by_age": False}, {"by_class": False, "by_age": False}],
    ids=str,
)
def test_estimates_of_policies_with_averages(patterns: tuple[str, ...], options: dict[str, Any]) -> None:
    """`averaged_worth.py` adds steps between those of the same kernel."""
    model = CostModel(np.array([1.0, 3.0]), prices=np.array([1.0, 2.0, 3.0, 40.0]))
    check_estimates(patterns, model, partial(averaged_estimate, **options), **options)


def check_estimates(patterns: tuple[str, ...], model: CostModel, estimate: Any, **options: Any) -> None:
    shape = _shape(patterns)
    sketch = _sketch(shape, seed=7)
    min_utility = np.random.default_rng(1).uniform(0.0, 0.01, (shape.nodes, shape.patterns))
    estimates, expected = (
        estimate(sketch, model, min_utility),
        naive_utility.estimate(sketch, model, min_utility, **options),
    )
    for name in ("utility", "cost", "work", "living"):
        np.testing.assert_allclose(getattr(estimates, name), getattr(expected, name), err_msg=name)
    for node, expected_values in enumerate(expected.contribution):
        values = estimates.contribution[estimates.contribution_at[node] : estimates.contribution_at[node + 1]]
        if expected_values.size:  # the naive estimates have none for the root
            assert values == pytest.approx(expected_values.ravel()), node


def test_partial_matches_that_are_not_kept_contribute_nothing() -> None:
    shape = _shape(PATTERNS["a common start"])
    sketch = _sketch(shape, seed=3)
    infinite_utility = np.full((shape.nodes, shape.patterns), np.inf)
    estimates = estimate(sketch, CostModel(np.ones(2)), infinite_utility)
    assert not estimates.cost.any()
    inner_nodes = [node for node in range(1, shape.nodes) if shape.children[node]]
    assert not any(
        estimates.contribution[estimates.contribution_at[node] : estimates.contribution_at[node + 1]].any()
        for node in inner_nodes
    )
