"""Ledger and KeepMasks: the arrays that the matcher and the load shedder exchange, by class of partial match.

A partial match belongs to a *class* from the moment it is made: its node, and the buckets of the values that later
conditions read. Classes are numbered densely: node n has those from `class_at[n]` to before
`class_at[n + 1]`. Its *age* is the elapsed part of its window, in `ages` equal steps: (position now - position of its
first event) * ages // (length + 1), at most ages - 1; 0 if nothing bounds its length. A *slot* is a class at an age,
`class * ages + age`. The matcher computes it when a partial match is made or visited, so nothing has to be updated.

The load shedder never looks at single partial matches. For each slot, its keep masks hold the patterns that partial
matches are kept for. The matcher applies the masks when it makes a partial match and whenever it visits one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Edges = tuple[tuple[NDArray[np.float64], ...], ...]
"""[node][feature] ascending values."""
AGES = 8
"""Default number of ages."""
TAG_RANGE = 1 << 32
"""Tags are numbers below it."""


class Ledger(NamedTuple):
    """The matcher's counts since the start of the call (`live`: at present). The shedder takes differences."""

    live: NDArray[np.int64]
    """[class] partial matches now."""
    created: NDArray[np.int64]
    """[slot] partial matches that were made, for at least one pattern, by their age when made."""
    refused: NDArray[np.int64]
    """[slot] partial matches that weren't made, because the keep masks left them no pattern."""
    evicted: NDArray[np.int64]
    """[slot] partial matches that were dropped to free memory, by their age then."""
    visits: NDArray[np.int64]
    """[slot] visits to such partial matches, by their age then."""
    checks: NDArray[np.int64]
    """[class] conditions that were checked on these visits."""
    completed: NDArray[np.int64]
    """[class, pattern] matches, by the class of the completing partial match at the pattern's last node."""
    dropped: NDArray[np.int64]
    """[class, pattern] partial matches that the keep masks dropped for the pattern, or that were made without it."""
    step_work: NDArray[np.int64]
    """[step] visits + checks. The latency of a pattern follows from the steps of its nodes."""
    births: NDArray[np.int64]
    """[cell] children of fully kept partial matches, made or refused, by the classes of both. The chain of a node and a
    child, [class of the node, class of the child], is one block of cells.

    A partial match is *fully kept* while it is kept for all patterns of its node. The shedder learns about children
    only from these. For others, the matcher skips the steps of dropped patterns, so children are missing. The fields
    below are named `whole_...`, because states store these names.
    """
    whole_visits: NDArray[np.int64]
    """[class] visits to fully kept partial matches."""
    whole_made: NDArray[np.int64]
    """[class] fully kept partial matches that were made, before guards."""
    whole_ended: NDArray[np.int64]
    """[class, pattern] matches that fully kept partial matches completed."""


class KeepMasks(NamedTuple):
    """The patterns that partial matches are kept for. Bit p % 64 of word p // 64 stands for pattern p.

    A partial match with tag t (a pseudo-random number below 2^32) is kept for `masks[0, slot]` if t <
    `threshold[slot]`, for `masks[1, slot]` otherwise. If nothing is dropped, all bits are set. The tag is a hash of the
    number of the first event, so all partial matches with one first event share it. A fraction that is kept at one node
    belongs to the same first events as at the next node.
    """

    masks: NDArray[np.uint64]
    """[2, slot, word]"""
    threshold: NDArray[np.uint64]
    """[slot]"""


class Buckets(NamedTuple):
    """How classes are computed. The features of node n have the numbers from `feature_at[n]` to before
    `feature_at[n + 1]`. A value of feature i falls into bucket
    `searchsorted(edges[edge_at[i]:edge_at[i + 1]], value, side="right")`, NULL into one bucket more. The class is
    `class_at[n]` + the mixed-radix number of its buckets; the first feature is the most significant."""

    class_at: NDArray[np.int64]
    chain_at: NDArray[np.int64]
    """[node, child] the birth of class c out of class p is counted in cell `chain_at + p * classes of the child + c` of
    `Ledger.births`."""
    cells: int
    feature_at: NDArray[np.int64]
    edge_at: NDArray[np.int64]
    edges: NDArray[np.float64]


def buckets_of(edges: Edges, pairs: Sequence[tuple[int, int]]) -> Buckets:
    """Each feature has one bucket more than edges, and one for NULL. `pairs`: (node, child) of the plan."""
    counts = [len(of_node) for of_node in edges]
    flat = [of_feature for of_node in edges for of_feature in of_node]
    classes = [int(np.prod([len(of_feature) + 2 for of_feature in of_node], dtype=np.int64)) for of_node in edges]
    class_at = np.cumsum([0, *classes]).astype(np.int64)
    return Buckets(
        class_at=class_at,
        chain_at=chain_offsets(class_at, pairs),
        cells=int(chain_begins(class_at, pairs)[-1]),
        feature_at=np.cumsum([0, *counts]).astype(np.int64),
        edge_at=np.cumsum([0, *(len(of_feature) for of_feature in flat)]).astype(np.int64),
        edges=np.concatenate([np.zeros(0), *flat]),
    )


def new_ledger(buckets: Buckets, ages: int, patterns: int, steps: int) -> Ledger:
    """A ledger with all counts zero."""
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
    """First cell of the chain of each (node, child), and at the end the number of cells."""
    sizes = np.diff(class_at)
    return np.cumsum([0, *(int(sizes[node] * sizes[child]) for node, child in pairs)]).astype(np.int64)


def chain_offsets(class_at: NDArray[np.int64], pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """`Buckets.chain_at`."""
    nodes, begins = len(class_at) - 1, chain_begins(class_at, pairs)
    chain_at = np.zeros((nodes, nodes), np.int64)
    for begin, (node, child) in zip(begins.tolist(), pairs, strict=False):
        width = class_at[child + 1] - class_at[child]
        chain_at[node, child] = begin - class_at[node] * width - class_at[child]
    return chain_at
