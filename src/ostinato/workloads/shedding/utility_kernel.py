"""The kernel of `utility.py`: contribution, cost and utility of each class and age, from the last nodes backwards.

The contribution is stored in one flat array. Node n has [class of the node, pattern of the node, age] from
`contribution_at[n]` on. `links` is a `plan_shape.PlanLinks`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
PRIOR_VISITS = 5.0
"""Number of visits at which the statistics of a class and the average of its node have the same weight."""
PRIOR_BIRTHS = 2.0
"""Births that are added to the average of a node for each child node, spread evenly over the child's classes. Without
them, classes without counts would look worthless."""


class SketchArrays(NamedTuple):
    """The arrays of a sketch that the kernel reads."""

    class_at: Ints
    chain_at: Ints
    """By index in `PlanLinks.child` the first cell of the chain."""
    cells: Reals
    chain_visits: Reals
    ended: Reals
    made: Reals
    attempted: Reals
    """[class]"""
    pace: Reals


class EstimateInputs(NamedTuple):
    """Weights and prices, as in `utility.CostModel`."""

    weights: Reals
    min_utility: Reals
    """[node, pattern]"""
    own_cost: Reals
    """[class] cost of one age of a partial match, without the cost of its children."""


class EstimateArrays(NamedTuple):
    """The kernel's results, and its scratch arrays (`child_contribution`, `child_cost`, `average`)."""

    contribution_at: Ints
    contribution: Reals
    is_done: NDArray[np.bool_]
    """[node] whether its estimates have been computed."""
    cost: Reals
    utility: Reals
    child_contribution: Reals
    """[class of a node * pattern of it, age]"""
    child_cost: Reals
    """[class of a node, age]"""
    average: Reals
    """[pattern of a node, age]"""


@borrowing_kernel
def estimate_nodes(links, sketch, inputs, out):  # type: ignore[no-untyped-def]
    """Fills `out`, node by node."""
    for node in links.order:
        if links.child_at[node] < links.child_at[node + 1]:
            add_children(node, links, sketch, out)
            smooth(node, links, sketch, out)
            rate_ages(node, links, sketch, inputs, out)
            divide_by_cost(node, sketch, out)
        sum_over_ages(node, links, sketch, inputs, out)
        out.is_done[node] = True


@called_kernel
def add_children(node, links, sketch, out):  # type: ignore[no-untyped-def]
    """Sums over children by class: births times contribution, and births times cost. Also averages of the node."""
    first, end = sketch.class_at[node], sketch.class_at[node + 1]
    column, columns = links.column_at[node], links.column_at[node + 1] - links.column_at[node]
    ages = out.cost.shape[1]
    for a in range(ages):
        for i in range((end - first) * columns):
            out.child_contribution[i, a] = 0.0
        for c in range(end - first):
            out.child_cost[c, a] = 0.0
        for p in range(columns + 1):
            out.average[p, a] = 0.0
    for index in range(links.child_at[node], links.child_at[node + 1]):
        child = links.child[index]
        if not out.is_done[child]:  # after a loop, in the first round
            continue
        of_child, width = sketch.class_at[child], sketch.class_at[child + 1] - sketch.class_at[child]
        its, count = links.column_at[child], links.column_at[child + 1] - links.column_at[child]
        for one in range(width):
            for a in range(ages):
                out.average[columns, a] += PRIOR_BIRTHS / width * out.cost[of_child + one, a]
        at = np.int64(0)
        for p in range(count):
            while links.column[column + at] != links.column[its + p]:
                at += 1
            for one in range(width):
                begin = out.contribution_at[child] + (one * count + p) * ages
                for a in range(ages):
                    out.average[at, a] += PRIOR_BIRTHS / width * out.contribution[begin + a]
        for c in range(end - first):
            for one in range(width):
                births = sketch.cells[sketch.chain_at[index] + c * width + one]
                if births == 0.0:
                    continue
                for a in range(ages):
                    out.child_cost[c, a] += births * out.cost[of_child + one, a]
                at = np.int64(0)
                for p in range(count):
                    while links.column[column + at] != links.column[its + p]:
                        at += 1
                    begin = out.contribution_at[child] + (one * count + p) * ages
                    for a in range(ages):
                        out.child_contribution[c * columns + at, a] += births * out.contribution[begin + a]


@called_kernel
def smooth(node, links, sketch, out):  # type: ignore[no-untyped-def]
    """Makes `child_contribution` and `child_cost` those of one visit: the mean of class and node, weighted by the
    visits of the class."""
    first, end = sketch.class_at[node], sketch.class_at[node + 1]
    columns, ages = links.column_at[node + 1] - links.column_at[node], out.cost.shape[1]
    total = PRIOR_BIRTHS
    for c in range(end - first):
        total += sketch.chain_visits[first + c]
        for a in range(ages):
            out.average[columns, a] += out.child_cost[c, a]
            for p in range(columns):
                out.average[p, a] += out.child_contribution[c * columns + p, a]
    for c in range(end - first):
        weight = sketch.chain_visits[first + c] + PRIOR_VISITS
        for a in range(ages):
            usual = PRIOR_VISITS * out.average[columns, a] / total
            out.child_cost[c, a] = (out.child_cost[c, a] + usual) / weight
            for p in range(columns):
                usual = PRIOR_VISITS * out.average[p, a] / total
                out.child_contribution[c * columns + p, a] = (
                    out.child_contribution[c * columns + p, a] + usual
                ) / weight


@called_kernel
def rate_ages(node, links, sketch, inputs, out):  # type: ignore[no-untyped-def]
    """Leaves in `utility` the weighted yield of one age, and in `cost` its cost, both with all children of that age."""
    first, end = sketch.class_at[node], sketch.class_at[node + 1]
    column, columns = links.column_at[node], links.column_at[node + 1] - links.column_at[node]
    ages, pace = out.cost.shape[1], sketch.pace[node]
    for c in range(end - first):
        for a in range(ages):
            gained = 0.0
            for p in range(columns):
                gained += inputs.weights[links.column[column + p]] * out.child_contribution[c * columns + p, a]
            out.utility[first + c, a] = pace * gained
            out.cost[first + c, a] = inputs.own_cost[first + c] + pace * out.child_cost[c, a]


@called_kernel
def divide_by_cost(node, sketch, out):  # type: ignore[no-untyped-def]
    """Utility is contribution per unit of cost."""
    for c in range(sketch.class_at[node], sketch.class_at[node + 1]):
        for a in range(out.cost.shape[1]):
            out.utility[c, a] /= max(out.cost[c, a], 1e-12)


@called_kernel
def sum_over_ages(node, links, sketch, inputs, out):  # type: ignore[no-untyped-def]
    """Contribution and cost from the middle of each age to the end of the window; 0 for ages in which it isn't kept."""
    first, end = sketch.class_at[node], sketch.class_at[node + 1]
    column, columns = links.column_at[node], links.column_at[node + 1] - links.column_at[node]
    ages, pace = out.cost.shape[1], sketch.pace[node]
    goes_on = links.child_at[node] < links.child_at[node + 1]
    for p in range(columns):
        pattern = links.column[column + p]
        as_segment = _as_segment(node, pattern, links, sketch, out)
        for c in range(first, end):
            at = out.contribution_at[node] + ((c - first) * columns + p) * ages
            final, later = as_segment, 0.0
            if links.ends[node, pattern]:
                final += (sketch.ended[c, pattern] + 1.0) / (sketch.made[c] + 1.0)
            for a in range(ages - 1, -1, -1):
                now = 0.0
                if goes_on and out.utility[c, a] >= inputs.min_utility[node, pattern]:
                    now = pace * out.child_contribution[(c - first) * columns + p, a]
                out.contribution[at + a] = final + later + 0.5 * now
                later += now
    least = np.inf
    for p in range(columns):
        least = min(least, inputs.min_utility[node, links.column[column + p]])
    for c in range(first, end):
        later = 0.0
        for a in range(ages - 1, -1, -1):
            now = out.cost[c, a] if goes_on and out.utility[c, a] >= least else 0.0
            out.cost[c, a] = later + 0.5 * now
            later += now


@called_kernel
def _as_segment(node, pattern, links, sketch, out):  # type: ignore[no-untyped-def]
    """Contribution of a segment to a pattern: number of joined partial matches per segment, times their average
    contribution."""
    ages = out.cost.shape[1]
    mine, contribution = 1.0, 0.0
    for c in range(sketch.class_at[node], sketch.class_at[node + 1]):
        mine += sketch.attempted[c]
    for index in range(links.join_at[node], links.join_at[node + 1]):
        target = links.join[index]
        first, end = sketch.class_at[target], sketch.class_at[target + 1]
        column, columns = links.column_at[target], links.column_at[target + 1] - links.column_at[target]
        joined, total = 1.0, 0.0
        for c in range(first, end):
            joined += sketch.attempted[c]
            for p in range(columns):
                if links.column[column + p] == pattern:
                    for a in range(ages):
                        total += out.contribution[out.contribution_at[target] + ((c - first) * columns + p) * ages + a]
        contribution += joined / mine * total / ((end - first) * ages)
    return contribution
