"""Sketch -> the number of partial matches that there would be if none were dropped.

Dropped partial matches have no children to count. But all first events are counted. From their number, this module
computes the other numbers forward: visits of a partial match, and children of a visit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.sketch import Sketch, living
from ostinato.workloads.shedding.utility_kernel import PRIOR_VISITS

Reals = NDArray[np.float64]


def unshed_population(sketch: Sketch) -> Reals:
    """[class, age] partial matches that would live through the age, per event. Loops are followed as far as in
    `utility.py`."""
    shape = sketch.shape
    parents: list[list[int]] = [[] for _ in range(shape.nodes)]
    for node, child in shape.pairs:
        parents[child].append(node)
    made = sketch.attempts / max(sketch.rows, 1.0)
    made[np.array([bool(of_node) for of_node in parents])[sketch.node_of]] = 0.0
    alive = living(made)
    for node in shape.children_first[::-1] * (2 if shape.has_loops else 1):
        if parents[node]:
            of_node = sketch.of(node)
            born = np.zeros_like(alive[of_node])
            for parent in parents[node]:
                visits = sketch.pace[parent] * alive[sketch.of(parent)]
                born += _children_a_visit(sketch, parent, node).T @ visits
            alive[of_node] = living(born)
    return alive


def _children_a_visit(sketch: Sketch, node: int, child: int) -> Reals:
    """[class of the node, class of the child] births per visit. A class with few visits gets the node's average."""
    births, visits = sketch.chain(node, child), sketch.chain_visits[sketch.of(node)]
    usual = births.sum(axis=0) / max(float(visits.sum()), 1.0)
    return np.asarray((births + PRIOR_VISITS * usual) / (visits + PRIOR_VISITS)[:, None])
