"""What was dropped -> how many matches that cost, by what partial matches like those yield when nothing is dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.techniques.bounded_latency.ledger import Ledger
from ostinato.techniques.bounded_latency.sketch import Sketch
from ostinato.techniques.bounded_latency.worth import CostModel, estimate

Reals = NDArray[np.float64]


@dataclass(slots=True)
class GivenUp:
    """[class, age, pattern of the class] isn't known: refused ones are counted by slot, drops by class and pattern."""

    refused: Reals
    """[class, age]"""
    dropped: Reals
    """[class, pattern]"""
    kept: Reals
    """[class, age] the least share that was kept meanwhile."""

    def add(self, counted: Ledger, kept: Reals) -> None:
        self.refused = self.refused + counted.refused.reshape(kept.shape)
        self.dropped = self.dropped + counted.dropped
        self.kept = np.minimum(self.kept, kept)


def nothing_given_up(slots: tuple[int, ...], patterns: int) -> GivenUp:
    return GivenUp(np.zeros(slots), np.zeros((slots[0], patterns)), np.ones(slots))


def lost_matches(sketch: Sketch, given_up: GivenUp) -> Reals:
    """[pattern] A match is counted once, where it is lost: what was dropped has no descendants that could be dropped.

    Those refused are known by their age; others were dropped when they came to the first age that isn't kept whole.
    """
    patterns = sketch.shape.patterns
    if not given_up.dropped.any():
        return np.zeros(patterns)
    everything = np.zeros((sketch.shape.nodes, patterns))
    worth = estimate(sketch, CostModel(np.ones(patterns)), everything).worth
    refused, partly = given_up.refused, given_up.kept < 1.0
    dropped_at = np.where(partly.any(axis=1), partly.argmax(axis=1), sketch.ages - 1)
    lost = np.zeros(patterns)
    for node, of_node in enumerate(worth):
        here, columns = sketch.of(node), np.flatnonzero(sketch.shape.reach[node])
        if not len(columns) or not of_node.size:
            continue
        times = given_up.dropped[here][:, columns]
        at_birth = np.minimum(refused[here].sum(axis=1)[:, None], times)
        by_age = refused[here] / np.maximum(refused[here].sum(axis=1), 1.0)[:, None]
        lost[columns] += (at_birth * np.einsum("ca,cpa->cp", by_age, of_node)).sum(axis=0)
        later = of_node[np.arange(len(times)), :, dropped_at[here]]
        lost[columns] += ((times - at_birth) * later).sum(axis=0)
    return lost
