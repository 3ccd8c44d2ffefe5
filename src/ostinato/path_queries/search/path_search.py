"""Graph, queries and start nodes -> paths, one edge longer with each level, perhaps under a budget.

Under a budget, the search weighs the partial paths before each level: their value for their queries, and the cost of
walking them to their ends (`path_selection.py`). It continues with the best ones that fit the budget.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.kernels.stopping import check_stopped
from ostinato.path_queries.automaton.path_automaton import START, build_path_automaton, symbols_of
from ostinato.path_queries.graph import Graph
from ostinato.path_queries.language.path_query import PathQuery
from ostinato.path_queries.search.budget import (
    DEFAULT_MAX_HOPS,
    DEFAULT_MAX_PARTIAL_PATHS,
    NO_BUDGET,
    UNLIMITED,
    Budget,
    Meter,
)
from ostinato.path_queries.search.path_selection import LARGEST_HORIZON, Chooser, ChosenPaths, Frontier, PathCosts
from ostinato.path_queries.search.path_tables import after_an_edge, in_words, make_tables
from ostinato.path_queries.search.walking import NO_PARENT, KernelTerms, PathStore, WalkProgress, extend

BYTES_OF_PATH = 20
"""Bytes of a partial path in the store, without its mask."""
NODES_OF_PARTIAL_PATH = 16
"""Largest number of result nodes for each allowed partial path. A partial path can be a result of several queries, and
long paths repeat the nodes of shorter ones."""
_FIRST_ROOM = 1024
_PAUSE = 20_000
"""Units of work between two readings of the clock."""


@dataclass(frozen=True, slots=True)
class WalkTerms:
    """`simple`: no node twice. `max_hops`: longest path. `ends`: nodes at which paths may end; None: all.

    A walk that needs more than `max_partial_paths` fails. Under a budget, it drops the others.
    """

    simple: bool = False
    max_hops: int = DEFAULT_MAX_HOPS
    ends: NDArray[np.bool_] | None = None
    budget: Budget = NO_BUDGET
    max_partial_paths: int = DEFAULT_MAX_PARTIAL_PATHS


ALL_WALKS = WalkTerms()


@dataclass(frozen=True, slots=True)
class WalkReport:
    """The work of a walk, and the partial paths that it dropped."""

    partial_paths: int
    work: int
    elapsed_ns: int
    kept_bytes: int
    given_up: tuple[int, ...]
    """For each query, the number of partial paths that were dropped for it."""
    cut_edges: int
    too_long: int
    """Number of partial paths that `max_hops` stopped before their query ended."""

    @property
    def complete(self) -> bool:
        """Whether the walk found all paths."""
        return not (any(self.given_up) or self.cut_edges or self.too_long)


@dataclass(frozen=True, slots=True)
class FoundPaths:
    """Path i ends with row `path[i]` of the store and answers query `query[i]`."""

    store: PathStore
    path: NDArray[np.int64]
    query: NDArray[np.int64]
    report: WalkReport

    def rows(self, number: int) -> list[int]:
        """The store rows of path `number`, from its start to its end."""
        rows = [int(self.path[number])]
        while self.store.parent[rows[-1]] != NO_PARENT:
            rows.append(int(self.store.parent[rows[-1]]))
        return rows[::-1]


class PathWalk:
    """Queries bound to a graph. They can be walked from many starts."""

    def __init__(self, graph: Graph, queries: Sequence[PathQuery]) -> None:
        self.graph = graph
        self.queries = tuple(queries)
        symbols = symbols_of(queries)
        class_of_node, classes = graph.classes(symbols)
        self.automaton = build_path_automaton(queries, symbols, classes)
        self.words = max(1, -(-len(self.queries) // 64))
        self.tables = make_tables(self.automaton, graph, class_of_node, self.words)
        self.accepts = in_words(self.automaton.accepts, self.words)
        self.goes_on = in_words(after_an_edge(self.automaton), self.words)
        """[state, word]: the queries that can go on with one more edge."""
        self._costs: list[PathCosts] = []

    def costs(self, hops: int) -> PathCosts:
        """Costs of paths with at most `hops` more edges. Computed once for all copies of this walk."""
        horizon = min(hops, LARGEST_HORIZON)
        if not self._costs or self._costs[0].hops < horizon:
            self._costs[:] = [PathCosts(self, horizon)]
        return self._costs[0]

    def with_queries(self, queries: Sequence[PathQuery]) -> PathWalk:
        """The same walk for queries with the same expressions but other names and weights."""
        other = copy.copy(self)
        other.queries = tuple(queries)
        return other

    def find(
        self,
        starts: NDArray[np.int64],
        terms: WalkTerms = ALL_WALKS,
        chooser: Chooser | None = None,
        queries_of_start: NDArray[np.uint64] | None = None,
    ) -> FoundPaths:
        """All paths from the starts; start -1 is no node. `queries_of_start` [start, word]: the queries of each start.

        Raises TOO_MANY_PARTIAL_PATHS, RESULT_TOO_LARGE.
        """
        return _PathSearch(self, terms, chooser).run(starts, queries_of_start)


class _PathSearch:
    def __init__(self, walk: PathWalk, terms: WalkTerms, chooser: Chooser | None) -> None:
        self.walk, self.terms = walk, terms
        self.chooser = None if terms.budget.is_none else chooser
        self.path_bytes = BYTES_OF_PATH + 8 * walk.words
        most = terms.budget.memory_bytes
        self.most_paths = terms.max_partial_paths if most is None else max(1, most // self.path_bytes)
        self.most_paths = min(self.most_paths, terms.max_partial_paths)
        self.store = _new_store(min(_FIRST_ROOM, self.most_paths), walk.words)
        self.progress = WalkProgress(*(np.zeros(1, np.int64) for _ in range(4)))
        self.given_up = np.zeros(len(walk.queries), np.int64)
        self.too_long = 0
        if self.chooser is not None:
            self._get_ready()
        self.meter = Meter(terms.budget)

    def _get_ready(self) -> None:
        """Computes costs and loads kernels before the clock starts: they aren't charged to the first walk's bound."""
        nothing = np.zeros(0, np.int64)
        self.walk.costs(self.terms.max_hops).of(Frontier(self.walk, self.store, nothing, 0))
        self._kernel(nothing, KernelTerms(self.terms.simple, 0, 0, 0))

    def _kernel(self, chosen: NDArray[np.int64], terms: KernelTerms) -> bool:
        graph = self.walk.graph
        return bool(extend(graph.forwards, graph.backwards, self.walk.tables, self.store, chosen, terms, self.progress))

    def run(self, starts: NDArray[np.int64], queries_of_start: NDArray[np.uint64] | None) -> FoundPaths:
        self._put_starts(starts, queries_of_start)
        low, result_count, ends, queries = 0, 0, [], []
        for hops in range(self.terms.max_hops + 1):
            check_stopped()
            high = int(self.progress.path_count[0])
            accepted = self._accepted(low, high)
            ending = np.flatnonzero(accepted.any(axis=1))
            ends.append(low + ending)
            queries.append(accepted[ending])
            result_count += int(np.bitwise_count(accepted).sum())
            self._check_result(result_count * (hops + 1))
            frontier = low + np.flatnonzero(self._goes_on(low, high))
            if not len(frontier):
                break
            if hops == self.terms.max_hops:
                self.too_long = len(frontier)
                break
            self._extend(self._chosen(frontier, hops))
            low = high
        return self._found(np.concatenate(ends), np.concatenate(queries))

    def _put_starts(self, starts: NDArray[np.int64], queries_of_start: NDArray[np.uint64] | None) -> None:
        in_graph = np.flatnonzero(starts >= 0)
        self.given_up += len(in_graph[self.most_paths :])  # no room even for the starts
        in_graph = in_graph[: self.most_paths]
        while len(self.store.state) < len(in_graph):
            self._grow()
        store, count = self.store, len(in_graph)
        store.state[:count], store.node[:count] = START, starts[in_graph]
        store.parent[:count], store.edge[:count] = NO_PARENT, -1
        everything = in_words([(1 << len(self.walk.queries)) - 1], self.walk.words)
        store.mask[:count] = everything if queries_of_start is None else queries_of_start[in_graph]
        self.progress.path_count[0] = count
        self._check_room()

    def _check_room(self) -> None:
        """Without a budget, a walk finds all paths or fails."""
        if self.terms.budget.is_none and (self.progress.cut[0] or self.given_up.any()):
            raise MatchError(
                "TOO_MANY_PARTIAL_PATHS",
                f"the walk needs more than {self.most_paths:,} partial paths",
                hint="latency_bound or memory_bound keeps the best of them; "
                "simple=True, a lower max_hops or named relations need fewer; max_partial_paths allows more",
            )

    def _check_result(self, nodes: int) -> None:
        most = NODES_OF_PARTIAL_PATH * max(DEFAULT_MAX_PARTIAL_PATHS, self.terms.max_partial_paths)
        if nodes > most:
            raise MatchError(
                "RESULT_TOO_LARGE",
                f"the paths found have more than {most:,} nodes together",
                hint="ask fewer queries in a call, lower max_hops, or raise max_partial_paths",
            )

    def _accepted(self, low: int, high: int) -> NDArray[np.uint64]:
        """[path, word]: the queries that accept each partial path. Partial paths are dropped only afterwards, so no
        complete path is lost."""
        accepted: NDArray[np.uint64] = self.walk.accepts[self.store.state[low:high]] & self.store.mask[low:high]
        if self.terms.ends is not None:
            accepted[~self.terms.ends[self.store.node[low:high]]] = 0
        return accepted

    def _goes_on(self, low: int, high: int) -> NDArray[np.bool_]:
        """Whether a query can go on from each path. Clears the other queries in the masks."""
        self.store.mask[low:high] &= self.walk.goes_on[self.store.state[low:high]]
        return np.asarray(self.store.mask[low:high].any(axis=1))

    def _chosen(self, frontier: NDArray[np.int64], hops: int) -> ChosenPaths:
        """The partial paths that continue, in order. The others are dropped for some or all of their queries."""
        if self.chooser is None:
            return ChosenPaths(self.store.mask[frontier], frontier, UNLIMITED, UNLIMITED)
        work, path_count, queries = int(self.progress.work[0]), int(self.progress.path_count[0]), len(self.walk.queries)
        began = self.meter.elapsed_ns(work)
        weighed = frontier[: max(1, self.meter.weighable(work) // queries)]
        weighed_frontier = Frontier(self.walk, self.store, weighed, self.terms.max_hops - hops)
        chosen = self.chooser.choose(weighed_frontier, self.meter.left(work), self.most_paths - path_count)
        for paths, after in ((weighed, chosen.masks), (frontier[len(weighed) :], np.uint64(0))):
            self.given_up += _bits(self.store.mask[paths] & ~after, queries)
            self.store.mask[paths] = after
        self.meter.weighed(self.meter.elapsed_ns(work) - began, len(weighed) * queries)
        return replace(chosen, order=weighed[chosen.order])

    def _extend(self, chosen: ChosenPaths) -> None:
        progress = self.progress
        progress.path[0] = 0
        until = int(progress.work[0]) + chosen.work
        most = min(self.most_paths, int(progress.path_count[0]) + chosen.room)
        while progress.path[0] < len(chosen.order):
            check_stopped()
            work = int(progress.work[0])
            began = self.meter.elapsed_ns(work)
            left = max(0, min(self.meter.left(work), until - work))
            terms = KernelTerms(self.terms.simple, work + left, work + max(1, min(left, _PAUSE)), most)
            if not left:
                terms = terms._replace(pause=UNLIMITED)  # no work is left: the kernel counts the remaining edges as cut
            if not self._kernel(chosen.order, terms):
                self._grow()
            self._check_room()
            done = int(progress.work[0])
            self.meter.walked(self.meter.elapsed_ns(done) - began, done - work)

    def _grow(self) -> None:
        size = min(2 * len(self.store.state), self.most_paths)
        self.store = PathStore._make(_grown(column, size) for column in self.store)

    def _found(self, paths: NDArray[np.int64], accepted: NDArray[np.uint64]) -> FoundPaths:
        rows_of_query = [_rows_with_bit(accepted, query) for query in range(len(self.walk.queries))]
        path = np.concatenate([paths[rows] for rows in rows_of_query]) if rows_of_query else np.zeros(0, np.int64)
        query = np.repeat(np.arange(len(rows_of_query)), [len(rows) for rows in rows_of_query])
        path_count, work = int(self.progress.path_count[0]), int(self.progress.work[0])
        report = WalkReport(
            partial_paths=path_count,
            work=work,
            elapsed_ns=self.meter.elapsed_ns(work),
            kept_bytes=path_count * self.path_bytes,
            given_up=tuple(int(count) for count in self.given_up),
            cut_edges=int(self.progress.cut[0]),
            too_long=self.too_long,
        )
        return FoundPaths(PathStore._make(column[:path_count] for column in self.store), path, query, report)


def _rows_with_bit(words: NDArray[np.uint64], bit: int) -> NDArray[np.int64]:
    return np.flatnonzero(words[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1))


def _bits(words: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """For each bit, the number of rows that have it."""
    return np.array([len(_rows_with_bit(words, bit)) for bit in range(count)], np.int64)


def _new_store(size: int, words: int) -> PathStore:
    return PathStore(
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
