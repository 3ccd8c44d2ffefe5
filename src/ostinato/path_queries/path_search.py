"""Graph, queries and start nodes -> paths: level by level, one edge longer each time, under a budget if there is one.

Under a budget, before each level the partial paths are weighed: what they are worth to the queries that they are kept
for, and what it would cost to walk them to their ends (`path_selection.py`). The best are kept while the budget lasts.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.kernels.stopping import check_stopped
from ostinato.path_queries.budget import NO_BUDGET, UNLIMITED, Budget, Meter
from ostinato.path_queries.graph import Graph
from ostinato.path_queries.language.path_query import PathQuery
from ostinato.path_queries.path_automaton import START, build_path_automaton, symbols_of
from ostinato.path_queries.path_selection import LARGEST_HORIZON, Chooser, Costs, Frontier, Kept
from ostinato.path_queries.path_tables import after_an_edge, in_words, make_tables
from ostinato.path_queries.walking import NO_PARENT, Progress, Store, Terms, extend

BYTES_OF_PATH = 20
"""Of a partial path in the store, beside its mask."""
DEFAULT_MAX_HOPS = 8
DEFAULT_MAX_PARTIAL_PATHS = 2_000_000
"""With their results about 1 GB."""
NODES_OF_PARTIAL_PATH = 16
"""So many nodes may the paths found have together, for each partial path that is allowed: one partial path is a path of
several queries, and long paths repeat the nodes of shorter ones."""
_FIRST_ROOM = 1024
_PAUSE = 20_000
"""Work between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class WalkTerms:
    """`simple`: no node twice. `max_hops`: longer paths aren't followed. `ends`: where paths may end, None anywhere.

    A walk that needs more than `max_partial_paths` fails, or under a budget gives up what goes beyond them.
    """

    simple: bool = False
    max_hops: int = DEFAULT_MAX_HOPS
    ends: NDArray[np.bool_] | None = None
    budget: Budget = NO_BUDGET
    max_partial_paths: int = DEFAULT_MAX_PARTIAL_PATHS


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
        self.tables = make_tables(self.automaton, graph, class_of_node, self.words)
        self.accepts = in_words(self.automaton.accepts, self.words)
        self.goes_on = in_words(after_an_edge(self.automaton), self.words)
        """[state, word]: the queries that one more edge may lead on to."""
        self._costs: list[Costs] = []

    def costs(self, hops: int) -> Costs:
        """What paths cost with so many edges to come at most; worked out once, for all copies of this walk."""
        wanted = min(hops, LARGEST_HORIZON)
        if not self._costs or self._costs[0].hops < wanted:
            self._costs[:] = [Costs(self, wanted)]
        return self._costs[0]

    def asked_as(self, queries: Sequence[PathQuery]) -> PathWalk:
        """The same walk for queries of the same expressions, with other names and weights."""
        other = copy.copy(self)
        other.queries = tuple(queries)
        return other

    def find(
        self,
        starts: NDArray[np.int64],
        terms: WalkTerms = ALL_WALKS,
        chooser: Chooser | None = None,
        asked: NDArray[np.uint64] | None = None,
    ) -> FoundPaths:
        """All paths from the starts; -1 is no node and has none. `asked` [start, word]: for which queries each is.

        Raises TOO_MANY_PARTIAL_PATHS, RESULT_TOO_LARGE.
        """
        return _Search(self, terms, chooser).run(starts, asked)


class _Search:
    def __init__(self, walk: PathWalk, terms: WalkTerms, chooser: Chooser | None) -> None:
        self.walk, self.terms = walk, terms
        self.chooser = None if terms.budget.is_none else chooser
        self.path_bytes = BYTES_OF_PATH + 8 * walk.words
        most = terms.budget.memory_bytes
        self.most_paths = terms.max_partial_paths if most is None else max(1, most // self.path_bytes)
        self.most_paths = min(self.most_paths, terms.max_partial_paths)
        self.store = _new_store(min(_FIRST_ROOM, self.most_paths), walk.words)
        self.progress = Progress(*(np.zeros(1, np.int64) for _ in range(4)))
        self.given_up = np.zeros(len(walk.queries), np.int64)
        self.too_long = 0
        if self.chooser is not None:
            self._get_ready()
        self.meter = Meter(terms.budget)

    def _get_ready(self) -> None:
        """What is done once, for all walks: the first of a process mustn't pay for it out of its bound."""
        nothing = np.zeros(0, np.int64)
        self.walk.costs(self.terms.max_hops).of(Frontier(self.walk, self.store, nothing, 0))
        self._kernel(nothing, Terms(self.terms.simple, 0, 0, 0))

    def _kernel(self, chosen: NDArray[np.int64], terms: Terms) -> bool:
        graph = self.walk.graph
        return bool(extend(graph.forwards, graph.backwards, self.walk.tables, self.store, chosen, terms, self.progress))

    def run(self, starts: NDArray[np.int64], asked: NDArray[np.uint64] | None) -> FoundPaths:
        self._put_starts(starts, asked)
        low, found_count, found, queries = 0, 0, [], []
        for hops in range(self.terms.max_hops + 1):
            check_stopped()
            high = int(self.progress.made[0])
            accepted = self._accepted(low, high)
            ending = np.flatnonzero(accepted.any(axis=1))
            found.append(low + ending)
            queries.append(accepted[ending])
            found_count += int(np.bitwise_count(accepted).sum())
            self._check_result(found_count * (hops + 1))
            frontier = low + np.flatnonzero(self._goes_on(low, high))
            if not len(frontier):
                break
            if hops == self.terms.max_hops:
                self.too_long = len(frontier)
                break
            self._extend(self._chosen(frontier, hops))
            low = high
        return self._found(np.concatenate(found), np.concatenate(queries))

    def _put_starts(self, starts: NDArray[np.int64], asked: NDArray[np.uint64] | None) -> None:
        known = np.flatnonzero(starts >= 0)
        self.given_up += len(known[self.most_paths :])  # there is no room even for these
        known = known[: self.most_paths]
        while len(self.store.state) < len(known):
            self._grow()
        store, count = self.store, len(known)
        store.state[:count], store.node[:count] = START, starts[known]
        store.parent[:count], store.edge[:count] = NO_PARENT, -1
        everything = in_words([(1 << len(self.walk.queries)) - 1], self.walk.words)
        store.mask[:count] = everything if asked is None else asked[known]
        self.progress.made[0] = count
        self._check_room()

    def _check_room(self) -> None:
        """Without a budget everything is found, or nothing."""
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
        """[path, word]: the queries that partial paths are whole paths of. Asked before any is dropped: what is found
        is found, whether it is walked on or not."""
        accepted: NDArray[np.uint64] = self.walk.accepts[self.store.state[low:high]] & self.store.mask[low:high]
        if self.terms.ends is not None:
            accepted[~self.terms.ends[self.store.node[low:high]]] = 0
        return accepted

    def _goes_on(self, low: int, high: int) -> NDArray[np.bool_]:
        """Whether any query may go on; from now on a partial path is kept for those only."""
        self.store.mask[low:high] &= self.walk.goes_on[self.store.state[low:high]]
        return np.asarray(self.store.mask[low:high].any(axis=1))

    def _chosen(self, frontier: NDArray[np.int64], hops: int) -> Kept:
        """What of the frontier is walked on, in the order in which it is; the rest is dropped, for all or some."""
        if self.chooser is None:
            return Kept(self.store.mask[frontier], frontier, UNLIMITED, UNLIMITED)
        work, made, queries = int(self.progress.work[0]), int(self.progress.made[0]), len(self.walk.queries)
        began = self.meter.elapsed_ns(work)
        weighed = frontier[: max(1, self.meter.weighable(work) // queries)]
        scene = Frontier(self.walk, self.store, weighed, self.terms.max_hops - hops)
        kept = self.chooser.choose(scene, self.meter.left(work), self.most_paths - made)
        for paths, after in ((weighed, kept.masks), (frontier[len(weighed) :], np.uint64(0))):
            self.given_up += _bits(self.store.mask[paths] & ~after, queries)
            self.store.mask[paths] = after
        self.meter.weighed(self.meter.elapsed_ns(work) - began, len(weighed) * queries)
        return replace(kept, order=weighed[kept.order])

    def _extend(self, kept: Kept) -> None:
        progress = self.progress
        progress.path[0] = 0
        until = int(progress.work[0]) + kept.work
        most = min(self.most_paths, int(progress.made[0]) + kept.room)
        while progress.path[0] < len(kept.order):
            check_stopped()
            work = int(progress.work[0])
            began = self.meter.elapsed_ns(work)
            left = max(0, min(self.meter.left(work), until - work))
            terms = Terms(self.terms.simple, work + left, work + max(1, min(left, _PAUSE)), most)
            if not left:
                terms = terms._replace(pause=UNLIMITED)  # nothing is allowed: what is left is cut, and counted
            if not self._kernel(kept.order, terms):
                self._grow()
            self._check_room()
            done = int(progress.work[0])
            self.meter.walked(self.meter.elapsed_ns(done) - began, done - work)

    def _grow(self) -> None:
        size = min(2 * len(self.store.state), self.most_paths)
        self.store = Store._make(_grown(column, size) for column in self.store)

    def _found(self, paths: NDArray[np.int64], accepted: NDArray[np.uint64]) -> FoundPaths:
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
