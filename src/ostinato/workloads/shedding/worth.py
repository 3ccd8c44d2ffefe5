"""Sketch -> Estimates: what a partial match of each class and age will still yield and cost (SHARP, Section 4.2).

A partial match is visited `pace` times in each age. A visit costs its work and, by the chains, gives children, which
are worth and cost what they are at that age: so both follow from the last nodes backwards. What won't be kept anyway
at the present price is left out of both, so a prefix isn't blamed for descendants that are dropped at birth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.sketch import Sketch, living
from ostinato.workloads.shedding.tariff import BIRTH, CHECK, VISIT
from ostinato.workloads.shedding.worth_kernel import PRIOR_VISITS, Asked, Found, Known, work_out

Reals = NDArray[np.float64]
Kernel = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class CostModel:
    """`weights` are those of the patterns whose matches are at stake. `alpha` as in Section 5: 0 counts work, 1 counts
    partial matches (memory)."""

    weights: Reals
    alpha: float = 0.0
    prices: Reals = field(default_factory=lambda: np.ones(4))
    """Of the work, as in `tariff.py`."""


@dataclass(frozen=True, slots=True)
class Estimates:
    quality: Reals
    """[class, age] by which partial matches are ordered; infinite where keeping one costs nothing."""
    worth: Reals
    """Expected matches of one made at an age (Delta+): those of node n from `worth_at[n]` on, [class of the node,
    pattern of the node, age]."""
    worth_at: NDArray[np.int64]
    cost: Reals
    """[class, age] work that one made at that age, and its descendants, will cause (Delta-)."""
    work: Reals
    """[class, age] work per event that such partial matches themselves cause where all of them are kept."""
    living: Reals
    """[class, age] partial matches that come through the age, per event, where all of them are kept."""


def estimate(sketch: Sketch, model: CostModel, price: Reals, work_out: Kernel = work_out) -> Estimates:
    """`price`: [node, pattern] the least quality that is kept for the pattern; 0 keeps everything. `work_out` may be
    another kernel with the arguments of `worth_kernel.work_out`."""
    held = sketch.pace[sketch.node_of] * _work_of_visit(sketch, model.prices)
    present = living(sketch.created).sum(axis=1)
    typical = float(held @ present) / max(float(present.sum()), 1.0)  # what memory is measured in beside work
    asked = Asked(model.weights, price, (1 - model.alpha) * held + model.alpha * typical)
    links, found = sketch.links, _room(sketch)
    work_out(links, _known(sketch), asked, found)
    per_event = living(sketch.attempts) / max(sketch.rows, 1.0)
    work = per_event * held[:, None]
    return Estimates(found.quality, found.worth, found.worth_at, found.cost, work, per_event)


def _known(sketch: Sketch) -> Known:
    return Known(
        sketch.class_at,
        sketch.chain_begins,
        sketch.cells,
        sketch.chain_visits,
        sketch.ended,
        sketch.made,
        sketch.attempts.sum(axis=1),
        sketch.pace,
    )


def _room(sketch: Sketch) -> Found:
    ages = sketch.ages
    sizes, patterns = np.diff(sketch.class_at), np.diff(sketch.links.column_at)
    most_classes, most_patterns = int(sizes.max(initial=0)), int(patterns.max(initial=0))
    slots = (int(sketch.class_at[-1]), ages)
    worth_at = np.cumsum([0, *(sizes * patterns * ages)]).astype(np.int64)
    return Found(
        worth_at,
        np.zeros(int(worth_at[-1])),
        np.zeros(sketch.shape.nodes, np.bool_),
        cost=np.zeros(slots),
        quality=np.full(slots, np.inf),
        yields=np.zeros((int((sizes * patterns).max(initial=0)), ages)),
        follows=np.zeros((most_classes, ages)),
        average=np.zeros((most_patterns + 1, ages)),
    )


def _work_of_visit(sketch: Sketch, prices: Reals) -> Reals:
    """[class] the visit itself, the conditions asked on it, and the partial matches made of it."""
    visits = sketch.by_node(sketch.visits).sum(axis=1)
    asked = sketch.checks / np.maximum(visits, 1.0)
    born = sketch.born
    usual = (sketch.by_node(born) + 1.0) / (sketch.by_node(sketch.chain_visits) + 1.0)
    rate = (born + PRIOR_VISITS * usual[sketch.node_of]) / (sketch.chain_visits + PRIOR_VISITS)
    return np.asarray(prices[VISIT] + prices[CHECK] * asked[sketch.node_of] + prices[BIRTH] * rate)


def step_share(sketch: Sketch, counted: NDArray[np.bool_]) -> Reals:
    """[node, pattern] which part of the work on partial matches is done on `counted` steps that lead to the pattern."""
    shape = sketch.shape
    total = np.bincount(shape.step_source, sketch.step_work, shape.nodes)
    share = np.zeros((shape.nodes, shape.patterns))
    np.add.at(share, shape.step_source, (sketch.step_work * counted)[:, None] * shape.step_patterns)
    return share / np.maximum(total, 1e-9)[:, None]
