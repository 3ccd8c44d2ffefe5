"""Estimates that don't tell classes or ages apart, for policies that know less than SHARP.

Each node has its child_contribution and costs averaged before they are used for the nodes before it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.utility import CostModel, Estimates, estimate
from ostinato.workloads.shedding.utility_kernel import add_children, divide_by_cost, rate_ages, smooth, sum_over_ages


def averaged_estimate(
    sketch: Sketch,
    model: CostModel,
    min_utility: NDArray[np.float64],
    *,
    by_class: bool = True,
    by_age: bool = True,
    per_cost: bool = True,
) -> Estimates:
    """False: all classes of a node, or all ages of a class, count as equal. `per_cost=False` orders partial matches by
    their yield alone, as Alg. 3 does."""
    kernel = partial(estimate_averages, visits=sketch.visits, by_class=by_class, by_age=by_age, per_cost=per_cost)
    return estimate(sketch, model, min_utility, kernel)


@borrowing_kernel
def estimate_averages(links, sketch, inputs, out, visits, by_class, by_age, per_cost):  # type: ignore[no-untyped-def]
    """`utility_kernel.estimate_nodes`, with averages."""
    for node in links.order:
        if links.child_at[node] < links.child_at[node + 1]:
            add_children(node, links, sketch, out)
            smooth(node, links, sketch, out)
            rate_ages(node, links, sketch, inputs, out)
            first, end = sketch.class_at[node], sketch.class_at[node + 1]
            average_out(first, end, visits, by_class, by_age, out.utility)
            average_out(first, end, visits, by_class, by_age, out.cost)
            if per_cost:
                divide_by_cost(node, sketch, out)
        sum_over_ages(node, links, sketch, inputs, out)
        out.is_done[node] = True


@called_kernel
def average_out(first, end, visits, by_class, by_age, values):  # type: ignore[no-untyped-def]
    """Gives all classes of a node, or all ages of a class, their mean. Those visited often weigh more."""
    if by_class and by_age:
        return
    ages = values.shape[1]
    for c in range(first, end if by_class else first + 1):
        for a in range(ages if by_age else 1):
            total, weight = 0.0, 0.0
            for d in range(c, c + 1 if by_class else end):
                for b in range(a, a + 1 if by_age else ages):
                    some = visits[d, b] + 1e-9  # where nothing was seen, all count alike
                    total += some * values[d, b]
                    weight += some
            for d in range(c, c + 1 if by_class else end):
                for b in range(a, a + 1 if by_age else ages):
                    values[d, b] = total / weight
