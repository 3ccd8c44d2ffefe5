"""What was dropped -> how many matches that cost, by what partial matches like those yield when nothing is dropped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.techniques.bounded_latency.ledger import Ledger
from ostinato.techniques.bounded_latency.sketch import Sketch
from ostinato.techniques.bounded_latency.worth import CostModel, estimate

Reals = NDArray[np.float64]


def lost_matches(sketch: Sketch, counted: Ledger, kept: Reals) -> Reals:
    """[pattern] A match is counted once, where it is lost: what was dropped has no descendants that could be dropped.

    Those refused are known by their age; others were dropped when they came to the first age that isn't kept whole.
    """
    patterns = sketch.shape.patterns
    if not counted.dropped.any():
        return np.zeros(patterns)
    everything = np.zeros((sketch.shape.nodes, patterns))
    worth = estimate(sketch, CostModel(np.ones(patterns)), everything).worth
    refused = counted.refused.reshape(kept.shape).astype(np.float64)
    dropped_at = np.where((kept < 1.0).any(axis=1), (kept < 1.0).argmax(axis=1), sketch.ages - 1)
    lost = np.zeros(patterns)
    for node, of_node in enumerate(worth):
        here, columns = sketch.of(node), np.flatnonzero(sketch.shape.reach[node])
        if not len(columns) or not of_node.size:
            continue
        times = counted.dropped[here][:, columns].astype(np.float64)
        at_birth = np.minimum(refused[here].sum(axis=1)[:, None], times)
        by_age = refused[here] / np.maximum(refused[here].sum(axis=1), 1.0)[:, None]
        lost[columns] += (at_birth * np.einsum("ca,cpa->cp", by_age, of_node)).sum(axis=0)
        later = of_node[np.arange(len(times)), :, dropped_at[here]]
        lost[columns] += ((times - at_birth) * later).sum(axis=0)
    return lost
