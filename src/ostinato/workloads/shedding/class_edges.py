"""Samples of feature values -> Buckets: the edges between classes, learnt as quantiles.

The paper keys its sketch by hashes of raw values. Continuous values never repeat, so here values are put into buckets
that hold equally many of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.matcher.ledger import Buckets, chain_begins, chain_places
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.sketch import Sketch

Reals = NDArray[np.float64]
Edges = tuple[tuple[Reals, ...], ...]
"""[node][feature] ascending values."""

FINEST = {1: 12, 2: 5, 3: 3}
"""Buckets of each feature, by the number of features of a node. Finer buckets take longer to learn and to look up. The
values lie between 10, 4, 3 and 16, 6, 4. On one stream of DS1 both gave a higher recall than 64, 16, 7 at bounds of 20
to 50 %."""
SAMPLES_A_BUCKET = 8
MOST_CELLS = 1 << 21
"""Largest number of cells of all chains (class of a node by class of its child) together."""
MOVED = 0.2
"""Values have drifted where this fraction of them lies outside the learnt range."""
ENOUGH_TO_TELL = 40


def buckets_of(edges: Edges, pairs: Sequence[tuple[int, int]]) -> Buckets:
    """Each feature has one bucket more than edges, and one for NULL. `pairs`: (node, child) of the plan."""
    counts = [len(of_node) for of_node in edges]
    flat = [of_feature for of_node in edges for of_feature in of_node]
    classes = [int(np.prod([len(of_feature) + 2 for of_feature in of_node], dtype=np.int64)) for of_node in edges]
    class_at = np.cumsum([0, *classes]).astype(np.int64)
    return Buckets(
        class_at=class_at,
        chain_at=chain_places(class_at, pairs),
        cells=int(chain_begins(class_at, pairs)[-1]),
        feature_at=np.cumsum([0, *counts]).astype(np.int64),
        edge_at=np.cumsum([0, *(len(of_feature) for of_feature in flat)]).astype(np.int64),
        edges=np.concatenate([np.zeros(0), *flat]),
    )


def finest_buckets(shape: PlanShape, features: tuple[int, ...]) -> dict[int, int]:
    """FINEST, or coarser buckets where a large workload would have too many cells."""
    finest = dict(FINEST)
    while _cells(shape, features, finest) > MOST_CELLS and max(finest.values()) > 2:
        finest = {count: max(2, number // 2) for count, number in finest.items()}
    return finest


def _cells(shape: PlanShape, features: tuple[int, ...], finest: dict[int, int]) -> int:
    classes = [(finest[count] + 1) ** count if count else 1 for count in features]
    return sum(classes[node] * classes[child] for node, child in shape.pairs)


def learnt(samples: Reals, finest: dict[int, int]) -> tuple[Reals, ...]:
    """[feature, sample] -> the edges of each feature; fewer than `finest` allows while there are few samples."""
    buckets = min(finest[len(samples)], samples.shape[1] // SAMPLES_A_BUCKET) if len(samples) else 0
    if buckets < 2:
        return tuple(np.zeros(0) for _ in samples)
    shares = np.arange(1, buckets) / buckets
    # Each value once: a single event may stand in many partial matches.
    return tuple(np.unique(np.quantile(np.unique(of_feature), shares)) for of_feature in samples)


def moved(ranges: Reals, samples: Reals) -> bool:
    """Whether many values lie outside the learnt `ranges` ([feature, 2]). Each value counts once, since many partial
    matches share an event. Shedding itself shifts values within the ranges, which is no drift."""
    for (low, high), of_feature in zip(ranges, samples, strict=True):
        if not ((of_feature < low) | (of_feature > high)).any():
            continue
        values = np.unique(of_feature)
        if len(values) >= ENOUGH_TO_TELL and float(np.mean((values < low) | (values > high))) >= MOVED:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Learning:
    """The edges of each node, and the samples that they were learnt from."""

    edges: Edges
    samples: tuple[int, ...]
    """[node] number of samples; 0 before the first lesson."""
    ranges: tuple[Reals, ...]
    """[node][feature, 2] smallest and largest sample."""

    def due(self, node: int, samples: int) -> bool:
        """Whether to learn again: there are four times as many samples as at the last time."""
        return samples >= max(2 * SAMPLES_A_BUCKET, 4 * self.samples[node])

    def has_moved(self, node: int, samples: Reals) -> bool:
        return self.samples[node] > 0 and moved(self.ranges[node], samples)

    def learnt(self, node: int, samples: Reals, finest: dict[int, int]) -> Learning:
        ranges = np.stack([samples.min(axis=1), samples.max(axis=1)], axis=1)
        return self._with(node, learnt(samples, finest), samples.shape[1], ranges)

    def forgotten(self, node: int) -> Learning:
        """Marks the node for learning anew. Its edges stay until then."""
        return self._with(node, self.edges[node], 0, self.ranges[node])

    def _with(self, node: int, edges: tuple[Reals, ...], samples: int, ranges: Reals) -> Learning:
        return Learning(
            (*self.edges[:node], edges, *self.edges[node + 1 :]),
            (*self.samples[:node], samples, *self.samples[node + 1 :]),
            (*self.ranges[:node], ranges, *self.ranges[node + 1 :]),
        )


def learnt_more(
    before: Learning, samples: dict[int, Reals], finest: dict[int, int]
) -> tuple[Learning, set[int], set[int]]:
    """(the learning after these samples, nodes whose values have drifted, nodes with new edges)."""
    learning, have_moved, changed = before, set(), set()
    for node, of_node in samples.items():
        if learning.has_moved(node, of_node):
            learning = learning.forgotten(node)
            have_moved.add(node)
        elif learning.due(node, of_node.shape[1]):
            learning = learning.learnt(node, of_node, finest)
            changed.add(node)
    return learning, have_moved, changed


def nothing_learnt(features: tuple[int, ...]) -> Learning:
    edges = tuple((np.zeros(0),) * count for count in features)
    return Learning(edges, (0,) * len(features), tuple(np.zeros((count, 2)) for count in features))


def regrouped(old: Sketch, class_at: NDArray[np.int64], changed: set[int], weight: float) -> Sketch:
    """The sketch for new classes. Each class of a node in `changed` starts from the node's average, which counts as
    much as `weight` visits."""
    new = Sketch(old.shape, class_at, old.ages, old.rows)
    new.checks, new.step_work, new.pace = old.checks, old.step_work, old.pace
    belief = np.ones(old.shape.nodes)
    for node in range(old.shape.nodes):
        before, after = old.of(node), new.of(node)
        count = after.stop - after.start
        if node in changed:
            belief[node] = min(1.0, weight * count / max(float(old.chain_visits[before].sum()), 1e-9))
        for name in ("attempts", "created", "evicted", "visits", "chain_visits", "made", "ended"):
            values = getattr(old, name)[before]
            slow = name in ("chain_visits", "made", "ended")
            if node in changed:
                values = np.repeat(values.sum(axis=0, keepdims=True) / count, count, axis=0)
                values = values * belief[node] if slow else values
            getattr(new, name)[after] = values
        new.kept_share[after] = 1.0 if node in changed else old.kept_share[before]
        new.full_share[after] = 1.0 if node in changed else old.full_share[before]
    for node, child in old.shape.pairs:
        into = new.chain(node, child)
        into[:] = belief[node] * _respread(old.chain(node, child), into.shape, node in changed, child in changed)
    return new


def _respread(chain: Reals, shape: tuple[int, ...], parent_changed: bool, child_changed: bool) -> Reals:
    if parent_changed:
        chain = np.repeat(chain.sum(axis=0, keepdims=True) / shape[0], shape[0], axis=0)
    if child_changed:
        chain = np.repeat(chain.sum(axis=1, keepdims=True) / shape[1], shape[1], axis=1)
    return chain
