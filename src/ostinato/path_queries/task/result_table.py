"""FoundPaths -> a table of paths, the best first: query, start, nodes, relations, end, score."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.kernels.stopping import check_stopped
from ostinato.path_queries.path_facts import SCHEMA
from ostinato.path_queries.search.path_search import FoundPaths, PathWalk
from ostinato.path_queries.search.walking import NO_PARENT

Ints = NDArray[np.int64]


def result_table(walk: PathWalk, paths: FoundPaths, scores: NDArray[np.float64], limit: int | None) -> pa.Table:
    """`scores`: one for each path. `limit`: largest number of paths for each start."""
    chains = _chains(paths)
    order = _order(paths, chains, scores)
    if limit is not None:
        order = order[_number_within(chains.node_of(paths, order, first=True)) < limit]
    graph = walk.graph
    relation_names = pa.array([sign + name for name in graph.relations for sign in ("", "^")], pa.string())
    lengths = chains.length[order]
    nodes = chains.flat(paths.store.node, order, skip_start=False)
    edges = chains.flat(paths.store.edge, order, skip_start=True)
    query_names = pa.array([query.name for query in walk.queries], pa.string())
    return pa.Table.from_arrays(
        [
            query_names.take(pa.array(paths.query[order])),
            graph.nodes.take(pa.array(chains.node_of(paths, order, first=True))).cast(pa.string()),
            _lists(lengths, graph.nodes.take(pa.array(nodes)).cast(pa.string())),
            _lists(lengths - 1, relation_names.take(pa.array(edges))),
            graph.nodes.take(pa.array(chains.node_of(paths, order, first=False))).cast(pa.string()),
            pa.array(scores[order]),
        ],
        schema=SCHEMA,
    )


def _lists(lengths: Ints, values: pa.Array) -> pa.ListArray:
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


class _Chains:
    """The partial paths of each path: `rows[k]` is the one k edges before its end, or -1 before its start."""

    def __init__(self, rows: list[Ints]) -> None:
        self.rows = rows
        count = len(rows[0]) if rows else 0
        self.length = sum((step != NO_PARENT for step in rows), np.zeros(count, np.int64)).astype(np.int64)

    def flat(self, column: NDArray[np.int32], order: Ints, *, skip_start: bool) -> Ints:
        """The values of a column along each path, from start to end, path after path."""
        if not self.rows:
            return np.zeros(0, np.int64)
        table = np.stack([step[order] for step in reversed(self.rows)], axis=1)
        has_step = table != NO_PARENT
        if skip_start:
            first = has_step.argmax(axis=1)
            has_step[np.arange(len(order)), first] = False
        values: Ints = column[table[has_step]].astype(np.int64)
        return values

    def node_of(self, paths: FoundPaths, order: Ints, *, first: bool) -> Ints:
        if not self.rows:
            return np.zeros(0, np.int64)
        if first:
            table = np.stack(self.rows, axis=0)[:, order]
            ends = table[self.length[order] - 1, np.arange(len(order))]
        else:
            ends = self.rows[0][order]
        nodes: Ints = paths.store.node[ends].astype(np.int64)
        return nodes


def _chains(paths: FoundPaths) -> _Chains:
    rows = [paths.path]
    while len(rows[-1]) and (rows[-1] != NO_PARENT).any():
        last = rows[-1]
        rows.append(np.where(last == NO_PARENT, NO_PARENT, paths.store.parent[last]))
    return _Chains(rows[:-1] if len(rows) > 1 else [])


def _order(paths: FoundPaths, chains: _Chains, scores: NDArray[np.float64]) -> Ints:
    """Orders by start, score, length, then by names (numbers compare like names), relations and query."""
    all_paths = np.arange(len(paths.path))
    if not len(all_paths):
        return all_paths
    start = chains.node_of(paths, all_paths, first=True)
    ranked = [start, -scores, chains.length, *_from_start(paths, chains), paths.query]
    return np.lexsort(ranked[::-1])


def _from_start(paths: FoundPaths, chains: _Chains) -> list[Ints]:
    """Node and edge of the first step, the second and so on; -1 after the end."""
    columns = []
    rows, all_paths = np.stack(chains.rows), np.arange(len(paths.path))
    for step_number in range(len(rows)):
        back = chains.length - 1 - step_number  # how many edges before the end
        check_stopped()
        has_step = back >= 0
        step = rows[np.where(has_step, back, 0), all_paths]
        columns.append(np.where(has_step, paths.store.node[step], -1).astype(np.int64))
        columns.append(np.where(has_step, paths.store.edge[step], -1).astype(np.int64))
    return columns


def _number_within(group: Ints) -> Ints:
    """Counts 0, 1, 2, ... within each run of equal values."""
    if not len(group):
        return group
    starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    return np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))
