"""Graph, queries and start nodes -> paths: level by level, one edge longer each time, under a budget if there is one.

Under a budget, before each level the partial paths are weighed: what they are worth to the queries that they are kept
for, and what it would cost to walk them to their ends (`selection.py`). The best are kept as far as the budget reaches.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostinato.automaton.path_automaton import NOWHERE, START, PathAutomaton, build_path_automaton, symbols_of
from ostinato.query.path_query import PathQuery
from ostinato.techniques.path_queries.budget import NO_BUDGET, Budget, Meter
from ostinato.techniques.path_queries.graph import Graph, mean_degrees
from ostinato.techniques.path_queries.selection import Chooser, Costs, Frontier
from ostinato.techniques.path_queries.walking import NO_PARENT, Progress, Store, Tables, Terms, extend

BYTES_OF_PATH = 20
"""Of a partial path in the store, beside its mask."""
DEFAULT_MAX_HOPS = 8
_FIRST_ROOM = 1024
_PAUSE = 20_000
"""Work between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class WalkTerms:
    """`simple`: no node twice. `max_hops`: longer paths aren't followed. `ends`: where paths may end, None anywhere."""

    simple: bool = False
    max_hops: int = DEFAULT_MAX_HOPS
    ends: NDArray[np.bool_] | None = None
    budget: Budget = NO_BUDGET


ALL_WALKS = WalkTerms()


@dataclass(frozen=True, slots=True)
class WalkReport:
    """What was done and what was given up."""

    partial_paths: int
    work: int
    elapsed_ns: int
    kept_bytes: int
    given_up: tuple[int, ...]
    """For each query how many partial paths were dropped for it."""
    cut_edges: int
    too_long: int
    """For how many partial paths `max_hops` was the end, though the query would have gone on."""

    @property
    def complete(self) -> bool:
        """Whether these are all paths."""
        return not (any(self.given_up) or self.cut_edges or self.too_long)


@dataclass(frozen=True, slots=True)
class FoundPaths:
    """Path i is `store` row `path[i]` with the rows before it; found for `query[i]`."""

    store: Store
    path: NDArray[np.int64]
    query: NDArray[np.int64]
    report: WalkReport

    def rows(self, number: int) -> list[int]:
        """The partial paths that lead to found path `number`, from the start on."""
        found = [int(self.path[number])]
        while self.store.parent[found[-1]] != NO_PARENT:
            found.append(int(self.store.parent[found[-1]]))
        return found[::-1]


class PathWalk:
    """Queries tied to a graph; may be walked from many starts."""

    def __init__(self, graph: Graph, queries: Sequence[PathQuery]) -> None:
        self.graph = graph
        self.queries = tuple(queries)
        symbols = symbols_of(queries)
        class_of_node, classes = graph.classes(symbols)
        self.automaton = build_path_automaton(queries, symbols, classes)
        self.words = max(1, -(-len(self.queries) // 64))
        self.tables = _tables(self.automaton, graph, class_of_node, self.words)
        self.accepts = _words(self.automaton.accepts, self.words)
        self.mean_degrees = mean_degrees(graph, self.tables.symbol_of_relation, len(symbols.names))
        self._costs: dict[int, Costs] = {}

    def costs(self, hops: int) -> Costs:
        """What paths cost with so many edges to come at most; worked out once, for all copies of this walk."""
        if hops not in self._costs:
            self._costs[hops] = Costs(self, hops)
        return self._costs[hops]

    def with_weights(self, weights: Sequence[float]) -> PathWalk:
        """The same walk for queries that are worth something else."""
        other = copy.copy(self)
        other.queries = tuple(replace(one, weight=weight) for one, weight in zip(self.queries, weights, strict=True))
        return other

    def find(
        self,
        starts: NDArray[np.int64],
        terms: WalkTerms = ALL_WALKS,
        chooser: Chooser | None = None,
        asked: NDArray[np.uint64] | None = None,
    ) -> FoundPaths:
        """All paths from the starts; -1 is no node and has none. `asked` [start, word]: for which queries each is."""
        return _Search(self, terms, chooser).run(starts, asked)


class _Search:
    def __init__(self, walk: PathWalk, terms: WalkTerms, chooser: Chooser | None) -> None:
        self.walk, self.terms = walk, terms
        self.chooser = None if terms.budget.is_none else chooser
        self.meter = Meter(terms.budget)
        self.path_bytes = BYTES_OF_PATH + 8 * walk.words
        most = terms.budget.memory_bytes
        self.most_paths = None if most is None else max(1, most // self.path_bytes)
        self.store = _new_store(
            _FIRST_ROOM if self.most_paths is None else min(_FIRST_ROOM, self.most_paths), walk.words
        )
        self.progress = Progress(*(np.zeros(1, np.int64) for _ in range(4)))
        self.given_up = np.zeros(len(walk.queries), np.int64)
        self.too_long = 0

    def run(self, starts: NDArray[np.int64], asked: NDArray[np.uint64] | None) -> FoundPaths:
        self._put_starts(starts, asked)
        low, found = 0, []
        for hops in range(self.terms.max_hops + 1):
            high = int(self.progress.made[0])
            found.append(low + np.flatnonzero(self._ends_at(low, high)))
            frontier = low + np.flatnonzero(self._goes_on(low, high))
            if not len(frontier):
                break
            if hops == self.terms.max_hops:
                self.too_long = len(frontier)
                break
            self._extend(self._chosen(frontier, hops))
            low = high
        return self._found(np.concatenate(found))

    def _put_starts(self, starts: NDArray[np.int64], asked: NDArray[np.uint64] | None) -> None:
        known = np.flatnonzero(starts >= 0)
        while len(self.store.state) < len(known):
            self._grow()
        store, count = self.store, len(known)
        store.state[:count], store.node[:count] = START, starts[known]
        store.parent[:count], store.edge[:count] = NO_PARENT, -1
        everything = _words([(1 << len(self.walk.queries)) - 1], self.walk.words)
        store.mask[:count] = everything if asked is None else asked[known]
        self.progress.made[0] = count

    def _ends_at(self, low: int, high: int) -> NDArray[np.bool_]:
        accepted = self.walk.accepts[self.store.state[low:high]] & self.store.mask[low:high]
        ends = accepted.any(axis=1)
        if self.terms.ends is not None:
            ends &= self.terms.ends[self.store.node[low:high]]
        return np.asarray(ends)

    def _goes_on(self, low: int, high: int) -> NDArray[np.bool_]:
        at = self.walk.tables.symbol_at
        state = self.store.state[low:high].astype(np.int64)
        return np.asarray(at[2 * state + 2] > at[2 * state])

    def _chosen(self, frontier: NDArray[np.int64], hops: int) -> NDArray[np.int64]:
        """What of the frontier is walked on, in the order in which it is; the rest is dropped, for all or some."""
        if self.chooser is None:
            return frontier
        left = self.meter.left(int(self.progress.work[0]))
        room = None if self.most_paths is None else self.most_paths - int(self.progress.made[0])
        scene = Frontier(self.walk, self.store, frontier, self.terms.max_hops - hops)
        kept = self.chooser.choose(scene, left, room)
        before, after = self.store.mask[frontier], kept.masks
        self.given_up += _bits(before & ~after, len(self.walk.queries))
        self.store.mask[frontier] = after
        alive = np.asarray(after.any(axis=1))
        order = kept.order[alive[kept.order]]
        chosen: NDArray[np.int64] = frontier[order]
        return chosen

    def _extend(self, chosen: NDArray[np.int64]) -> None:
        walk, progress = self.walk, self.progress
        progress.path[0] = 0
        while progress.path[0] < len(chosen):
            work = int(progress.work[0])
            left = self.meter.left(work)
            last_room = self.most_paths is not None and len(self.store.state) >= self.most_paths
            terms = Terms(self.terms.simple, work + left, work + max(1, min(left, _PAUSE)), last_room)
            if not left:
                terms = terms._replace(pause=1 << 62)  # nothing is allowed: what is left is cut, and counted
            if not extend(walk.graph.forwards, walk.graph.backwards, walk.tables, self.store, chosen, terms, progress):
                self._grow()

    def _grow(self) -> None:
        size = 2 * len(self.store.state)
        if self.most_paths is not None:
            size = min(size, self.most_paths)
        self.store = Store._make(_grown(column, size) for column in self.store)

    def _found(self, paths: NDArray[np.int64]) -> FoundPaths:
        accepted = self.walk.accepts[self.store.state[paths]] & self.store.mask[paths]
        parts = [_rows_with_bit(accepted, query) for query in range(len(self.walk.queries))]
        path = np.concatenate([paths[part] for part in parts]) if parts else np.zeros(0, np.int64)
        query = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        made, work = int(self.progress.made[0]), int(self.progress.work[0])
        report = WalkReport(
            partial_paths=made,
            work=work,
            elapsed_ns=self.meter.elapsed_ns(work),
            kept_bytes=made * self.path_bytes,
            given_up=tuple(int(count) for count in self.given_up),
            cut_edges=int(self.progress.cut[0]),
            too_long=self.too_long,
        )
        return FoundPaths(Store._make(column[:made] for column in self.store), path, query, report)


def _rows_with_bit(words: NDArray[np.uint64], bit: int) -> NDArray[np.int64]:
    return np.flatnonzero(words[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1))


def _bits(words: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """For each bit how many rows have it."""
    return np.array([len(_rows_with_bit(words, bit)) for bit in range(count)], np.int64)


def _words(sets: Sequence[int], words: int) -> NDArray[np.uint64]:
    """Bit sets of any width as rows of 64-bit words."""
    full = (1 << 64) - 1
    return np.array([[bits >> 64 * word & full for word in range(words)] for bits in sets], np.uint64).reshape(
        -1, words
    )


def _new_store(size: int, words: int) -> Store:
    return Store(
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int64),
        np.zeros(size, np.int32),
        np.zeros((size, words), np.uint64),
    )


def _grown(column: NDArray, size: int) -> NDArray:  # type: ignore[type-arg]
    larger = np.zeros((size, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger


def _tables(automaton: PathAutomaton, graph: Graph, class_of_node: NDArray[np.int32], words: int) -> Tables:
    leads = (automaton.target != NOWHERE).any(axis=2)
    at, symbols, lead_to = [0], [], []
    for state in range(automaton.states):
        for direction in range(2):
            for symbol in (np.flatnonzero(leads[state, direction::2]) * 2 + direction).tolist():
                symbols.append(symbol)
                targets = {int(to) for to in automaton.target[state, symbol] if to != NOWHERE}
                lead_to.append(functools.reduce(operator.or_, (automaton.reaches[to] for to in targets)))
            at.append(len(symbols))
    number = {name: i for i, name in enumerate(graph.relations)}
    names = automaton.symbols.names
    return Tables(
        target=np.ascontiguousarray(automaton.target),
        symbol_at=np.array(at, np.int64),
        symbols=np.array(symbols, np.int32),
        symbol_reaches=_words(lead_to, words),
        relation_of_symbol=np.array([*(number.get(name, -1) for name in names), -1], np.int32),
        symbol_of_relation=graph.symbol_of_relation(automaton.symbols),
        class_of_node=class_of_node,
        reaches=_words(automaton.reaches, words),
        other=2 * len(names),
    )
