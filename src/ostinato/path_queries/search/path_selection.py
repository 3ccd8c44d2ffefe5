"""Chooses the partial paths that continue if the budget isn't enough for all.

SHARP's rule for graphs: the contribution of a partial path is its similarity to its queries, times their weights. Its
cost is its bytes, the edges of its last node, and the mean number of edges for each further step. The paper takes the
mean over all edges. Here it is the mean of the wanted relation at the nodes that the previous edge leads to.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.stopping import check_stopped
from ostinato.path_queries.graph import mean_degrees
from ostinato.path_queries.search.walking import NO_PARENT, PathStore, weigh_edges
from ostinato.path_queries.similarity import Similarity, TokenOverlap

if TYPE_CHECKING:
    from ostinato.path_queries.search.path_search import PathWalk

WORK_OF_EDGE = 2.0
"""Reading an edge, and making a partial path with it."""
LARGEST_HORIZON = 32
"""Largest number of further edges that costs consider. Longer paths cost too much anyway."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The partial paths of one length that could continue."""

    walk: PathWalk
    store: PathStore
    paths: NDArray[np.int64]
    hops_left: int


@dataclass(frozen=True, slots=True)
class PathQueryPairs:
    """Pairs of a partial path and one of its queries. A path can be dropped for one query and continue for another.

    The cost of a path is divided among its queries, in proportion to the cost for each query alone.
    """

    path: NDArray[np.int64]
    """Index into the frontier."""
    query: NDArray[np.int64]
    work: NDArray[np.float64]
    new_paths: NDArray[np.float64]
    """Expected number of further partial paths."""

    def __len__(self) -> int:
        return len(self.path)


@dataclass(frozen=True, slots=True)
class ChosenPaths:
    """`masks` [path, word]: queries for which each path continues. `order`: indices into the frontier, best first."""

    masks: NDArray[np.uint64]
    order: NDArray[np.int64]
    work: int
    """Units of work for the next edge. The rest of the budget is for later edges."""
    room: int
    """Number of partial paths that the next edge may make."""


class Chooser(abc.ABC):
    """The rule that chooses partial paths. One object for each walk."""

    @abc.abstractmethod
    def choose(self, frontier: Frontier, work_left: int, room: int) -> ChosenPaths:
        """The partial paths that continue, given the remaining work and room for partial paths."""


class ByCost(Chooser):
    """Takes (path, query) pairs in some order, while the budget covers their cost to the end."""

    @abc.abstractmethod
    def order(self, frontier: Frontier, pairs: PathQueryPairs) -> NDArray[np.int64]:
        """Indices of the pairs, best first."""

    def choose(self, frontier: Frontier, work_left: int, room: int) -> ChosenPaths:
        costs = frontier.walk.costs(frontier.hops_left)
        pairs = costs.of(frontier)
        masks = frontier.store.mask[frontier.paths].copy()
        if pairs.work.sum() <= work_left and pairs.new_paths.sum() <= room:
            return ChosenPaths(masks, np.arange(len(masks)), work_left, room)
        order = self.order(frontier, pairs)
        chosen = order[self.fitting(pairs, order, work_left, room)]
        masks[:] = 0
        np.bitwise_or.at(
            masks,
            (pairs.path[chosen], pairs.query[chosen] // 64),
            np.uint64(1) << (pairs.query[chosen] % 64).astype(np.uint64),
        )
        paths, first = np.unique(pairs.path[chosen], return_index=True)
        best = paths[np.argsort(first, kind="stable")]
        share = 1.0
        if (
            pairs.work[chosen].sum() > work_left or pairs.new_paths[chosen].sum() > room
        ):  # a hub, of which only some edges are walked
            share = costs.share_of_next_edge(frontier, pairs.path[chosen], pairs.query[chosen])
        return ChosenPaths(masks, best, math.ceil(work_left * share), math.ceil(room * share))

    def fitting(self, pairs: PathQueryPairs, order: NDArray[np.int64], work_left: int, room: int) -> NDArray[np.bool_]:
        """Marks the pairs that fit, in this order. The first always fits: the kernel itself stops at the bound."""
        fits = np.asarray(np.cumsum(pairs.work[order]) <= work_left)
        fits &= np.cumsum(pairs.new_paths[order]) <= room
        fits[:1] = True
        return fits


class BySimilarity(ByCost):
    """The rule of this module: pairs with the highest contribution first."""

    def __init__(self, similarity: Similarity | None = None) -> None:
        self._similarity = similarity
        self._worth: PathContributions | None = None

    def order(self, frontier: Frontier, pairs: PathQueryPairs) -> NDArray[np.int64]:
        if self._worth is None:
            self._worth = PathContributions(frontier.walk, self._similarity or TokenOverlap(frontier.walk.graph))
        worth = self._worth.of(frontier.store, frontier.paths[pairs.path], pairs.query)
        return np.lexsort((pairs.work, -worth))


class PathCosts:
    """Cost of walking a partial path to its ends: the edges of its last node, and the mean number of edges that
    follow each of them."""

    def __init__(self, walk: PathWalk, hops: int) -> None:
        tables, automaton, queries = walk.tables, walk.automaton, len(walk.queries)
        symbol = tables.symbols
        state = np.repeat(np.arange(automaton.states), np.diff(tables.symbol_at[::2]))
        target = automaton.target[state, symbol].max(axis=1)  # states for other classes of nodes are similar
        reach = np.array([[bits >> q & 1 for q in range(queries)] + [1] for bits in automaton.reaches], np.float64)
        leads = reach[target]
        """[move, query]: whether a move (an index into the symbols) leads to a query. The last column: any query."""
        follow = mean_degrees(walk.graph, tables.symbol_of_relation, automaton.symbols)
        self.hops = hops
        self.work = np.zeros((hops + 1, len(symbol), queries + 1))
        """[further edges, move, query]: work of one edge that makes the move, and of all edges behind it."""
        self.new_paths = np.zeros_like(self.work)
        at = tables.symbol_at[::2]
        for left in range(1, hops + 1):
            check_stopped()
            for move, to in enumerate(target.tolist()):
                after = slice(int(at[to]), int(at[to + 1]))
                edges = follow[symbol[move], symbol[after]]
                self.work[left, move] = leads[move] * (WORK_OF_EDGE + edges @ self.work[left - 1, after])
                self.new_paths[left, move] = leads[move] * (1.0 + edges @ self.new_paths[left - 1, after])

    def of(self, frontier: Frontier) -> PathQueryPairs:
        """All pairs of the frontier."""
        paths, left = frontier.paths, min(frontier.hops_left, self.hops)
        queries = len(frontier.walk.queries)
        work, new_paths = (self._of(frontier, weights[left]) for weights in (self.work, self.new_paths))
        path, query = _set_bits(frontier.store.mask[paths], queries)
        alone = work[path, query]
        together = np.bincount(path, alone, minlength=len(paths))
        fraction = alone / np.maximum(together[path], 1e-9)
        return PathQueryPairs(path, query, fraction * work[path, queries], fraction * new_paths[path, queries])

    def share_of_next_edge(self, frontier: Frontier, path: NDArray[np.int64], query: NDArray[np.int64]) -> float:
        """Fraction of the work to the ends that the next edge takes, for these (path, query) pairs."""
        paths, inverse = np.unique(path, return_inverse=True)
        frontier_part, left = replace(frontier, paths=frontier.paths[paths]), min(frontier.hops_left, self.hops)
        next_edge, to_the_end = (self._of(frontier_part, self.work[hops])[inverse, query].sum() for hops in (1, left))
        return float(next_edge / to_the_end) if to_the_end else 1.0

    @staticmethod
    def _of(frontier: Frontier, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        walk = frontier.walk
        result = np.zeros((len(frontier.paths), weights.shape[1]))
        weigh_edges(
            walk.graph.forwards, walk.graph.backwards, walk.tables, frontier.store, frontier.paths, weights, result
        )
        return result


def _set_bits(words: NDArray[np.uint64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(row, bit) of all bits that are set, row by row."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little", count=count)
    row, bit = np.nonzero(bits)
    return row, bit


class PathContributions:
    """Contributions of paths. Similarity is computed once for each sequence of relations and query."""

    def __init__(self, walk: PathWalk, similarity: Similarity) -> None:
        self.walk, self.similarity = walk, similarity
        self.words: list[tuple[str, ...]] = [()]
        self.number: dict[tuple[int, int], int] = {}

    def of(self, store: PathStore, paths: NDArray[np.int64], queries: NDArray[np.int64]) -> NDArray[np.float64]:
        """The contribution of each path to its query: the query's weight times the similarity."""
        count = len(self.walk.queries)
        pairs, inverse = np.unique(self._classes(store, paths) * count + queries, return_inverse=True)
        values = [self._of_query(self.words[pair // count], pair % count) for pair in pairs.tolist()]
        return np.array(values, np.float64)[inverse]

    def _classes(self, store: PathStore, paths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers paths by their relations: paths with the same relations have the same index into `words`."""
        levels = []
        """From the ends to the starts: whether a path has a parent, its index, and the edge between them."""
        while (inner := store.parent[paths] != NO_PARENT).any():
            before, inverse = np.unique(store.parent[paths[inner]], return_inverse=True)
            levels.append((inner, inverse, store.edge[paths[inner]]))
            paths = before
        kinds = 2 * len(self.walk.graph.relations)
        numbers = np.zeros(len(paths), np.int64)
        for inner, inverse, edge in reversed(levels):
            different, at = np.unique(numbers[inverse] * kinds + edge, return_inverse=True)
            class_of_key = np.array([self._class(*divmod(key, kinds)) for key in different.tolist()], np.int64)
            numbers = np.zeros(len(inner), np.int64)
            numbers[inner] = class_of_key[at]
        return numbers

    def _class(self, before: int, edge: int) -> int:
        if (before, edge) not in self.number:
            self.number[before, edge] = len(self.words)
            relation = ("^" if edge % 2 else "") + self.walk.graph.relations[edge // 2]
            self.words.append((*self.words[before], relation))
        return self.number[before, edge]

    def _of_query(self, relations: tuple[str, ...], query: int) -> float:
        """A start has full similarity to every query."""
        check_stopped()
        path_query = self.walk.queries[query]
        return path_query.weight * (self.similarity(relations, path_query) if relations else 1.0)
