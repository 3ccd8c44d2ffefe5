"""How the other policies choose: at random, each pattern by itself, or by the use of events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ostinato.sharing.merged_plan import MergedPlan
from ostinato.techniques.bounded_latency.ledger import TAG_RANGE, Orders
from ostinato.techniques.bounded_latency.limits import Measured
from ostinato.techniques.bounded_latency.selection import BUCKETS, Limit, Selection, bucket_of, cut_of
from ostinato.techniques.bounded_latency.sketch import Sketch
from ostinato.techniques.bounded_latency.worth import CostModel, estimate

Reals = NDArray[np.float64]
LEAST_SHARE = 1e-3
STEP = 0.3
"""How far a share moves towards what the measurement asks for: more of it swings, for a drop shows only later."""


def next_share(share: float, measured: Measured) -> float:
    """What to keep at random, so that the bound that is missed most is met."""
    known = np.isfinite(measured.bound) & (measured.value > 0)
    if not known.any():
        return 1.0
    asked = float((measured.bound[known] / measured.value[known]).min())
    return float(np.clip(share * asked**STEP, LEAST_SHARE, 1.0))


def queue_share(waiting_ns: float, bound_ns: float, window_rows: float) -> float:
    """DARLING: the longer the queue, the less is admitted; a queue of a quarter window halves it."""
    return float(max(LEAST_SHARE, 1.0 / (1.0 + waiting_ns / (bound_ns * window_rows / 4))))


def random_state(sketch: Sketch, share: float) -> Selection:
    """Every partial match by its own tag."""
    patterns = sketch.shape.patterns
    kept = np.full((int(sketch.class_at[-1]), sketch.ages), share)
    return Selection(np.full(patterns, BUCKETS * (1.0 - share)), kept, _whole_or_not(sketch, kept))


def each_by_itself(sketch: Sketch, model: CostModel, price: Reals, limits: list[Limit]) -> Selection:
    """ICDE'20: every pattern selects by its own contribution, and what any of them selects is kept for all."""
    shape = sketch.shape
    kept = np.zeros((int(sketch.class_at[-1]), sketch.ages))
    cuts = np.full(shape.patterns, -1.0)
    for pattern in range(shape.patterns):
        alone = replace(model, weights=model.weights * (np.arange(shape.patterns) == pattern))
        bucket = bucket_of(estimate(sketch, alone, price).quality)
        cuts[pattern] = max((cut_of(bucket, limit) for limit in limits if limit.patterns[pattern]), default=-1.0)
        share = np.clip(bucket - cuts[pattern] + 1.0, 0.0, 1.0) if cuts[pattern] >= 0 else np.ones(bucket.shape)
        kept = np.maximum(kept, share * shape.reach[sketch.node_of, pattern][:, None])
    return Selection(cuts, kept, _whole_or_not(sketch, kept))


def _whole_or_not(sketch: Sketch, kept: Reals) -> Orders:
    """For all patterns or for none. Matches are never dropped."""
    words = max(1, -(-sketch.shape.patterns // 64))
    goes_on = np.array([bool(children) for children in sketch.shape.children])
    kept[~goes_on[sketch.node_of]] = 1.0
    masks = np.full((2, kept.size, words), ~np.uint64(0))
    masks[1, kept.ravel() < 1.0] = 0
    return Orders(masks, (kept.ravel() * TAG_RANGE).astype(np.uint64))


def condition_use(plan: MergedPlan, sketch: Sketch, happened: Reals) -> Reals:
    """[condition] the matches that an event which fulfils it is likely to be in: over all steps that it may take, what
    is born there and what that is worth. `happened`: how many such events there were."""
    patterns = sketch.shape.patterns
    found = estimate(sketch, CostModel(np.ones(patterns)), np.zeros((sketch.shape.nodes, patterns)))
    born = sketch.by_node(sketch.attempts.sum(axis=1))
    worth = np.array([float(of_node.sum(axis=1).mean()) if of_node.size else 0.0 for of_node in found.worth])
    use = np.zeros(len(happened))
    for target, condition in {(step.target, step.condition) for step in plan.steps}:
        use[condition] += born[target] * worth[target]
    return use / np.maximum(happened, 1.0)
