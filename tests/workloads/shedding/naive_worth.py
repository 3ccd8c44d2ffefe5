"""What `worth.py` works out, node by node in NumPy, as its docstring says it: the oracle of its kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.sketch import Sketch, living
from ostinato.workloads.shedding.tariff import BIRTH, CHECK, VISIT
from ostinato.workloads.shedding.worth import CostModel
from ostinato.workloads.shedding.worth_kernel import HOPED_BIRTHS, PRIOR_VISITS

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Estimates:
    """As in `worth.py`, with the worth of each node by itself."""

    quality: Reals
    worth: tuple[Reals, ...]
    cost: Reals
    work: Reals
    living: Reals


def estimate(
    sketch: Sketch,
    model: CostModel,
    price: Reals,
    *,
    by_class: bool = True,
    by_age: bool = True,
    per_cost: bool = True,
) -> Estimates:
    """`price`: [node, pattern] the least quality that is kept for the pattern; 0 keeps everything. The options are
    those of `averaged_estimate`."""
    shape, ages = sketch.shape, sketch.ages
    classes = int(sketch.class_at[-1])
    worth: list[Reals] = [np.zeros((0, 0, 0))] * shape.nodes
    cost, quality = np.zeros((classes, ages)), np.full((classes, ages), np.inf)
    held = sketch.pace[sketch.node_of] * _work_of_visit(sketch, model.prices)
    present = living(sketch.created).sum(axis=1)
    typical = float(held @ present) / max(float(present.sum()), 1.0)  # what memory is measured in beside work
    # Loops lead back to nodes whose worth isn't known yet: the second round takes it from the first.
    for node in shape.children_first * (2 if shape.has_loops else 1):
        here, columns = sketch.of(node), np.flatnonzero(shape.reach[node])
        final = _final_worth(sketch, node, columns, worth)
        if not shape.children[node]:
            worth[node] = final
            continue
        yields, follows = _per_visit(sketch, node, columns, worth, cost)
        pace = sketch.pace[node]
        own = (1 - model.alpha) * held[here] + model.alpha * typical
        spent = own[:, None] + pace * follows
        gained = pace * np.einsum("p,cpa->ca", model.weights[columns], yields)
        axes = (() if by_class else (0,)) + (() if by_age else (1,))
        if axes:
            gained, spent = (_averaged(values, sketch.visits[here], axes) for values in (gained, spent))
        quality[here] = gained / np.maximum(spent, 1e-12) if per_cost else gained
        kept = quality[here][:, None, :] >= price[node, columns][:, None]
        worth[node] = final + _until_the_end(pace * yields * kept)
        cost[here] = _until_the_end(spent * kept.any(axis=1))
    per_event = living(sketch.attempts) / max(sketch.rows, 1.0)
    work = per_event * held[:, None]
    return Estimates(quality, tuple(worth), cost, work, per_event)


def _until_the_end(by_age: Reals) -> Reals:
    """What is still to come for one made in the midst of each age."""
    to_come: Reals = np.cumsum(by_age[..., ::-1], axis=-1)[..., ::-1] - 0.5 * by_age
    return to_come


def _work_of_visit(sketch: Sketch, prices: Reals) -> Reals:
    """[class] the visit itself, the conditions asked on it, and the partial matches made of it."""
    visits = sketch.by_node(sketch.visits).sum(axis=1)
    asked = sketch.checks / np.maximum(visits, 1.0)
    born = np.zeros(int(sketch.class_at[-1]))
    for node, child in sketch.shape.pairs:
        born[sketch.of(node)] += sketch.chain(node, child).sum(axis=1)
    usual = (sketch.by_node(born) + 1.0) / (sketch.by_node(sketch.chain_visits) + 1.0)
    rate = (born + PRIOR_VISITS * usual[sketch.node_of]) / (sketch.chain_visits + PRIOR_VISITS)
    return np.asarray(prices[VISIT] + prices[CHECK] * asked[sketch.node_of] + prices[BIRTH] * rate)


def _per_visit(
    sketch: Sketch, node: int, columns: NDArray[np.int64], worth: list[Reals], cost: Reals
) -> tuple[Reals, Reals]:
    """What a visit gives through the children: [class, pattern, age] matches, [class, age] work."""
    here, ages, shape = sketch.of(node), sketch.ages, sketch.shape
    visits = sketch.chain_visits[here]
    yields = np.zeros((len(visits), len(columns), ages))
    hoped = np.zeros((len(columns), ages))
    follows, feared = np.zeros((len(visits), ages)), np.zeros(ages)
    for child in shape.children[node]:
        of_child = worth[child]
        if not of_child.size:  # behind a loop, in the first round
            continue
        chain, at = sketch.chain(node, child), np.searchsorted(columns, np.flatnonzero(shape.reach[child]))
        flat = chain @ of_child.reshape(chain.shape[1], -1)
        yields[:, at] += flat.reshape(len(visits), len(at), ages)
        hoped[at] += HOPED_BIRTHS * of_child.mean(axis=0)
        follows += chain @ cost[sketch.of(child)]
        feared += HOPED_BIRTHS * cost[sketch.of(child)].mean(axis=0)
    total = visits.sum() + HOPED_BIRTHS
    average, average_cost = (yields.sum(axis=0) + hoped) / total, (follows.sum(axis=0) + feared) / total
    believed = (visits + PRIOR_VISITS)[:, None]
    return (yields + PRIOR_VISITS * average) / believed[:, :, None], (follows + PRIOR_VISITS * average_cost) / believed


def _final_worth(sketch: Sketch, node: int, columns: NDArray[np.int64], worth: list[Reals]) -> Reals:
    """[class, pattern, age] matches that a partial match is itself, or that it becomes a segment of."""
    here, shape = sketch.of(node), sketch.shape
    ending = shape.ends[node, columns]
    ended = (sketch.ended[here][:, columns] + 1.0) / (sketch.made[here] + 1.0)[:, None]
    final = np.repeat(np.where(ending, ended, 0.0)[:, :, None], sketch.ages, axis=2)
    for target in shape.joined[node]:
        at = np.searchsorted(columns, np.flatnonzero(shape.reach[target]))
        joins = (sketch.attempts[sketch.of(target)].sum() + 1.0) / (sketch.attempts[here].sum() + 1.0)
        final[:, at] += joins * worth[target].mean(axis=(0, 2))[:, None]
    return final


def _averaged(values: Reals, weights: Reals, axes: tuple[int, ...]) -> Reals:
    some = weights + 1e-9  # where nothing was seen, all count alike
    mean = (values * some).sum(axis=axes, keepdims=True) / some.sum(axis=axes, keepdims=True)
    return np.broadcast_to(mean, values.shape).copy()
