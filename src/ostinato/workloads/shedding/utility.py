"""Sketch -> Estimates: contribution, cost and utility of a partial match of each class and age (SHARP, Section 4.2).

The contribution (the paper's Delta+) is the expected number of matches. The cost (Delta-, its "consumption") is the
expected work. The utility is contribution per cost, and orders partial matches. A partial match is visited `pace` times
in each age. A visit costs its work, and makes children with a contribution and cost of their own. So both are computed
from the last nodes backwards. Descendants that would be dropped at birth are left out, so a prefix isn't charged for
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.sketch import Sketch, living
from ostinato.workloads.shedding.tariff import BIRTH, CHECK, VISIT
from ostinato.workloads.shedding.utility_kernel import (
    PRIOR_VISITS,
    EstimateArrays,
    EstimateInputs,
    SketchArrays,
    estimate_nodes,
)

Reals = NDArray[np.float64]
Kernel = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class CostModel:
    """`weights`: [pattern] weight of a match. `alpha` as in Section 5: 0 counts work, 1 counts partial matches
    (memory)."""

    weights: Reals
    alpha: float = 0.0
    prices: Reals = field(default_factory=lambda: np.ones(4))
    """Prices of the work, as in `tariff.py`."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Of one partial match of each class and age, or of all of them per event."""

    utility: Reals
    """[class, age] infinite where keeping a partial match costs nothing."""
    contribution: Reals
    """Expected matches of a partial match made at an age (Delta+). Node n has [class of the node, pattern of the node,
    age] from `contribution_at[n]` on."""
    contribution_at: NDArray[np.int64]
    cost: Reals
    """[class, age] future work of a partial match made at that age, and of its descendants (Delta-)."""
    work: Reals
    """[class, age] own work of such partial matches per event, if all of them are kept."""
    living: Reals
    """[class, age] partial matches that live through the age, per event, if all of them are kept."""


def estimate(
    sketch: Sketch, model: CostModel, min_utility: Reals, estimate_nodes: Kernel = estimate_nodes
) -> Estimates:
    """`min_utility`: [node, pattern] smallest utility that is kept for the pattern; 0 keeps everything.
    `estimate_nodes` may be another kernel with the arguments of `utility_kernel.estimate_nodes`."""
    cost_per_age = sketch.pace[sketch.node_of] * _work_of_visit(sketch, model.prices)
    present = living(sketch.created).sum(axis=1)
    typical = float(cost_per_age @ present) / max(float(present.sum()), 1.0)  # the unit of memory beside work
    inputs = EstimateInputs(model.weights, min_utility, (1 - model.alpha) * cost_per_age + model.alpha * typical)
    out = _new_arrays(sketch)
    estimate_nodes(sketch.links, _arrays_of(sketch), inputs, out)
    per_event = living(sketch.attempts) / max(sketch.rows, 1.0)
    work = per_event * cost_per_age[:, None]
    return Estimates(out.utility, out.contribution, out.contribution_at, out.cost, work, per_event)


def _arrays_of(sketch: Sketch) -> SketchArrays:
    return SketchArrays(
        sketch.class_at,
        sketch.chain_begins,
        sketch.cells,
        sketch.chain_visits,
        sketch.ended,
        sketch.made,
        sketch.attempts.sum(axis=1),
        sketch.pace,
    )


def _new_arrays(sketch: Sketch) -> EstimateArrays:
    ages = sketch.ages
    sizes, patterns = np.diff(sketch.class_at), np.diff(sketch.links.column_at)
    most_classes, most_patterns = int(sizes.max(initial=0)), int(patterns.max(initial=0))
    slots = (int(sketch.class_at[-1]), ages)
    contribution_at = np.cumsum([0, *(sizes * patterns * ages)]).astype(np.int64)
    return EstimateArrays(
        contribution_at,
        np.zeros(int(contribution_at[-1])),
        np.zeros(sketch.shape.nodes, np.bool_),
        cost=np.zeros(slots),
        utility=np.full(slots, np.inf),
        child_contribution=np.zeros((int((sizes * patterns).max(initial=0)), ages)),
        child_cost=np.zeros((most_classes, ages)),
        average=np.zeros((most_patterns + 1, ages)),
    )


def _work_of_visit(sketch: Sketch, prices: Reals) -> Reals:
    """[class] price of a visit, of the conditions that it checks, and of the partial matches that it makes."""
    visits = sketch.by_node(sketch.visits).sum(axis=1)
    checks = sketch.checks / np.maximum(visits, 1.0)
    born = sketch.born
    usual = (sketch.by_node(born) + 1.0) / (sketch.by_node(sketch.chain_visits) + 1.0)
    rate = (born + PRIOR_VISITS * usual[sketch.node_of]) / (sketch.chain_visits + PRIOR_VISITS)
    return np.asarray(prices[VISIT] + prices[CHECK] * checks[sketch.node_of] + prices[BIRTH] * rate)


def step_share(sketch: Sketch, counted: NDArray[np.bool_]) -> Reals:
    """[node, pattern] fraction of the work on partial matches that `counted` steps to the pattern cause."""
    shape = sketch.shape
    total = np.bincount(shape.step_source, sketch.step_work, shape.nodes)
    share = np.zeros((shape.nodes, shape.patterns))
    np.add.at(share, shape.step_source, (sketch.step_work * counted)[:, None] * shape.step_patterns)
    return share / np.maximum(total, 1e-9)[:, None]
