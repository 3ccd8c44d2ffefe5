"""Samples of feature values -> Buckets: the edges between classes, learnt as quantiles.

The paper keys its sketch by hashes of raw values. Continuous values never repeat, so here values are put into buckets
that hold equally many of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.matcher.ledger import Edges
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.sketch import Sketch

Reals = NDArray[np.float64]

BUCKETS_PER_FEATURE = {1: 12, 2: 5, 3: 3}
"""Buckets of each feature, by the number of features of a node. Finer buckets take longer to learn and to look up. The
numbers lie between two settings that were measured: (10, 4, 3) and (16, 6, 4). On one stream of DS1 both gave a higher
recall than (64, 16, 7), at bounds of 20 to 50 %."""
SAMPLES_A_BUCKET = 8
MAX_CELLS = 1 << 21
"""Largest number of cells of all chains (class of a node by class of its child) together."""
DRIFT_FRACTION = 0.2
"""Values have drifted where this fraction of them lies outside the learnt range."""
MIN_DRIFT_VALUES = 40


def buckets_per_feature(shape: PlanShape, features: tuple[int, ...]) -> dict[int, int]:
    """BUCKETS_PER_FEATURE, or coarser buckets where a large workload would have too many cells."""
    bucket_counts = dict(BUCKETS_PER_FEATURE)
    while _cells(shape, features, bucket_counts) > MAX_CELLS and max(bucket_counts.values()) > 2:
        bucket_counts = {count: max(2, number // 2) for count, number in bucket_counts.items()}
    return bucket_counts


def _cells(shape: PlanShape, features: tuple[int, ...], bucket_counts: dict[int, int]) -> int:
    classes = [(bucket_counts[count] + 1) ** count if count else 1 for count in features]
    return sum(classes[node] * classes[child] for node, child in shape.pairs)


def quantile_edges(samples: Reals, bucket_counts: dict[int, int]) -> tuple[Reals, ...]:
    """[feature, sample] -> the edges of each feature. With few samples there are fewer than `bucket_counts` allows."""
    buckets = min(bucket_counts[len(samples)], samples.shape[1] // SAMPLES_A_BUCKET) if len(samples) else 0
    if buckets < 2:
        return tuple(np.zeros(0) for _ in samples)
    shares = np.arange(1, buckets) / buckets
    # Each value once: a single event may stand in many partial matches.
    return tuple(np.unique(np.quantile(np.unique(of_feature), shares)) for of_feature in samples)


def have_drifted(ranges: Reals, samples: Reals) -> bool:
    """Whether many values lie outside the learnt `ranges` ([feature, 2]). Each value counts once, since many partial
    matches share an event. Shedding itself shifts values within the ranges, which is no drift."""
    for (low, high), of_feature in zip(ranges, samples, strict=True):
        if not ((of_feature < low) | (of_feature > high)).any():
            continue
        values = np.unique(of_feature)
        if len(values) >= MIN_DRIFT_VALUES and float(np.mean((values < low) | (values > high))) >= DRIFT_FRACTION:
            return True
    return False


@dataclass(frozen=True, slots=True)
class LearntEdges:
    """The edges of each node, with the number and range of the samples that they were learnt from."""

    edges: Edges
    samples: tuple[int, ...]
    """[node] number of samples; 0: the edges have to be learnt."""
    ranges: tuple[Reals, ...]
    """[node][feature, 2] smallest and largest sample."""

    def is_due(self, node: int, samples: int) -> bool:
        """Whether to learn again: there are four times as many samples as last time."""
        return samples >= max(2 * SAMPLES_A_BUCKET, 4 * self.samples[node])

    def has_drifted(self, node: int, samples: Reals) -> bool:
        return self.samples[node] > 0 and have_drifted(self.ranges[node], samples)

    def learnt_from(self, node: int, samples: Reals, bucket_counts: dict[int, int]) -> LearntEdges:
        ranges = np.stack([samples.min(axis=1), samples.max(axis=1)], axis=1)
        return self._with(node, quantile_edges(samples, bucket_counts), samples.shape[1], ranges)

    def marked_for_learning(self, node: int) -> LearntEdges:
        """The edges of the node stay until they are learnt anew."""
        return self._with(node, self.edges[node], 0, self.ranges[node])

    def _with(self, node: int, edges: tuple[Reals, ...], samples: int, ranges: Reals) -> LearntEdges:
        return LearntEdges(
            (*self.edges[:node], edges, *self.edges[node + 1 :]),
            (*self.samples[:node], samples, *self.samples[node + 1 :]),
            (*self.ranges[:node], ranges, *self.ranges[node + 1 :]),
        )


def updated_edges(
    before: LearntEdges, samples: dict[int, Reals], bucket_counts: dict[int, int]
) -> tuple[LearntEdges, set[int], set[int]]:
    """Returns the edges after these samples, the nodes whose values have drifted, and the nodes with new edges."""
    after, drifted, changed = before, set(), set()
    for node, of_node in samples.items():
        if after.has_drifted(node, of_node):
            after = after.marked_for_learning(node)
            drifted.add(node)
        elif after.is_due(node, of_node.shape[1]):
            after = after.learnt_from(node, of_node, bucket_counts)
            changed.add(node)
    return after, drifted, changed


def no_edges(features: tuple[int, ...]) -> LearntEdges:
    edges = tuple((np.zeros(0),) * count for count in features)
    return LearntEdges(edges, (0,) * len(features), tuple(np.zeros((count, 2)) for count in features))


def regroup_sketch(old: Sketch, class_at: NDArray[np.int64], changed: set[int], weight: float) -> Sketch:
    """The sketch for new classes. Each class of a node in `changed` starts from the node's average, which counts as
    much as `weight` visits."""
    new = Sketch(old.shape, class_at, old.ages, old.rows)
    new.checks, new.step_work, new.pace = old.checks, old.step_work, old.pace
    retained = np.ones(old.shape.nodes)  # [node] fraction of the weight of its chains
    for node in range(old.shape.nodes):
        before, after = old.of(node), new.of(node)
        count = after.stop - after.start
        if node in changed:
            retained[node] = min(1.0, weight * count / max(float(old.chain_visits[before].sum()), 1e-9))
        for name in ("attempts", "created", "evicted", "visits", "chain_visits", "made", "ended"):
            values = getattr(old, name)[before]
            slow = name in ("chain_visits", "made", "ended")
            if node in changed:
                values = np.repeat(values.sum(axis=0, keepdims=True) / count, count, axis=0)
                values = values * retained[node] if slow else values
            getattr(new, name)[after] = values
        new.kept_share[after] = 1.0 if node in changed else old.kept_share[before]
        new.full_share[after] = 1.0 if node in changed else old.full_share[before]
    for node, child in old.shape.pairs:
        chain = new.chain(node, child)
        chain[:] = retained[node] * _spread(old.chain(node, child), chain.shape, node in changed, child in changed)
    return new


def _spread(chain: Reals, shape: tuple[int, ...], parent_changed: bool, child_changed: bool) -> Reals:
    """The chain between new classes: births are spread evenly over classes that changed."""
    if parent_changed:
        chain = np.repeat(chain.sum(axis=0, keepdims=True) / shape[0], shape[0], axis=0)
    if child_changed:
        chain = np.repeat(chain.sum(axis=1, keepdims=True) / shape[1], shape[1], axis=1)
    return chain
