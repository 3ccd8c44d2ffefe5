"""Computes the estimates of `utility.py` node by node in NumPy. It is the oracle of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.sketch import Sketch, living
from ostinato.workloads.shedding.tariff import BIRTH, CHECK, VISIT
from ostinato.workloads.shedding.utility import CostModel
from ostinato.workloads.shedding.utility_kernel import PRIOR_BIRTHS, PRIOR_VISITS

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Estimates:
    """Like `utility.Estimates`, but with one array of contributions for each node."""

    utility: Reals
    contribution: tuple[Reals, ...]
    cost: Reals
    work: Reals
    living: Reals


def estimate(
    sketch: Sketch,
    model: CostModel,
    min_utility: Reals,
    *,
    by_class: bool = True,
    by_age: bool = True,
    per_cost: bool = True,
) -> Estimates:
    """`min_utility`: [node, pattern] smallest utility of a partial match that is kept for the pattern; 0 keeps all. The
    options are those of `averaged_estimate`."""
    shape, ages = sketch.shape, sketch.ages
    slots = (int(sketch.class_at[-1]), ages)
    contribution: list[Reals] = [np.zeros((0, 0, 0))] * shape.nodes
    cost, utility = np.zeros(slots), np.full(slots, np.inf)
    work_of_class = sketch.pace[sketch.node_of] * _work_of_visit(sketch, model.prices)
    present = living(sketch.created).sum(axis=1)
    typical = float(work_of_class @ present) / max(float(present.sum()), 1.0)  # unit in which memory is added to work
    # Loops lead back to nodes whose contribution isn't known yet. The second round uses that of the first.
    for node in shape.children_first * (2 if shape.has_loops else 1):
        classes, columns = sketch.of(node), np.flatnonzero(shape.reach[node])
        final = _final_contribution(sketch, node, columns, contribution)
        if not shape.children[node]:
            contribution[node] = final
            continue
        child_contribution, child_cost = _per_visit(sketch, node, columns, contribution, cost)
        pace = sketch.pace[node]
        own = (1 - model.alpha) * work_of_class[classes] + model.alpha * typical
        spent = own[:, None] + pace * child_cost
        gained = pace * np.einsum("p,cpa->ca", model.weights[columns], child_contribution)
        axes = (() if by_class else (0,)) + (() if by_age else (1,))
        if axes:
            gained, spent = (_averaged(values, sketch.visits[classes], axes) for values in (gained, spent))
        utility[classes] = gained / np.maximum(spent, 1e-12) if per_cost else gained
        is_kept = utility[classes][:, None, :] >= min_utility[node, columns][:, None]
        contribution[node] = final + _until_the_end(pace * child_contribution * is_kept)
        cost[classes] = _until_the_end(spent * is_kept.any(axis=1))
    per_event = living(sketch.attempts) / max(sketch.rows, 1.0)
    work = per_event * work_of_class[:, None]
    return Estimates(utility, tuple(contribution), cost, work, per_event)


def _until_the_end(by_age: Reals) -> Reals:
    """Sum from the middle of each age to the end of the window."""
    to_come: Reals = np.cumsum(by_age[..., ::-1], axis=-1)[..., ::-1] - 0.5 * by_age
    return to_come


def _work_of_visit(sketch: Sketch, prices: Reals) -> Reals:
    """[class] work of a visit, of the conditions that it checks, and of the partial matches that it creates."""
    visits = sketch.by_node(sketch.visits).sum(axis=1)
    checks = sketch.checks / np.maximum(visits, 1.0)
    born = np.zeros(int(sketch.class_at[-1]))
    for node, child in sketch.shape.pairs:
        born[sketch.of(node)] += sketch.chain(node, child).sum(axis=1)
    usual = (sketch.by_node(born) + 1.0) / (sketch.by_node(sketch.chain_visits) + 1.0)
    rate = (born + PRIOR_VISITS * usual[sketch.node_of]) / (sketch.chain_visits + PRIOR_VISITS)
    return np.asarray(prices[VISIT] + prices[CHECK] * checks[sketch.node_of] + prices[BIRTH] * rate)


def _per_visit(
    sketch: Sketch, node: int, columns: NDArray[np.int64], contribution: list[Reals], cost: Reals
) -> tuple[Reals, Reals]:
    """Matches ([class, pattern, age]) and work ([class, age]) of the children of a visit."""
    classes, ages, shape = sketch.of(node), sketch.ages, sketch.shape
    visits = sketch.chain_visits[classes]
    child_contribution = np.zeros((len(visits), len(columns), ages))
    prior = np.zeros((len(columns), ages))
    child_cost, prior_cost = np.zeros((len(visits), ages)), np.zeros(ages)
    for child in shape.children[node]:
        of_child = contribution[child]
        if not of_child.size:  # after a loop, in the first round
            continue
        chain, pattern_columns = sketch.chain(node, child), np.searchsorted(columns, np.flatnonzero(shape.reach[child]))
        flat = chain @ of_child.reshape(chain.shape[1], -1)
        child_contribution[:, pattern_columns] += flat.reshape(len(visits), len(pattern_columns), ages)
        prior[pattern_columns] += PRIOR_BIRTHS * of_child.mean(axis=0)
        child_cost += chain @ cost[sketch.of(child)]
        prior_cost += PRIOR_BIRTHS * cost[sketch.of(child)].mean(axis=0)
    total = visits.sum() + PRIOR_BIRTHS
    average = PRIOR_VISITS * (child_contribution.sum(axis=0) + prior) / total
    average_cost = PRIOR_VISITS * (child_cost.sum(axis=0) + prior_cost) / total
    weight = (visits + PRIOR_VISITS)[:, None]
    return (child_contribution + average) / weight[:, :, None], (child_cost + average_cost) / weight


def _final_contribution(sketch: Sketch, node: int, columns: NDArray[np.int64], contribution: list[Reals]) -> Reals:
    """[class, pattern, age] matches that end with the partial match itself, or that use it as a segment."""
    classes, shape = sketch.of(node), sketch.shape
    ending = shape.ends[node, columns]
    ended = (sketch.ended[classes][:, columns] + 1.0) / (sketch.made[classes] + 1.0)[:, None]
    final = np.repeat(np.where(ending, ended, 0.0)[:, :, None], sketch.ages, axis=2)
    for target in shape.joined[node]:
        pattern_columns = np.searchsorted(columns, np.flatnonzero(shape.reach[target]))
        joins = (sketch.attempts[sketch.of(target)].sum() + 1.0) / (sketch.attempts[classes].sum() + 1.0)
        final[:, pattern_columns] += joins * contribution[target].mean(axis=(0, 2))[:, None]
    return final


def _averaged(values: Reals, weights: Reals, axes: tuple[int, ...]) -> Reals:
    positive_weights = weights + 1e-9  # without visits, all slots have the same weight
    mean = (values * positive_weights).sum(axis=axes, keepdims=True) / positive_weights.sum(axis=axes, keepdims=True)
    return np.broadcast_to(mean, values.shape).copy()
