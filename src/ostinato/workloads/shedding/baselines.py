"""How the other policies choose what is kept of the state: at random, or each pattern by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.matcher.ledger import TAG_RANGE, Orders
from ostinato.workloads.shedding.limits import Measured
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.state_selection import BUCKETS, Limit, Selection, bits_of, bucket_of, cut_of
from ostinato.workloads.shedding.worth import CostModel, estimate

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
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


def random_state(sketch: Sketch, share: float, bounded: Bools) -> Selection:
    """One draw for a first event and all that grows out of it: a draw at each step would leave hardly any match."""
    kept = np.full((int(sketch.class_at[-1]), sketch.ages), share)
    return _whole_or_not(sketch, np.full(sketch.shape.patterns, BUCKETS * (1.0 - share)), kept, bounded)


def each_by_itself(sketch: Sketch, model: CostModel, price: Reals, limits: list[Limit], bounded: Bools) -> Selection:
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
    return _whole_or_not(sketch, cuts, kept, bounded)


def _whole_or_not(sketch: Sketch, cut: Reals, kept: Reals, bounded: Bools) -> Selection:
    """For all patterns that have a bound, or for none of them. Matches are never dropped, and nothing is dropped for a
    pattern without a bound."""
    shape = sketch.shape
    goes_on = np.array([bool(children) for children in shape.children])
    kept[~goes_on[sketch.node_of]] = 1.0
    masks = np.full((2, kept.size, -(-shape.patterns // 64)), ~np.uint64(0))
    masks[1, kept.ravel() < 1.0] = bits_of(~bounded[None, None, :], np.arange(shape.patterns), masks.shape[2])[0, 0]
    threshold = (kept.ravel() * TAG_RANGE).astype(np.uint64)
    has_exact = np.asarray((shape.reach & ~bounded).any(axis=1))[sketch.node_of]
    return Selection(cut, np.where(has_exact[:, None], 1.0, kept), kept, Orders(masks, threshold))
