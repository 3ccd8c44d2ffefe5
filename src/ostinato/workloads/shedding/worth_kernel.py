"""The kernel of `worth.py`: from the last nodes backwards, what partial matches of each class and age yield and cost.

Worth is kept in one flat array: that of node n begins at `worth_at[n]` and is [class of the node, pattern of the node,
age]. `links` is a `plan_shape.PlanLinks`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
PRIOR_VISITS = 5.0
"""A class with so many visits is believed half as much as the average of its node."""
HOPED_BIRTHS = 2.0
"""A node is taken to have had so many children of each kind beside those it had: what was never seen may be good."""


class Known(NamedTuple):
    """Of a sketch, what the kernel reads."""

    class_at: Ints
    chain_at: Ints
    """By place in `PlanLinks.child` where its chain begins in `cells`."""
    cells: Reals
    chain_visits: Reals
    ended: Reals
    made: Reals
    attempted: Reals
    """[class]"""
    pace: Reals


class Asked(NamedTuple):
    """What is at stake, as in `worth.CostModel`."""

    weights: Reals
    price: Reals
    """[node, pattern]"""
    own: Reals
    """[class] cost of one age of a partial match, without the cost of its children."""


class Found(NamedTuple):
    """What the kernel fills in, and its room to work in."""

    worth_at: Ints
    worth: Reals
    known: NDArray[np.bool_]
    """[node] whether its worth has been worked out."""
    cost: Reals
    quality: Reals
    yields: Reals
    """[class of a node * pattern of it, age]"""
    follows: Reals
    """[class of a node, age]"""
    average: Reals
    """[pattern of a node, age]"""


@borrowing_kernel
def work_out(links, known, asked, found):  # type: ignore[no-untyped-def]
    for node in links.order:
        if links.child_at[node] < links.child_at[node + 1]:
            yield_of_children(node, links, known, found)
            believe(node, links, known, found)
            judge(node, links, known, asked, found)
            rate_by_cost(node, known, found)
        settle(node, links, known, asked, found)
        found.known[node] = True


@called_kernel
def yield_of_children(node, links, known, found):  # type: ignore[no-untyped-def]
    """Births of each class by what they are worth and cost: `yields` and `follows`, and their averages of the node."""
    first, end = known.class_at[node], known.class_at[node + 1]
    column, columns = links.column_at[node], links.column_at[node + 1] - links.column_at[node]
    ages = found.cost.shape[1]
    for a in range(ages):
        for i in range((end - first) * columns):
            found.yields[i, a] = 0.0
        for c in range(end - first):
            found.follows[c, a] = 0.0
        for p in range(columns + 1):
            found.average[p, a] = 0.0
    for place in range(links.child_at[node], links.child_at[node + 1]):
        child = links.child[place]
        if not found.known[child]:  # behind a loop, in the first round
            continue
        of_child, width = known.class_at[child], known.class_at[child + 1] - known.class_at[child]
        its, count = links.column_at[child], links.column_at[child + 1] - links.column_at[child]
        for one in range(width):
            for a in range(ages):
                found.average[columns, a] += HOPED_BIRTHS / width * found.cost[of_child + one, a]
        at = np.int64(0)
        for p in range(count):
            while links.column[column + at] != links.column[its + p]:
                at += 1
            for one in range(width):
                worth = found.worth_at[child] + (one * count + p) * ages
                for a in range(ages):
                    found.average[at, a] += HOPED_BIRTHS / width * found.worth[worth + a]
        for c in range(end - first):
            for one in range(width):
                births = known.cells[known.chain_at[place] + c * width + one]
                if births == 0.0:
                    continue
                for a in range(ages):
                    found.follows[c, a] += births * found.cost[of_child + one, a]
                at = np.int64(0)
                for p in range(count):
                    while links.column[column + at] != links.column[its + p]:
                        at += 1
                    worth = found.worth_at[child] + (one * count + p) * ages
                    for a in range(ages):
                        found.yields[c * columns + at, a] += births * found.worth[worth + a]


@called_kernel
def believe(node, links, known, found):  # type: ignore[no-untyped-def]
    """`yields` and `follows` of a visit: of its class, the more the more often that was seen, and of the whole node."""
    first, end = known.class_at[node], known.class_at[node + 1]
    columns, ages = links.column_at[node + 1] - links.column_at[node], found.cost.shape[1]
    total = HOPED_BIRTHS
    for c in range(end - first):
        total += known.chain_visits[first + c]
        for a in range(ages):
            found.average[columns, a] += found.follows[c, a]
            for p in range(columns):
                found.average[p, a] += found.yields[c * columns + p, a]
    for c in range(end - first):
        believed = known.chain_visits[first + c] + PRIOR_VISITS
        for a in range(ages):
            usual = PRIOR_VISITS * found.average[columns, a] / total
            found.follows[c, a] = (found.follows[c, a] + usual) / believed
            for p in range(columns):
                usual = PRIOR_VISITS * found.average[p, a] / total
                found.yields[c * columns + p, a] = (found.yields[c * columns + p, a] + usual) / believed


@called_kernel
def judge(node, links, known, asked, found):  # type: ignore[no-untyped-def]
    """Leaves in `quality` the weighted yield of one age, and in `cost` its cost, both with all children of that age."""
    first, end = known.class_at[node], known.class_at[node + 1]
    column, columns = links.column_at[node], links.column_at[node + 1] - links.column_at[node]
    ages, pace = found.cost.shape[1], known.pace[node]
    for c in range(end - first):
        for a in range(ages):
            gained = 0.0
            for p in range(columns):
                gained += asked.weights[links.column[column + p]] * found.yields[c * columns + p, a]
            found.quality[first + c, a] = pace * gained
            found.cost[first + c, a] = asked.own[first + c] + pace * found.follows[c, a]


@called_kernel
def rate_by_cost(node, known, found):  # type: ignore[no-untyped-def]
    """Quality is yield per unit of cost."""
    for c in range(known.class_at[node], known.class_at[node + 1]):
        for a in range(found.cost.shape[1]):
            found.quality[c, a] /= max(found.cost[c, a], 1e-12)


@called_kernel
def settle(node, links, known, asked, found):  # type: ignore[no-untyped-def]
    """Worth and cost until the window ends, of one made in the midst of each age; nothing for what isn't kept."""
    first, end = known.class_at[node], known.class_at[node + 1]
    column, columns = links.column_at[node], links.column_at[node + 1] - links.column_at[node]
    ages, pace = found.cost.shape[1], known.pace[node]
    goes_on = links.child_at[node] < links.child_at[node + 1]
    for p in range(columns):
        pattern = links.column[column + p]
        as_segment = _as_segment(node, pattern, links, known, found)
        for c in range(first, end):
            at = found.worth_at[node] + ((c - first) * columns + p) * ages
            final, later = as_segment, 0.0
            if links.ends[node, pattern]:
                final += (known.ended[c, pattern] + 1.0) / (known.made[c] + 1.0)
            for a in range(ages - 1, -1, -1):
                now = 0.0
                if goes_on and found.quality[c, a] >= asked.price[node, pattern]:
                    now = pace * found.yields[(c - first) * columns + p, a]
                found.worth[at + a] = final + later + 0.5 * now
                later += now
    least = np.inf
    for p in range(columns):
        least = min(least, asked.price[node, links.column[column + p]])
    for c in range(first, end):
        later = 0.0
        for a in range(ages - 1, -1, -1):
            now = found.cost[c, a] if goes_on and found.quality[c, a] >= least else 0.0
            found.cost[c, a] = later + 0.5 * now
            later += now


@called_kernel
def _as_segment(node, pattern, links, known, found):  # type: ignore[no-untyped-def]
    """Matches of a pattern that what a partial match is joined to becomes: by how many there are, and their average."""
    ages = found.cost.shape[1]
    mine, worth = 1.0, 0.0
    for c in range(known.class_at[node], known.class_at[node + 1]):
        mine += known.attempted[c]
    for place in range(links.join_at[node], links.join_at[node + 1]):
        target = links.join[place]
        first, end = known.class_at[target], known.class_at[target + 1]
        column, columns = links.column_at[target], links.column_at[target + 1] - links.column_at[target]
        joined, total = 1.0, 0.0
        for c in range(first, end):
            joined += known.attempted[c]
            for p in range(columns):
                if links.column[column + p] == pattern:
                    for a in range(ages):
                        total += found.worth[found.worth_at[target] + ((c - first) * columns + p) * ages + a]
        worth += joined / mine * total / ((end - first) * ages)
    return worth
