"""What was dropped -> how many matches that cost, by what partial matches like those yield when nothing is dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.techniques.bounded_latency.ledger import Ledger
from ostinato.techniques.bounded_latency.sketch import Sketch
from ostinato.techniques.bounded_latency.worth import matches_to_come

Reals = NDArray[np.float64]
PARTS = 4
"""Into which an age is cut: with whole ages, a partial match late in its window that still needs six events would seem
to yield up to 77 times as many matches as it does, with quarters twice as many."""


@dataclass(slots=True)
class GivenUp:
    """[class, age, pattern of the class] isn't known: refused ones are counted by slot, drops by class and pattern."""

    refused: Reals
    """[class, age] those refused when made, or evicted for memory: their age is known."""
    dropped: Reals
    """[class, pattern]"""
    whole: Reals
    """[class, age] the least share that was kept for all patterns meanwhile."""

    def add(self, counted: Ledger, whole: Reals) -> None:
        self.refused = self.refused + (counted.refused + counted.evicted).reshape(whole.shape)
        self.dropped = self.dropped + counted.dropped
        self.whole = np.minimum(self.whole, whole)


def nothing_given_up(slots: tuple[int, ...], patterns: int) -> GivenUp:
    return GivenUp(np.zeros(slots), np.zeros((slots[0], patterns)), np.ones(slots))


def lost_matches(sketch: Sketch, given_up: GivenUp) -> Reals:
    """[pattern] A match is counted once, where it is lost: what was dropped has no descendants that could be dropped.

    Those refused or evicted are known by their age. The others were dropped when they came to the first age that isn't
    kept whole.
    """
    patterns = sketch.shape.patterns
    if not given_up.dropped.any():
        return np.zeros(patterns)
    found = matches_to_come(sketch, PARTS)
    partly = given_up.whole < 1.0
    dropped_at = np.where(partly.any(axis=1), partly.argmax(axis=1), sketch.ages // 2)
    lost = np.zeros(patterns)
    _add_lost(
        sketch.class_at, sketch.links, given_up.refused, given_up.dropped, dropped_at, found.worth, found.worth_at, lost
    )
    return lost


@borrowing_kernel
def _add_lost(class_at, links, refused, dropped, dropped_at, worth, worth_at, lost):  # type: ignore[no-untyped-def]
    ages = refused.shape[1]
    for node in range(len(class_at) - 1):
        columns = links.column_at[node + 1] - links.column_at[node]
        for c in range(class_at[node], class_at[node + 1]):
            born = 0.0
            for age in range(ages):
                born += refused[c, age]
            for p in range(columns):
                pattern = links.column[links.column_at[node] + p]
                at = worth_at[node] + ((c - class_at[node]) * columns + p) * ages * PARTS
                at_birth = min(born, dropped[c, pattern])
                for age in range(ages):
                    lost[pattern] += at_birth * refused[c, age] / max(born, 1.0) * _mean(worth, at, age)
                lost[pattern] += (dropped[c, pattern] - at_birth) * worth[at + dropped_at[c] * PARTS]


@inline_kernel
def _mean(worth, at, age):  # type: ignore[no-untyped-def]
    """Over the parts of an age."""
    total = 0.0
    for part in range(PARTS):
        total += worth[at + age * PARTS + part]
    return total / PARTS
