"""A walk and its start nodes -> the table of its paths, with the report and the names that the graph doesn't have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.path_queries.graph import Graph
from ostinato.path_queries.path_options import PathOptions
from ostinato.path_queries.search.path_search import PathWalk, WalkReport, WalkTerms
from ostinato.path_queries.search.path_selection import BySimilarity, PathContributions
from ostinato.path_queries.similarity import TokenOverlap
from ostinato.path_queries.task.result_table import result_table


class WalkedPaths(NamedTuple):
    """`unknown`: start and end nodes, relations and node types that the graph doesn't have."""

    table: pa.Table
    report: WalkReport
    unknown: tuple[str, ...]


def walk_paths(walk: PathWalk, starts: Sequence[str], options: PathOptions) -> WalkedPaths:
    """Runs one walk from the start nodes."""
    graph = walk.graph
    similarity = options.similarity or _overlap(graph)
    ends = _ends(graph, options.end)
    terms = WalkTerms(options.simple, options.max_hops, ends, options.budget, options.most_partial_paths)
    chooser = (options.chooser or BySimilarity)(similarity)
    complete_paths = walk.find(graph.numbers(starts), terms, chooser)
    scores = PathContributions(walk, similarity).of(complete_paths.store, complete_paths.path, complete_paths.query)
    named_nodes = (*starts, *(options.end or ()))
    unknown = [name for name, number in zip(named_nodes, graph.numbers(named_nodes), strict=True) if number < 0]
    table = result_table(walk, complete_paths, scores, options.limit)
    return WalkedPaths(table, complete_paths.report, tuple(dict.fromkeys([*unknown, *_unknown(walk)])))


_OVERLAPS: WeakKeyDictionary[Graph, TokenOverlap] = WeakKeyDictionary()
"""Cache by graph. An entry is removed with its graph."""


def _overlap(graph: Graph) -> TokenOverlap:
    if graph not in _OVERLAPS:
        _OVERLAPS[graph] = TokenOverlap(graph)
    return _OVERLAPS[graph]


def _ends(graph: Graph, end: tuple[str, ...] | None) -> NDArray[np.bool_] | None:
    if end is None:
        return None
    allowed = np.zeros(len(graph.nodes), np.bool_)
    numbers = graph.numbers(end)
    allowed[numbers[numbers >= 0]] = True
    return allowed


def _unknown(walk: PathWalk) -> list[str]:
    relations = [name for query in walk.queries for name in query.relations() if name not in walk.graph.relations]
    types = [name for query in walk.queries for name in sorted(query.node_types()) if name not in walk.graph.types]
    return [*relations, *types]
