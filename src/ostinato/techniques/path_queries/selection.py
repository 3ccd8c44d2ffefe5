"""Which partial paths are walked on when the budget doesn't reach for all of them.

SHARP's rule for graphs: a partial path contributes what it is like the queries that it is kept for, times their
weights; it costs its bytes, the edges of its last node, and what the average node adds on each edge still to come. The
paper takes the average over all edges; here it is that of the relations that the automaton would walk.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostinato.automaton.path_automaton import NOWHERE
from ostinato.techniques.path_queries.similarity import Similarity, TokenOverlap
from ostinato.techniques.path_queries.walking import NO_PARENT, Store, degrees

if TYPE_CHECKING:
    from ostinato.techniques.path_queries.search import FoundPaths, PathWalk

WORK_OF_EDGE = 2.0
"""Looking at an edge and making a partial path of it."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """The partial paths of one length that could be walked on."""

    walk: PathWalk
    store: Store
    paths: NDArray[np.int64]
    hops_left: int


@dataclass(frozen=True, slots=True)
class Kept:
    """`masks` [path, word]: the queries for which each is kept. `order`: the places in the frontier, best first."""

    masks: NDArray[np.uint64]
    order: NDArray[np.int64]


class Chooser(abc.ABC):
    """One for each walk."""

    @abc.abstractmethod
    def choose(self, frontier: Frontier, work_left: int, room: int | None) -> Kept:
        """What is kept of the frontier, given the work and the partial paths (None: any number) that are left."""


class ByCost(Chooser):
    """Takes partial paths in some order, as long as what they would cost to the end is left."""

    def __init__(self) -> None:
        self._costs: _Costs | None = None

    @abc.abstractmethod
    def order(self, frontier: Frontier, cost: NDArray[np.float64]) -> NDArray[np.int64]:
        """Places in the frontier, best first."""

    def choose(self, frontier: Frontier, work_left: int, room: int | None) -> Kept:
        if self._costs is None:
            self._costs = _Costs(frontier.walk, frontier.hops_left)
        cost, made = self._costs.of(frontier)
        masks = frontier.store.mask[frontier.paths].copy()
        if cost.sum() <= work_left and (room is None or made.sum() <= room):
            return Kept(masks, np.arange(len(masks)))
        order = self.order(frontier, cost)
        fits = np.cumsum(cost[order]) <= work_left
        if room is not None:
            fits &= np.cumsum(made[order]) <= room
        fits[:1] = True  # the best is always tried; the kernel stops at the bound itself
        masks[order[~fits]] = 0
        return Kept(masks, order)


class BySimilarity(ByCost):
    """The rule of this module; `per_cost` takes contribution for each unit of cost instead of contribution alone."""

    def __init__(self, similarity: Similarity | None = None, *, per_cost: bool = False) -> None:
        super().__init__()
        self._similarity = similarity
        self._per_cost = per_cost
        self._worth: _Contributions | None = None

    def order(self, frontier: Frontier, cost: NDArray[np.float64]) -> NDArray[np.int64]:
        if self._worth is None:
            self._worth = _Contributions(frontier.walk, self._similarity or TokenOverlap(frontier.walk.graph))
        worth = self._worth.of(frontier)
        if self._per_cost:
            worth = worth / np.maximum(cost, 1.0)
        return np.lexsort((cost, -worth))


class AtRandom(ByCost):
    """Any partial paths: the paper's random state."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._random = np.random.default_rng(seed)

    def order(self, frontier: Frontier, cost: NDArray[np.float64]) -> NDArray[np.int64]:
        return self._random.permutation(len(cost))


class BySelectivity(ByCost):
    """Those with the fewest edges to come: the paper's selective state."""

    def order(self, frontier: Frontier, cost: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.argsort(cost, kind="stable")


class _Costs:
    """What it takes to walk a partial path to its ends, from the degree of its last node and the averages behind it."""

    def __init__(self, walk: PathWalk, hops: int) -> None:
        degree = _mean_degrees(walk)
        target = walk.automaton.target.max(axis=2)  # classes of nodes lead to similar states
        self.work = np.zeros((hops + 1, walk.automaton.states))
        self.made = np.zeros((hops + 1, walk.automaton.states))
        for left in range(1, hops + 1):
            for state in range(walk.automaton.states):
                symbols = np.flatnonzero(target[state] != NOWHERE)
                each = degree[symbols]
                after = target[state, symbols]
                self.work[left, state] = (each * (WORK_OF_EDGE + self.work[left - 1, after])).sum()
                self.made[left, state] = (each * (1.0 + self.made[left - 1, after])).sum()
        self.degree = np.array([degree[np.flatnonzero(target[q] != NOWHERE)].sum() for q in range(len(target))])

    def of(self, frontier: Frontier) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(work, partial paths) of each."""
        walk, paths = frontier.walk, frontier.paths
        edges = np.zeros(len(paths), np.int64)
        degrees(walk.graph.forwards, walk.graph.backwards, walk.tables, frontier.store, paths, edges)
        state = frontier.store.state[paths]
        share = edges / np.maximum(self.degree[state], 1e-9)
        return share * self.work[frontier.hops_left, state], share * self.made[frontier.hops_left, state]


def _mean_degrees(walk: PathWalk) -> NDArray[np.float64]:
    """For each symbol how many edges of its kind a node has that has one; for other relations those of an edge's."""
    graph, names = walk.graph, walk.automaton.symbols.names
    of_relation = graph.mean_degrees
    found = np.zeros(2 * (len(names) + 1))
    number = {name: i for i, name in enumerate(graph.relations)}
    for place, name in enumerate(names):
        if name in number:
            found[2 * place : 2 * place + 2] = of_relation[number[name]]
    others = [i for name, i in number.items() if name not in names]
    if others:
        found[-2:] = graph.edge_count / max(1, len(graph.nodes))
    return found


class _Contributions:
    """Similarity is asked once for each sequence of relations and query, however many paths have it."""

    def __init__(self, walk: PathWalk, similarity: Similarity) -> None:
        self.walk, self.similarity = walk, similarity
        self.words: list[tuple[str, ...]] = [()]
        self.number: dict[tuple[int, int], int] = {}
        self.worth: dict[tuple[int, int], float] = {}

    def of(self, frontier: Frontier) -> NDArray[np.float64]:
        """Of partial paths: for all queries that they are kept for."""
        masks = frontier.store.mask[frontier.paths]
        classes = self.classes(frontier.store, frontier.paths)
        keys = np.concatenate((classes[:, None].astype(np.uint64), masks), axis=1)
        different, place = np.unique(keys, axis=0, return_inverse=True)
        values = np.array([self._of_mask(int(key[0]), key[1:]) for key in different])
        return np.asarray(values[place.reshape(-1)])

    def classes(self, store: Store, paths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Equal numbers for paths of the same relations, in `words`."""
        if not len(paths):
            return np.zeros(0, np.int64)
        parent = store.parent[paths]
        inner = parent != NO_PARENT
        found = np.zeros(len(paths), np.int64)
        before, place = np.unique(parent[inner], return_inverse=True)
        keys = np.stack((self.classes(store, before)[place], store.edge[paths[inner]].astype(np.int64)), axis=1)
        different, at = np.unique(keys, axis=0, return_inverse=True)
        numbers = np.array([self._class(int(head), int(edge)) for head, edge in different], np.int64)
        found[inner] = numbers[at.reshape(-1)] if len(different) else 0
        return found

    def _class(self, before: int, edge: int) -> int:
        if (before, edge) not in self.number:
            self.number[before, edge] = len(self.words)
            relation = ("^" if edge % 2 else "") + self.walk.graph.relations[edge // 2]
            self.words.append((*self.words[before], relation))
        return self.number[before, edge]

    def _of_mask(self, path_class: int, mask: NDArray[np.uint64]) -> float:
        bits = sum(int(word) << 64 * i for i, word in enumerate(mask))
        return sum(self.of_query(path_class, q) for q in range(len(self.walk.queries)) if bits >> q & 1)

    def of_query(self, path_class: int, query: int) -> float:
        """A start is like every query."""
        key = (path_class, query)
        if key not in self.worth:
            relations, asked = self.words[path_class], self.walk.queries[query]
            self.worth[key] = asked.weight * (self.similarity(relations, asked) if relations else 1.0)
        return self.worth[key]


def path_scores(walk: PathWalk, found: FoundPaths, similarity: Similarity) -> NDArray[np.float64]:
    """What each path found is worth: the weight of its query times how much it is like it."""
    worth = _Contributions(walk, similarity)
    classes = worth.classes(found.store, found.path)
    pairs, place = np.unique(np.stack((classes, found.query), axis=1), axis=0, return_inverse=True)
    values = [worth.of_query(int(path_class), int(query)) for path_class, query in pairs]
    return np.array(values, np.float64)[place.reshape(-1)]
