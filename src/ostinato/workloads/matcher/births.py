"""Kernels that fill in a new partial match: its columns, its patterns, its class, and the samples of its features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.kernels.mixing import ALL_BITS, GOLDEN, mixed
from ostinato.workloads.matcher.register_reads import is_like_last, remember
from ostinato.workloads.matcher.run_checks import feature_value
from ostinato.workloads.matcher.store import FIRST, LENGTH, LIMIT, NODE, PARENT, ROW, SEGMENT, TAG

SAMPLES = 512
"""Number of samples of each feature, from which the edges of buckets are learnt."""
SAMPLED = 8
"""Once there are SAMPLES samples, one value in SAMPLED is taken. Values of one event are similar."""


class Samples(NamedTuple):
    """The last values of each feature, in a ring buffer for each."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    """[node] number of samples that were ever put there."""


@inline_kernel
def pseudo_random(number):  # type: ignore[no-untyped-def]
    """A number below 2^32 (splitmix64)."""
    bits = mixed(np.uint64(number) + GOLDEN, ALL_BITS)
    return np.int64((bits ^ (bits >> np.uint64(31))) >> np.uint64(32))


@inline_kernel
def fill_start(new, node, row, limit, tag, links, ancestry):  # type: ignore[no-untyped-def]
    """The columns of a match of one event."""
    ancestry[new, PARENT], ancestry[new, SEGMENT], ancestry[new, NODE], ancestry[new, FIRST] = -1, -1, node, row
    links[new, LIMIT], links[new, TAG], links[new, LENGTH] = limit, tag, 1
    links[new, ROW] = row


@inline_kernel
def fill_longer(new, node, row, pm, segment, links, ancestry):  # type: ignore[no-untyped-def]
    """The columns of `pm` extended by a row, or by the segment that ends with it."""
    ancestry[new, PARENT], ancestry[new, SEGMENT] = pm, segment
    ancestry[new, NODE], ancestry[new, FIRST] = node, ancestry[pm, FIRST]
    links[new, LIMIT], links[new, TAG] = links[pm, LIMIT], links[pm, TAG]
    length = np.int64(1) if segment < 0 else links[segment, LENGTH]
    links[new, LENGTH] = links[pm, LENGTH] + length
    links[new, ROW] = row


@inline_kernel
def mask_of_new(new, node, pm, segment, masks, patterns):  # type: ignore[no-untyped-def]
    """A new partial match is kept for the patterns of its node that its parent and its segment are kept for."""
    for word in range(masks.shape[1]):
        mask = patterns[node, word]
        if pm >= 0:
            mask &= masks[pm, word]
        if segment >= 0:
            mask &= masks[segment, word]
        masks[new, word] = mask


@inline_kernel
def is_fully_kept(pm, node, masks, patterns):  # type: ignore[no-untyped-def]
    """Whether it is kept for all patterns of its node."""
    fully_kept = True
    for word in range(masks.shape[1]):
        fully_kept &= masks[pm, word] == patterns[node, word]
    return fully_kept


# --- classes ----------------------------------------------------------------------------------------------------------


@inline_kernel
def class_of(pm, node, features, nulls, buckets):  # type: ignore[no-untyped-def]
    """The class of a partial match, by its features."""
    number = np.int64(0)
    first = buckets.feature_at[node]
    for i in range(buckets.feature_at[node + 1] - first):
        begin, end = buckets.edge_at[first + i], buckets.edge_at[first + i + 1]
        low, size = begin, end - begin
        value = features[pm, i]
        if nulls[pm] >> i & 1:
            low = end + 1
        elif value != value:  # NaN is the greatest
            low = end
        else:
            # A binary search without a branch, which couldn't be predicted.
            while size > 1:
                half = size >> 1
                low += half * np.int64(buckets.edges[low + half - 1] <= value)
                size -= half
            if size == 1:
                low += np.int64(buckets.edges[low] <= value)
        number = number * (end - begin + 2) + (low - begin)
    return buckets.class_at[node] + number


@inline_kernel
def sample(pm, node, serial, features, nulls, buckets, samples):  # type: ignore[no-untyped-def]
    first = buckets.feature_at[node]
    count = buckets.feature_at[node + 1] - first
    sampled = samples.counts[node]
    if count > 0 and (sampled < SAMPLES or serial % SAMPLED == 0):
        for i in range(count):
            if not nulls[pm] >> i & 1:
                samples.values[first + i, sampled % SAMPLES] = features[pm, i]
        samples.counts[node] = sampled + 1


@inline_kernel
def count_birth(source, target, of_parent, of_child, buckets, births):  # type: ignore[no-untyped-def]
    width = buckets.class_at[target + 1] - buckets.class_at[target]
    births[buckets.chain_at[source, target] + of_parent * width + of_child] += 1


# --- run conditions ---------------------------------------------------------------------------------------------------


@inline_kernel
def class_of_plain(new, node, row, store, buckets, checks):  # type: ignore[no-untyped-def]
    return buckets.class_at[node]


@inline_kernel
def class_by_features(new, node, row, store, buckets, checks):  # type: ignore[no-untyped-def]
    """The class of a new partial match. Its features and registers are taken from `checks.buffers`."""
    buffers = checks.buffers
    for i in range(store.registers.shape[1]):
        store.registers[new, i] = buffers.registers[1, i]
    for i in range(store.int_totals.shape[1]):
        store.int_totals[new, i], store.real_totals[new, i] = buffers.int_totals[1, i], buffers.real_totals[1, i]
    first, nulls = checks.feature_at[node], 0
    count = checks.feature_at[node + 1] - first
    if count > 0 and is_like_last(node, row, buffers.registers, checks.reads, checks.last):
        for i in range(count):
            store.features[new, i] = checks.last.features[node, i]
        store.nulls[new] = checks.last.nulls[node]
        return checks.last.of_class[node]
    for i in range(count):
        is_there, value = feature_value(checks.feature[first + i], row, buffers, checks.conditions)
        store.features[new, i] = value
        if not is_there:
            nulls |= 1 << i
    store.nulls[new] = nulls
    of_class = class_of(new, node, store.features, store.nulls, buckets)
    if count > 0:
        remember(new, node, row, of_class, buffers.registers, store, checks.reads, checks.last)
    return of_class
