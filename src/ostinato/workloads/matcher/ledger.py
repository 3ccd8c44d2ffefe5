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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

AGES = 8
"""Into how many parts a window is cut, unless the matcher is told otherwise."""
TAG_RANGE = 1 << 32
"""Tags lie below it."""


class Ledger(NamedTuple):
    """Counted by the matcher since the start (`live`: now); the keeper takes differences."""

    live: NDArray[np.int64]
    """[class] partial matches now."""
    created: NDArray[np.int64]
    """[slot] partial matches made (kept for at least one pattern), by their age when made."""
    refused: NDArray[np.int64]
    """[slot] partial matches that were not made, since the orders left no pattern to keep them for."""
    evicted: NDArray[np.int64]
    """[slot] partial matches that were dropped to give memory back, by their age then."""
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
    """[cell] which classes come out of which: what was made, or refused, out of whole partial matches. The chain of a
    node and a child, [class of the node, class of the child], lies as one block among those of all such pairs.

    A partial match is whole while it is kept for all patterns of its node. From others nothing is learnt of what would
    become of it: steps that only a dropped pattern takes aren't tried."""
    whole_visits: NDArray[np.int64]
    """[class] visits to whole ones."""
    whole_made: NDArray[np.int64]
    """[class] made whole, before guards."""
    whole_ended: NDArray[np.int64]
    """[class, pattern] matches out of those."""


class Orders(NamedTuple):
    """What the keeper wants kept. Bit p % 64 of word p // 64 stands for pattern p.

    A partial match with tag t (a pseudo-random number below 2^32) is kept for `masks[0, slot]` where t <
    `threshold[slot]`, for `masks[1, slot]` otherwise. Nothing dropped: all bits are set. The tag is a hash of the
    first event (its sequence, time and place), so all that grew out of one first event share it: what is kept in part
    at one node is kept for the same first events at the next.
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
    chain_at: NDArray[np.int64]
    """[node, child] the birth of class c out of class p is counted in cell `chain_at + p * classes of the child + c` of
    `Ledger.births`."""
    cells: int
    feature_at: NDArray[np.int64]
    edge_at: NDArray[np.int64]
    edges: NDArray[np.float64]


def new_ledger(buckets: Buckets, ages: int, patterns: int, steps: int) -> Ledger:
    """Nothing is counted yet."""
    classes = int(buckets.class_at[-1])
    slots = classes * ages
    return Ledger(
        live=np.zeros(classes, np.int64),
        created=np.zeros(slots, np.int64),
        refused=np.zeros(slots, np.int64),
        evicted=np.zeros(slots, np.int64),
        visits=np.zeros(slots, np.int64),
        checks=np.zeros(classes, np.int64),
        completed=np.zeros((classes, patterns), np.int64),
        dropped=np.zeros((classes, patterns), np.int64),
        step_work=np.zeros(steps, np.int64),
        births=np.zeros(buckets.cells, np.int64),
        whole_visits=np.zeros(classes, np.int64),
        whole_made=np.zeros(classes, np.int64),
        whole_ended=np.zeros((classes, patterns), np.int64),
    )


def chain_begins(class_at: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Where the chain of each (node, child) begins among all cells; behind the last, how many there are."""
    sizes = np.diff(class_at)
    return np.cumsum([0, *(int(sizes[node] * sizes[child]) for node, child in pairs)]).astype(np.int64)


def chain_places(class_at: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """`Buckets.chain_at`."""
    nodes, begins = len(class_at) - 1, chain_begins(class_at, pairs)
    places = np.zeros((nodes, nodes), np.int64)
    for begin, (node, child) in zip(begins.tolist(), pairs, strict=False):
        width = class_at[child + 1] - class_at[child]
        places[node, child] = begin - class_at[node] * width - class_at[child]
    return places
