"""The kernel of path queries: partial paths of one length -> partial paths with one more edge.

A partial path is a row of the store: the automaton's state, the last node, the last edge and the partial path before
it. The kernel never raises. It returns where it stopped, and the caller runs it again with more room or allowance. If
there is no more of either, it counts the edges that paths couldn't take.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel

NO_PARENT = -1


class PathStore(NamedTuple):
    """Partial paths in the order of their creation, shorter ones first."""

    state: NDArray[np.int32]
    node: NDArray[np.int32]
    parent: NDArray[np.int64]
    edge: NDArray[np.int32]
    """2 * relation, plus 1 if walked backwards; -1 for a start."""
    mask: NDArray[np.uint64]
    """[path, word]: the queries for which the path continues."""


class Tables(NamedTuple):
    """The automaton's tables for one graph."""

    target: NDArray[np.int32]
    """[state, symbol, class]"""
    symbol_at: NDArray[np.int64]
    """[2 * state + direction]: index of the first symbol with a target. The last one stands for other relations."""
    symbols: NDArray[np.int32]
    symbol_reaches: NDArray[np.uint64]
    """[index into symbols, word]: the queries that a symbol can lead to."""
    relation_of_symbol: NDArray[np.int32]
    """-1 for other relations, and for names that the graph doesn't have."""
    symbol_of_relation: NDArray[np.int32]
    class_of_node: NDArray[np.int32]
    reaches: NDArray[np.uint64]
    """[state, word]"""
    other: int
    """The symbol of relations that no query names, forwards."""


class WalkProgress(NamedTuple):
    """Progress of the kernel. Each field is an array of one element, so that the kernel can write it."""

    path: NDArray[np.int64]
    """The next partial path to extend."""
    path_count: NDArray[np.int64]
    """Number of partial paths in the store."""
    work: NDArray[np.int64]
    """Edges read, plus partial paths made."""
    cut: NDArray[np.int64]
    """Edges that weren't read, because there was no room or allowance."""


class KernelTerms(NamedTuple):
    """Limits of a kernel call."""

    simple: bool
    allowance: int
    """Largest total work. Further edges are cut."""
    pause: int
    """Total work after which the kernel returns, between two paths, so that the caller can read the clock."""
    most_paths: int
    """Largest number of paths in the store. Edges that would make more are cut."""


@borrowing_kernel
def extend(graph_out, graph_in, tables, store, chosen, terms, progress):  # type: ignore[no-untyped-def]
    """Extends the partial paths `chosen`, from `progress.path` on. False if the store is full."""
    while progress.path[0] < len(chosen) and progress.work[0] < terms.pause:
        path = chosen[progress.path[0]]
        before, work, cut = progress.path_count[0], progress.work[0], progress.cut[0]
        path_count = _extend_one(path, graph_out, 0, tables, store, terms, before, progress)
        if path_count >= 0:
            path_count = _extend_one(path, graph_in, 1, tables, store, terms, path_count, progress)
        if path_count < 0:
            progress.work[0], progress.cut[0] = work, cut
            return False
        progress.path_count[0] = path_count
        progress.path[0] += 1
    return True


@inline_kernel
def _extend_one(path, edges, direction, tables, store, terms, path_count, progress):  # type: ignore[no-untyped-def]
    """Extends a path by the edges of one direction. Returns the new number of paths; -1 if the store is full."""
    state, node = store.state[path], store.node[path]
    first, last = tables.symbol_at[2 * state + direction], tables.symbol_at[2 * state + direction + 1]
    if first == last:
        return path_count
    low, high = edges.at[node], edges.at[node + 1]
    any_relation = tables.symbols[last - 1] == tables.other + direction
    if any_relation and _serves_a_query(store.mask[path], tables.symbol_reaches[last - 1]):  # reads all edges
        return _extend_by(path, edges, direction, tables, store, terms, path_count, progress, low, high)
    for move in range(first, last):
        relation = tables.relation_of_symbol[tables.symbols[move] // 2]
        if relation < 0 or not _serves_a_query(store.mask[path], tables.symbol_reaches[move]):
            continue
        begin = _first_edge(edges.relation, low, high, relation)
        end = _first_edge(edges.relation, begin, high, relation + 1)
        path_count = _extend_by(path, edges, direction, tables, store, terms, path_count, progress, begin, end)
        if path_count < 0:
            break
    return path_count


@inline_kernel
def _extend_by(path, edges, direction, tables, store, terms, path_count, progress, begin, end):  # type: ignore[no-untyped-def]
    state = store.state[path]
    words = store.mask.shape[1]
    for at in range(begin, end):
        if progress.work[0] >= terms.allowance:
            progress.cut[0] += end - at
            break
        progress.work[0] += 1
        to, relation = edges.node[at], edges.relation[at]
        symbol = 2 * tables.symbol_of_relation[relation] + direction
        target = tables.target[state, symbol, tables.class_of_node[to]]
        if target < 0 or (terms.simple and _has_node(store, path, to)):
            continue
        if not _serves_a_query(store.mask[path], tables.reaches[target]):
            continue
        if path_count >= terms.most_paths:
            progress.cut[0] += end - at
            break
        if path_count == len(store.state):
            return -1
        for word in range(words):
            store.mask[path_count, word] = store.mask[path, word] & tables.reaches[target, word]
        store.state[path_count], store.node[path_count] = target, to
        store.parent[path_count], store.edge[path_count] = path, 2 * relation + direction
        path_count += 1
        progress.work[0] += 1
    return path_count


@inline_kernel
def _serves_a_query(mask, reaches):  # type: ignore[no-untyped-def]
    serves = False
    for word in range(len(mask)):
        serves |= mask[word] & reaches[word] != 0
    return serves


@inline_kernel
def _first_edge(relations, low, high, relation):  # type: ignore[no-untyped-def]
    while low < high:
        middle = (low + high) // 2
        if relations[middle] < relation:
            low = middle + 1
        else:
            high = middle
    return low


@inline_kernel
def _has_node(store, path, node):  # type: ignore[no-untyped-def]
    while path >= 0:
        if store.node[path] == node:
            return True
        path = store.parent[path]
    return False


@borrowing_kernel
def weigh_edges(graph_out, graph_in, tables, store, paths, weights, result):  # type: ignore[no-untyped-def]
    """Sums the weights of the edges that each path reads next. `weights`: [index into symbols, column].

    Edges of relations that no query names are weighed together, as the symbol for other relations.
    """
    for i in range(len(paths)):
        state, node = store.state[paths[i]], store.node[paths[i]]
        for direction in range(2):
            edges = graph_out if direction == 0 else graph_in
            first, last = tables.symbol_at[2 * state + direction], tables.symbol_at[2 * state + direction + 1]
            low, high = edges.at[node], edges.at[node + 1]
            others = high - low
            for move in range(first, last):
                relation = tables.relation_of_symbol[tables.symbols[move] // 2]
                count = others
                if tables.symbols[move] != tables.other + direction:
                    if relation < 0:
                        continue
                    begin = _first_edge(edges.relation, low, high, relation)
                    count = _first_edge(edges.relation, begin, high, relation + 1) - begin
                    others -= count
                if count > 0 and _serves_a_query(store.mask[paths[i]], tables.symbol_reaches[move]):
                    for column in range(weights.shape[1]):
                        result[i, column] += count * weights[move, column]
