"""Figures 2 and 3 of SHARP. P2 and P3 are overloaded, P1 isn't."""

from __future__ import annotations

import numpy as np
import pytest
from tests.workloads.shedding.bounded_runs import Stream

from ostinato.workloads.matcher.ledger import TAG_RANGE, buckets_of
from ostinato.workloads.matcher.plan_shape import PlanShape, shape_of
from ostinato.workloads.shedding.class_edges import no_edges
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.state_selection import (
    BUCKETS,
    KEEP_ALL,
    MAX_LOWERED,
    Limit,
    StateSelection,
    bucket_of,
    cut_of,
    min_utility_of,
    select,
)
from ostinato.workloads.shedding.utility import Estimates

AGES = 2
OVERLOADED = np.array([False, True, True])


def _text(pattern: str) -> str:
    return f"TIME at TYPE kind PATTERN SEQ({pattern}) WITHIN 10 EVENTS RETURN MATCHES"


@pytest.fixture(scope="module")
def shape() -> PlanShape:
    kinds = ("A a, B b, C c, D d", "A a, B b, E e, F f", "A a, B b, E e, G g")
    return shape_of(Stream(tuple(map(_text, kinds)), columns={}).merged)


def _selected(
    shape: PlanShape, budget: float, explore: float = 0.0, before: float = KEEP_ALL
) -> tuple[StateSelection, dict[str, int]]:
    """Selects slots that have the same utility and cost 1. Also returns nodes by bit set, with `+` for inner nodes."""
    buckets = buckets_of(no_edges((0,) * shape.nodes).edges, shape.pairs)
    sketch = Sketch(shape, buckets.class_at, AGES)
    slots = (shape.nodes, AGES)
    estimates = Estimates(
        np.ones(slots), np.zeros(0), np.zeros(shape.nodes + 1, np.int64), np.ones(slots), np.ones(slots), np.ones(slots)
    )
    reached = np.array([bool(children) for children in shape.children])
    cost = np.where(reached[:, None], 1.0, 0.0) * np.ones(slots)
    limits = [Limit(np.arange(3) == pattern, cost, budget) for pattern in np.flatnonzero(OVERLOADED)]
    selection = select(sketch, estimates, limits, explore, np.full(3, before))
    names = {}
    for node in shape.children_first:
        bits = "".join("1" if shape.reach[node, pattern] else "0" for pattern in (2, 1, 0))
        names.setdefault(f"{bits}{'+' if shape.children[node] else '.'}", node)
    return selection, names


def _kept_for(selection: StateSelection, node: int, tag_is_low: bool) -> str:
    """The patterns that keep the slot, as a bit set of the paper: P3 P2 P1."""
    mask = int(selection.keep_masks.masks[0 if tag_is_low else 1, node * AGES, 0])
    return "".join(str(mask >> pattern & 1) for pattern in (2, 1, 0))


def test_partial_matches_of_calm_patterns_only_are_kept(shape: PlanShape) -> None:
    selection, nodes = _selected(shape, budget=0.0)
    assert _kept_for(selection, nodes["001+"], tag_is_low=False) == "111"


def test_shared_partial_matches_are_kept_for_the_calm_pattern_only(shape: PlanShape) -> None:
    selection, nodes = _selected(shape, budget=0.0)
    last_shared = max(node for node in range(shape.nodes) if shape.reach[node].all() and len(shape.children[node]) > 1)
    assert _kept_for(selection, last_shared, tag_is_low=False) == "001"
    assert _kept_for(selection, nodes["110+"], tag_is_low=False) == "001"


def test_steps_that_a_calm_pattern_takes_are_kept_for_all_patterns(shape: PlanShape) -> None:
    selection, _ = _selected(shape, budget=0.0)
    first = int(np.flatnonzero(shape.first)[0])
    assert _kept_for(selection, first, tag_is_low=False) == "111"


def test_the_slots_at_the_cut_are_kept_for_some_tags(shape: PlanShape) -> None:
    slots = AGES * sum(bool(children) for children in shape.children)
    selection, nodes = _selected(shape, budget=slots / 4)
    threshold = int(selection.keep_masks.threshold[nodes["110+"] * AGES])
    assert threshold == pytest.approx(TAG_RANGE / 4, rel=0.01)
    assert _kept_for(selection, nodes["110+"], tag_is_low=True) == "111"


def test_a_sufficient_budget_drops_nothing(shape: PlanShape) -> None:
    selection, _ = _selected(shape, budget=1000.0)
    assert (selection.cut == KEEP_ALL).all()
    assert (selection.keep_masks.masks == ~np.uint64(0)).all()


def test_first_events_to_explore_are_kept_for_all(shape: PlanShape) -> None:
    selection, nodes = _selected(shape, budget=0.0, explore=0.02)
    assert int(selection.keep_masks.threshold[nodes["110+"] * AGES]) == int(0.02 * TAG_RANGE)
    assert _kept_for(selection, nodes["110+"], tag_is_low=True) == "111"


def test_the_best_slots_are_kept_first() -> None:
    utility = np.array([[0.5], [1.0], [2.0], [4.0]])
    cut = cut_of(bucket_of(utility), Limit(np.ones(1, np.bool_), np.ones((4, 1)), budget=2.5))
    kept_fraction = np.clip(bucket_of(utility).ravel() - cut + 1, 0, 1)
    assert kept_fraction == pytest.approx([0.0, 0.5, 1.0, 1.0])
    assert min_utility_of(np.array([cut, KEEP_ALL])) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("budget", [30.0, 1e9])
def test_a_cut_falls_by_an_octave_at_most(budget: float, shape: PlanShape) -> None:
    strict = BUCKETS - 1.0
    selection, _ = _selected(shape, budget, before=strict)
    assert selection.cut[OVERLOADED].tolist() == [strict - MAX_LOWERED] * int(OVERLOADED.sum())


def test_a_pattern_that_is_calm_again_keeps_everything_at_once(shape: PlanShape) -> None:
    selection, nodes = _selected(shape, budget=0.0, before=BUCKETS - 1.0)
    assert selection.cut.tolist()[0] == KEEP_ALL
    assert _kept_for(selection, nodes["001+"], tag_is_low=False) == "111"
