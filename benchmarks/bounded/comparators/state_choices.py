"""Other ways to choose the partial matches that are kept: at random, or by each pattern alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.bounded.comparators.event_admission import LEAST_SHARE
from ostinato.workloads.matcher.ledger import TAG_RANGE, KeepMasks
from ostinato.workloads.shedding.limits import Measurements
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.state_selection import BUCKETS, Limit, StateSelection, bucket_of, cut_of
from ostinato.workloads.shedding.utility import CostModel, Estimates

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
STEP = 0.3
"""Exponent of a correction. A full correction swings, since a drop shows in the latency only later."""


def next_share(share: float, now: Measurements) -> float:
    """The random share to keep, so that the bound that is missed most is met."""
    known = np.isfinite(now.bound) & (now.value > 0)
    if not known.any():
        return 1.0
    target_fraction = float((now.bound[known] / now.value[known]).min())
    return float(np.clip(share * target_fraction**STEP, LEAST_SHARE, 1.0))


def random_choice(sketch: Sketch, share: float, bounded: Bools) -> StateSelection:
    """One draw for a first event and all that grows out of it. A draw at each step would leave hardly any match."""
    kept = np.full((int(sketch.class_at[-1]), sketch.ages), share)
    return _all_patterns_or_none(sketch, np.full(sketch.shape.patterns, BUCKETS * (1.0 - share)), kept, bounded)


def choice_of_each_pattern(
    sketch: Sketch,
    model: CostModel,
    min_utility: Reals,
    limits: list[Limit],
    bounded: Bools,
    estimate: Callable[[Sketch, CostModel, Reals], Estimates],
) -> StateSelection:
    """ICDE'20: every pattern selects by its own contribution. A partial match that any of them selects is kept for
    all."""
    shape = sketch.shape
    kept = np.zeros((int(sketch.class_at[-1]), sketch.ages))
    cuts = np.full(shape.patterns, -1.0)
    for pattern in range(shape.patterns):
        alone = replace(model, weights=model.weights * (np.arange(shape.patterns) == pattern))
        bucket = bucket_of(estimate(sketch, alone, min_utility).utility)
        cuts[pattern] = max((cut_of(bucket, limit) for limit in limits if limit.patterns[pattern]), default=-1.0)
        share = np.clip(bucket - cuts[pattern] + 1.0, 0.0, 1.0) if cuts[pattern] >= 0 else np.ones(bucket.shape)
        kept = np.maximum(kept, share * shape.reach[sketch.node_of, pattern][:, None])
    return _all_patterns_or_none(sketch, cuts, kept, bounded)


def _all_patterns_or_none(sketch: Sketch, cut: Reals, kept: Reals, bounded: Bools) -> StateSelection:
    """Partial matches are kept for all patterns that have a bound, or for none of them. Matches are never dropped, and
    nothing is dropped for a pattern without a bound."""
    shape = sketch.shape
    goes_on = np.array([bool(children) for children in shape.children])
    kept[~goes_on[sketch.node_of]] = 1.0
    masks = np.full((2, kept.size, -(-shape.patterns // 64)), ~np.uint64(0))
    masks[1, kept.ravel() < 1.0] = _bits_of(~bounded, masks.shape[2])
    threshold = (kept.ravel() * TAG_RANGE).astype(np.uint64)
    has_exact = np.asarray((shape.reach & ~bounded).any(axis=1))[sketch.node_of]
    return StateSelection(cut, np.where(has_exact[:, None], 1.0, kept), kept, KeepMasks(masks, threshold))


def _bits_of(patterns: Bools, words: int) -> NDArray[np.uint64]:
    """[pattern] -> [word]"""
    bits = np.zeros(words, np.uint64)
    for pattern in np.flatnonzero(patterns).tolist():
        bits[pattern // 64] |= np.uint64(1) << np.uint64(pattern % 64)
    return bits
