"""Estimates + budgets -> KeepMasks: the greedy selection of SHARP (Alg. 4) under its constraint (3).

Slots are kept in order of utility while every limit holds. Of the last bucket a fraction is kept. Utilities are put
into buckets a sixteenth of an octave wide, so nothing has to be sorted.

A pattern is *calm* while it isn't overloaded. Alg. 4, line 1 keeps only partial matches that no overloaded pattern
shares. That would drop some that a calm pattern still needs. Here a calm pattern keeps its bit everywhere. If a step is
tried for a calm pattern anyway, the others keep their bits too, since dropping them would save nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.matcher.ledger import TAG_RANGE, KeepMasks
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.selection_kernel import SlotShares, keep_above
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.utility import CostModel, Estimates

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
BUCKETS = 1024
_PER_OCTAVE = 16
_LOWEST_OCTAVE = -48
KEEP_ALL = -1.0
"""A cut below all buckets."""
MAX_LOWERED = float(_PER_OCTAVE)
"""Largest step by which a cut falls. Descendants of dropped partial matches aren't counted, so the cost of keeping more
is underestimated."""
EXPLORE = 0.02
"""Fraction of the kept state that is spent on exploration: first events, drawn by tag, of which nothing is dropped."""
MIN_SPARE = 0.05
"""Smallest kept fraction that the share for exploration is computed from."""


@dataclass(frozen=True, slots=True)
class Limit:
    """For `patterns`, all slots together may cost at most `budget`."""

    patterns: Bools
    cost: Reals
    """[class, age]"""
    budget: float


@dataclass(frozen=True, slots=True)
class StateSelection:
    """`cut` [pattern]: the bucket down to which slots are kept. Its fractional part is the fraction of that bucket
    which is dropped. KEEP_ALL for calm patterns."""

    cut: Reals
    kept_share: Reals
    """[class, age] fraction that is kept for at least one pattern."""
    full_share: Reals
    """[class, age] fraction that is kept for all patterns."""
    keep_masks: KeepMasks


def select(
    sketch: Sketch, estimates: Estimates, limits: list[Limit], explore: float, before: Reals, cut_step: float = 1.0
) -> StateSelection:
    """`explore`: fraction of first events, by tag, of which everything is kept, so that changes are noticed. `before`:
    the present cut. `cut_step`: fraction of the distance to the new cut that is applied now. Descendants of dropped
    partial matches go missing only later."""
    shape = sketch.shape
    bucket = bucket_of(estimates.utility)
    cut, limited = np.full(shape.patterns, KEEP_ALL), np.zeros(shape.patterns, np.bool_)
    for limit in limits:
        cut = np.where(limit.patterns, np.maximum(cut, cut_of(bucket, limit)), cut)
        limited |= limit.patterns
    # A pattern that is calm now keeps everything at once: its matches have no weight, so all of its state would go.
    moves = limited & (before >= 0)
    cut = np.where(moves, np.maximum(before + cut_step * (cut - before), before - MAX_LOWERED), cut)
    masks = np.full((2, bucket.size, -(-shape.patterns // 64)), -1, np.int64)
    slots = SlotShares(masks, *(np.empty(bucket.shape) for _ in range(3)))
    keep_above(bucket, node_cut(shape, cut), sketch.class_at, sketch.links, explore, slots)
    # Tags below a slot's threshold also keep the patterns that are kept in part.
    keep_masks = KeepMasks(masks.view(np.uint64), (slots.drawn * TAG_RANGE).astype(np.uint64).reshape(-1))
    return StateSelection(cut, slots.kept_share, slots.full_share, keep_masks)


def select_best(
    sketch: Sketch,
    model: CostModel,
    estimates: Estimates,
    limits: list[Limit],
    before: Reals,
    cut_step: float,
    estimate: Callable[[Sketch, CostModel, Reals], Estimates],
) -> tuple[StateSelection, Estimates]:
    """Selects twice where nothing was dropped so far: the first estimates charge good prefixes for children that will
    be dropped."""
    explore = explored_fraction(limits)
    chosen = select(sketch, estimates, limits, explore, before, cut_step)
    if (before >= 0).any():
        return chosen, estimates
    estimates = estimate(sketch, model, min_utility_of(node_cut(sketch.shape, chosen.cut)))
    return select(sketch, estimates, limits, explore, before, cut_step), estimates


def explored_fraction(limits: list[Limit]) -> float:
    """The fraction of first events of which everything is kept."""
    spare = min(limit.budget / max(float(limit.cost.sum()), 1e-9) for limit in limits)
    return EXPLORE * min(max(spare, MIN_SPARE), 1.0)


def bucket_of(utility: Reals) -> NDArray[np.int64]:
    octave = np.log2(np.clip(utility, 2.0**_LOWEST_OCTAVE, 2.0**-_LOWEST_OCTAVE))
    bucket: NDArray[np.int64] = np.minimum((octave - _LOWEST_OCTAVE) * _PER_OCTAVE, BUCKETS - 1).astype(np.int64)
    return bucket


def ranks(estimates: Estimates | None, slots: int) -> NDArray[np.int64]:
    """[slot] order of partial matches; all are equal without estimates."""
    return np.zeros(slots, np.int64) if estimates is None else bucket_of(estimates.utility).ravel()


def min_utility_of(cut: Reals) -> Reals:
    """The utility at which a bucket begins; 0 below all."""
    return np.where(cut < 0, 0.0, 2.0 ** (np.floor(cut) / _PER_OCTAVE + _LOWEST_OCTAVE))


def cut_of(bucket: NDArray[np.int64], limit: Limit) -> float:
    """The cut at which the budget is spent, taking the best buckets first."""
    spent = np.cumsum(np.bincount(bucket.ravel(), limit.cost.ravel(), BUCKETS)[::-1])
    if spent[-1] <= limit.budget * (1 + 1e-9):  # the total may be given as a budget, summed in another order
        return KEEP_ALL
    last = int(np.searchsorted(spent, limit.budget, side="right"))
    before = spent[last - 1] if last else 0.0
    kept_fraction = max(0.0, limit.budget - before) / (spent[last] - before)
    return float(BUCKETS - 1 - last + min(1.0 - kept_fraction, 0.999))


def node_cut(shape: PlanShape, cut: Reals) -> Reals:
    """[node, pattern] the cut that applies there. All patterns that a step leads to pay for it, so the strictest cut
    applies, unless a calm pattern needs the step anyway."""
    has_calm = (shape.step_patterns & (cut < 0)).any(axis=1)
    strictest = np.where(shape.step_patterns, cut, KEEP_ALL).max(axis=1, initial=KEEP_ALL)
    by_step = np.where(has_calm, KEEP_ALL, strictest)
    by_node = np.full((shape.nodes, shape.patterns), KEEP_ALL)
    np.maximum.at(by_node, shape.step_source, np.where(shape.step_patterns, by_step[:, None], KEEP_ALL))
    return by_node
