"""What the matcher tells the keeper and the keeper tells the matcher: arrays, by class of partial match.

A partial match belongs to a *class* from the moment it is made: its node, and the buckets into which the values fall
that later conditions look at. Classes are numbered densely: node n has those from `class_at[n]` to before
`class_at[n + 1]`. Its *age* is how much of its window is over, in `ages` equal parts: (position now - position of its
first event) * ages // (length + 1), at most ages - 1; 0 where nothing bounds its length. A *slot* is a class at an age,
`class * ages + age`: it is worked out when a partial match is made or visited, so it needs no book-keeping.

The keeper never looks at partial matches one by one: it says for each slot which patterns its partial matches are kept
for. The matcher applies that when it makes one and whenever it visits one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

AGES = 8
"""Into how many parts a window is cut, unless the matcher is told otherwise."""
TAG_RANGE = 1 << 32
"""Tags lie below it."""
BIRTHS = 1 << 14
"""So many births are logged for the keeper between two of its decisions."""


class Ledger(NamedTuple):
    """Counted by the matcher since the start (`live`: now); the keeper takes differences."""

    live: NDArray[np.int64]
    """[class] partial matches now."""
    created: NDArray[np.int64]
    """[slot] partial matches made (kept for at least one pattern), by their age when made."""
    refused: NDArray[np.int64]
    """[slot] partial matches that were not made, since the orders left no pattern to keep them for."""
    visits: NDArray[np.int64]
    """[slot] times such a partial match was looked at for an event, by its age then."""
    checks: NDArray[np.int64]
    """[class] conditions asked on such visits."""
    completed: NDArray[np.int64]
    """[class, pattern] matches; the class is that of the partial match that became one, at the pattern's last node."""
    dropped: NDArray[np.int64]
    """[class, pattern] times a partial match was dropped for the pattern, or made without it, because of the orders."""
    step_work: NDArray[np.int64]
    """[step] visits + checks: what each pattern's latency is made of (a pattern has the steps of its nodes)."""
    births: NDArray[np.int64]
    """[BIRTHS + 1, 2] which classes come out of which: `births[0, 0]` entries have been written since the keeper set it
    to 0; entry k, (class of the parent, class of the child), is in row k + 1. One for each partial match that was made
    out of another or refused, as long as there is room."""


class Orders(NamedTuple):
    """What the keeper wants kept. Bit p % 64 of word p // 64 stands for pattern p.

    A partial match with tag t (a pseudo-random number below 2^32) is kept for `masks[0, slot]` where t <
    `threshold[slot]`, for `masks[1, slot]` otherwise. Nothing dropped: all bits are set. The tag is a hash of the
    first event (its sequence, time and place), so all that grew out of one first event share it: what is kept in part
    at one node is kept for the same first events at the next. With a matcher's `own_tags`, every partial match has a
    tag of its own instead.
    """

    masks: NDArray[np.uint64]
    """[2, slot, word]"""
    threshold: NDArray[np.uint64]
    """[slot]"""


class Buckets(NamedTuple):
    """How classes are told: value i of `feature_at[n]:feature_at[n + 1]` is that of feature i of node n; it falls into
    bucket number `searchsorted(edges[edge_at[i]:edge_at[i + 1]], value, side="right")`, NULL into the one behind them.
    The class is `class_at[n]` + the mixed-radix number of its buckets, the first feature counting most."""

    class_at: NDArray[np.int64]
    feature_at: NDArray[np.int64]
    edge_at: NDArray[np.int64]
    edges: NDArray[np.float64]
