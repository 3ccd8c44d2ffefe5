"""Estimates + what may be spent -> Orders: the greedy selection of SHARP (Alg. 4) under its constraint (3).

Slots are taken in the order of quality while every limit holds, the last ones in part. Qualities are put into buckets a
sixteenth of an octave wide, so that there is nothing to sort: a bucket queue over all slots.

Alg. 4, line 1 keeps only what no overloaded pattern shares, and would drop partial matches that a calm pattern still
needs. Here a calm pattern keeps its bit everywhere; and where a step is taken for a calm pattern anyway, the others
keep theirs too, since dropping it would save nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.matcher.ledger import TAG_RANGE, Orders
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.selection_kernel import KeptSlots, keep_above
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.worth import CostModel, Estimates

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
BUCKETS = 1024
_PER_OCTAVE = 16
_LOWEST_OCTAVE = -48
KEEP_ALL = -1.0
"""A cut below all buckets."""
MOST_LOWERED = float(_PER_OCTAVE)
"""By how much a cut falls at once, at most: what would come of those that were dropped isn't among what was counted, so
there seems to be room for far more than there is."""


EXPLORE = 0.02
"""Which part of what is kept goes to first events, drawn by tag, of which nothing is dropped."""
LEAST_SPARE = 0.05
"""However little may be kept, so much of it at least is reckoned with when that part is worked out."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What all slots together may cost: for `patterns`, at most `budget`."""

    patterns: Bools
    cost: Reals
    """[class, age]"""
    budget: float


@dataclass(frozen=True, slots=True)
class Selection:
    """`cut` [pattern]: the bucket down to which slots are kept; its fraction is the part of that bucket which isn't.
    KEEP_ALL for calm patterns."""

    cut: Reals
    kept: Reals
    """[class, age] the share that is kept for some pattern."""
    whole: Reals
    """[class, age] the share that is kept for all patterns."""
    orders: Orders


def select(
    sketch: Sketch, found: Estimates, limits: list[Limit], explore: float, before: Reals, moved: float = 1.0
) -> Selection:
    """`explore`: the share of first events, by tag, of which everything is kept, so that changes are noticed. `before`
    is the cut so far, and `moved` how much of the way it goes: what is born behind a node follows only later."""
    shape = sketch.shape
    bucket = bucket_of(found.quality)
    cut, limited = np.full(shape.patterns, KEEP_ALL), np.zeros(shape.patterns, np.bool_)
    for limit in limits:
        cut = np.where(limit.patterns, np.maximum(cut, cut_of(bucket, limit)), cut)
        limited |= limit.patterns
    # Not for a pattern that is calm by now: its matches aren't weighed any more, and all that is its own would go.
    moves = limited & (before >= 0)
    cut = np.where(moves, np.maximum(before + moved * (cut - before), before - MOST_LOWERED), cut)
    masks = np.full((2, bucket.size, -(-shape.patterns // 64)), -1, np.int64)
    slots = KeptSlots(masks, *(np.empty(bucket.shape) for _ in range(3)))
    keep_above(bucket, node_cut(shape, cut), sketch.class_at, sketch.links, explore, slots)
    # Tags below a slot's threshold keep what is kept in part, the others only what is kept whole.
    orders = Orders(masks.view(np.uint64), (slots.drawn * TAG_RANGE).astype(np.uint64).reshape(-1))
    return Selection(cut, slots.kept, slots.whole, orders)


def choose_best(
    sketch: Sketch,
    model: CostModel,
    found: Estimates,
    limits: list[Limit],
    before: Reals,
    moved: float,
    estimate: Callable[[Sketch, CostModel, Reals], Estimates],
) -> tuple[Selection, Estimates]:
    """Where nothing was dropped so far, good prefixes are blamed for bad children: then once more, without those."""
    explore = to_explore(limits)
    chosen = select(sketch, found, limits, explore, before, moved)
    if (before >= 0).any():
        return chosen, found
    found = estimate(sketch, model, price_of(node_cut(sketch.shape, chosen.cut)))
    return select(sketch, found, limits, explore, before, moved), found


def to_explore(limits: list[Limit]) -> float:
    """The share of first events of which everything is kept."""
    spare = min(limit.budget / max(float(limit.cost.sum()), 1e-9) for limit in limits)
    return EXPLORE * min(max(spare, LEAST_SPARE), 1.0)


def bucket_of(quality: Reals) -> NDArray[np.int64]:
    octave = np.log2(np.clip(quality, 2.0**_LOWEST_OCTAVE, 2.0**-_LOWEST_OCTAVE))
    bucket: NDArray[np.int64] = np.minimum((octave - _LOWEST_OCTAVE) * _PER_OCTAVE, BUCKETS - 1).astype(np.int64)
    return bucket


def ranks(found: Estimates | None, slots: int) -> NDArray[np.int64]:
    """[slot] by which partial matches are ordered; all alike where nobody has worked that out."""
    return np.zeros(slots, np.int64) if found is None else bucket_of(found.quality).ravel()


def price_of(cut: Reals) -> Reals:
    """The quality at which a bucket begins; 0 below all."""
    return np.where(cut < 0, 0.0, 2.0 ** (np.floor(cut) / _PER_OCTAVE + _LOWEST_OCTAVE))


def cut_of(bucket: NDArray[np.int64], limit: Limit) -> float:
    """Taking the best buckets first: where the budget is spent."""
    spent = np.cumsum(np.bincount(bucket.ravel(), limit.cost.ravel(), BUCKETS)[::-1])
    if spent[-1] <= limit.budget * (1 + 1e-9):  # the whole may be given as a budget, summed in another order
        return KEEP_ALL
    last = int(np.searchsorted(spent, limit.budget, side="right"))
    before = spent[last - 1] if last else 0.0
    part = max(0.0, limit.budget - before) / (spent[last] - before)
    return float(BUCKETS - 1 - last + min(1.0 - part, 0.999))


def node_cut(shape: PlanShape, cut: Reals) -> Reals:
    """[node, pattern] the cut that counts there. A step is paid for by all patterns that it leads to: the strictest
    decides, unless a calm one has it taken anyway."""
    has_calm = (shape.step_patterns & (cut < 0)).any(axis=1)
    strictest = np.where(shape.step_patterns, cut, KEEP_ALL).max(axis=1, initial=KEEP_ALL)
    by_step = np.where(has_calm, KEEP_ALL, strictest)
    found = np.full((shape.nodes, shape.patterns), KEEP_ALL)
    np.maximum.at(found, shape.step_source, np.where(shape.step_patterns, by_step[:, None], KEEP_ALL))
    return found
