"""Which partial paths are walked on when the budget doesn't reach for all of them.

SHARP's rule for graphs: a partial path contributes what it is like the queries that it is kept for, times their
weights; it costs its bytes, the edges of its last node, and what the average node adds on each edge still to come. The
paper takes the average over all edges; here it is that of the relation asked for, at nodes that the edge before leads
to.
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
from ostinato.path_queries.similarity import Similarity, TokenOverlap
from ostinato.path_queries.walking import NO_PARENT, Store, weigh_edges

if TYPE_CHECKING:
    from ostinato.path_queries.path_search import PathWalk

WORK_OF_EDGE = 2.0
"""Looking at an edge and making a partial path of it."""
LARGEST_HORIZON = 32
"""Edges to come that costs look ahead for; beyond that everything costs too much."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The partial paths of one length that could be walked on."""

    walk: PathWalk
    store: Store
    paths: NDArray[np.int64]
    hops_left: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """A partial path and a query that it is kept for: one may be dropped for a query and kept for another.

    What a path costs is shared out among its queries, by what each would cost alone.
    """

    path: NDArray[np.int64]
    """The place in the frontier."""
    query: NDArray[np.int64]
    work: NDArray[np.float64]
    made: NDArray[np.float64]
    """Partial paths to come."""

    def __len__(self) -> int:
        return len(self.path)


@dataclass(frozen=True, slots=True)
class Kept:
    """`masks` [path, word]: the queries for which each is kept. `order`: the places in the frontier, best first."""

    masks: NDArray[np.uint64]
    order: NDArray[np.int64]
    work: int
    """How much may go into the next edge: the rest is needed to walk on from where it leads."""
    room: int
    """How many partial paths it may make."""


class Chooser(abc.ABC):
    """One for each walk."""

    @abc.abstractmethod
    def choose(self, frontier: Frontier, work_left: int, room: int) -> Kept:
        """What is kept of the frontier, given the work and the partial paths that are left."""


class ByCost(Chooser):
    """Takes pairs of path and query in some order, as long as what they would cost to the end is left."""

    @abc.abstractmethod
    def order(self, frontier: Frontier, pairs: Pairs) -> NDArray[np.int64]:
        """Places among the pairs, best first."""

    def choose(self, frontier: Frontier, work_left: int, room: int) -> Kept:
        costs = frontier.walk.costs(frontier.hops_left)
        pairs = costs.of(frontier)
        masks = frontier.store.mask[frontier.paths].copy()
        if pairs.work.sum() <= work_left and pairs.made.sum() <= room:
            return Kept(masks, np.arange(len(masks)), work_left, room)
        order = self.order(frontier, pairs)
        kept = order[self.fitting(pairs, order, work_left, room)]
        masks[:] = 0
        np.bitwise_or.at(
            masks,
            (pairs.path[kept], pairs.query[kept] // 64),
            np.uint64(1) << (pairs.query[kept] % 64).astype(np.uint64),
        )
        paths, first = np.unique(pairs.path[kept], return_index=True)
        best = paths[np.argsort(first, kind="stable")]
        share = 1.0
        if pairs.work[kept].sum() > work_left or pairs.made[kept].sum() > room:  # a hub, which is walked in part
            share = costs.share_of_next_edge(frontier, pairs.path[kept], pairs.query[kept])
        return Kept(masks, best, math.ceil(work_left * share), math.ceil(room * share))

    def fitting(self, pairs: Pairs, order: NDArray[np.int64], work_left: int, room: int) -> NDArray[np.bool_]:
        """Which of the pairs in this order are kept. The first always is: the kernel stops at the bound itself."""
        fits = np.asarray(np.cumsum(pairs.work[order]) <= work_left)
        fits &= np.cumsum(pairs.made[order]) <= room
        fits[:1] = True
        return fits


class BySimilarity(ByCost):
    """The rule of this module: the pairs that contribute most."""

    def __init__(self, similarity: Similarity | None = None) -> None:
        self._similarity = similarity
        self._worth: Contributions | None = None

    def order(self, frontier: Frontier, pairs: Pairs) -> NDArray[np.int64]:
        if self._worth is None:
            self._worth = Contributions(frontier.walk, self._similarity or TokenOverlap(frontier.walk.graph))
        worth = self._worth.of(frontier.store, frontier.paths[pairs.path], pairs.query)
        return np.lexsort((pairs.work, -worth))


class WholePaths(ByCost):
    """Takes partial paths for all of their queries or for none."""

    @abc.abstractmethod
    def rank(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """The lower, the better, of paths that cost so much."""

    def order(self, frontier: Frontier, pairs: Pairs) -> NDArray[np.int64]:
        cost = np.bincount(pairs.path, pairs.work, minlength=len(frontier.paths))
        return np.argsort(self.rank(np.asarray(cost, np.float64))[pairs.path], kind="stable")

    def fitting(self, pairs: Pairs, order: NDArray[np.int64], work_left: int, room: int) -> NDArray[np.bool_]:
        fits = super().fitting(pairs, order, work_left, room)
        path = pairs.path[order]
        kept = path[fits]
        missing = path[~fits]
        return np.isin(path, np.setdiff1d(kept, missing[missing != path[0]]))


class AtRandom(WholePaths):
    """Any partial paths: the paper's random state."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def rank(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._random.permutation(len(cost)).astype(np.float64)


class BySelectivity(WholePaths):
    """Those with the fewest edges to come: the paper's selective state."""

    def rank(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        return cost


class Costs:
    """What it takes to walk a partial path to its ends: the edges of its last node, and behind each what edges of that
    kind lead to on average."""

    def __init__(self, walk: PathWalk, hops: int) -> None:
        tables, automaton, queries = walk.tables, walk.automaton, len(walk.queries)
        symbol = tables.symbols
        state = np.repeat(np.arange(automaton.states), np.diff(tables.symbol_at[::2]))
        target = automaton.target[state, symbol].max(axis=1)  # the states behind other classes of nodes are like it
        reach = np.array([[bits >> q & 1 for q in range(queries)] + [1] for bits in automaton.reaches], np.float64)
        leads = reach[target]
        """[move, query]: whether a move (a place in the table's symbols) leads to a query; the last is all together."""
        follow = mean_degrees(walk.graph, tables.symbol_of_relation, automaton.symbols)
        self.hops = hops
        self.work = np.zeros((hops + 1, len(symbol), queries + 1))
        """[edges to come, move, query]: of one edge that makes the move, with what comes of it."""
        self.made = np.zeros_like(self.work)
        at = tables.symbol_at[::2]
        for left in range(1, hops + 1):
            check_stopped()
            for move, to in enumerate(target.tolist()):
                after = slice(int(at[to]), int(at[to + 1]))
                edges = follow[symbol[move], symbol[after]]
                self.work[left, move] = leads[move] * (WORK_OF_EDGE + edges @ self.work[left - 1, after])
                self.made[left, move] = leads[move] * (1.0 + edges @ self.made[left - 1, after])

    def of(self, frontier: Frontier) -> Pairs:
        """All pairs of the frontier."""
        paths, left = frontier.paths, min(frontier.hops_left, self.hops)
        queries = len(frontier.walk.queries)
        work, made = (self._of(frontier, weights[left]) for weights in (self.work, self.made))
        path, query = _set_bits(frontier.store.mask[paths], queries)
        alone = work[path, query]
        together = np.bincount(path, alone, minlength=len(paths))
        part = alone / np.maximum(together[path], 1e-9)
        return Pairs(path, query, part * work[path, queries], part * made[path, queries])

    def share_of_next_edge(self, frontier: Frontier, path: NDArray[np.int64], query: NDArray[np.int64]) -> float:
        """Of the work to the ends, for these places in the frontier, each for the query beside it."""
        paths, place = np.unique(path, return_inverse=True)
        scene, left = replace(frontier, paths=frontier.paths[paths]), min(frontier.hops_left, self.hops)
        one, whole = (self._of(scene, self.work[hops])[place, query].sum() for hops in (1, left))
        return float(one / whole) if whole else 1.0

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


class Contributions:
    """Similarity is asked once for each sequence of relations and query, however many paths have it."""

    def __init__(self, walk: PathWalk, similarity: Similarity) -> None:
        self.walk, self.similarity = walk, similarity
        self.words: list[tuple[str, ...]] = [()]
        self.number: dict[tuple[int, int], int] = {}

    def of(self, store: Store, paths: NDArray[np.int64], queries: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of each path for the query beside it: its weight times how much the path is like it."""
        count = len(self.walk.queries)
        pairs, place = np.unique(self._classes(store, paths) * count + queries, return_inverse=True)
        values = [self._of_query(self.words[pair // count], pair % count) for pair in pairs.tolist()]
        return np.array(values, np.float64)[place]

    def _classes(self, store: Store, paths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Equal numbers for paths of the same relations, in `words`."""
        levels = []
        """From the ends to the starts: where a path has one before it, which, and the edge between them."""
        while (inner := store.parent[paths] != NO_PARENT).any():
            before, place = np.unique(store.parent[paths[inner]], return_inverse=True)
            levels.append((inner, place, store.edge[paths[inner]]))
            paths = before
        kinds = 2 * len(self.walk.graph.relations)
        numbers = np.zeros(len(paths), np.int64)
        for inner, place, edge in reversed(levels):
            different, at = np.unique(numbers[place] * kinds + edge, return_inverse=True)
            known = np.array([self._class(*divmod(key, kinds)) for key in different.tolist()], np.int64)
            numbers = np.zeros(len(inner), np.int64)
            numbers[inner] = known[at]
        return numbers

    def _class(self, before: int, edge: int) -> int:
        if (before, edge) not in self.number:
            self.number[before, edge] = len(self.words)
            relation = ("^" if edge % 2 else "") + self.walk.graph.relations[edge // 2]
            self.words.append((*self.words[before], relation))
        return self.number[before, edge]

    def _of_query(self, relations: tuple[str, ...], query: int) -> float:
        """A start is like every query."""
        check_stopped()
        asked = self.walk.queries[query]
        return asked.weight * (self.similarity(relations, asked) if relations else 1.0)
