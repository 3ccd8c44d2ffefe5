"""Triples (head, relation, tail) -> Graph: edges of each node in order of their relation, forwards and backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.automaton.path_automaton import Symbols
from ostinato.errors import MatchError, QueryError

LARGEST_NODES = (1 << 31) - 1


class Edges(NamedTuple):
    """The edges of node n are those from `at[n]` to before `at[n + 1]`, by relation, then by the node they lead to."""

    at: NDArray[np.int64]
    relation: NDArray[np.int32]
    node: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes and relations by number; names in order of the alphabet, so that numbers compare as names do."""

    nodes: pa.Array
    relations: tuple[str, ...]
    forwards: Edges
    backwards: Edges
    types: tuple[str, ...] = ()
    type_of_node: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None
    """Pairs of (node, type), sorted; a node may have several types."""
    skipped: int = 0
    """Rows with a NULL, which are no facts."""

    @property
    def edge_count(self) -> int:
        return len(self.forwards.node)

    def numbers(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The nodes of these names; -1 for a name that no node has."""
        return np.array([self._number.get(name, -1) for name in names], np.int64)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.nodes.to_pylist())}

    def symbol_of_relation(self, symbols: Symbols) -> NDArray[np.int32]:
        """For each relation its place among those that queries name; the one behind them for all others."""
        place = {name: i for i, name in enumerate(symbols.names)}
        return np.array([place.get(name, len(place)) for name in self.relations], np.int32)

    def classes(self, symbols: Symbols) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """Each node's place among the classes that occur, and these: bit t is set where a node passes test t."""
        if not symbols.tests:
            return self._one_class, (0,)
        bits = np.zeros(len(self.nodes), np.int64)
        if len(symbols.tests) > 62:
            raise QueryError("PATTERN_TOO_LARGE", "queries may have 62 different tests of node types")
        if self.type_of_node is not None:
            nodes, kinds = self.type_of_node
            for number, wanted in enumerate(symbols.tests):
                passing = np.array([name in wanted for name in self.types], np.bool_)
                bits[nodes[passing[kinds]]] |= 1 << number
        found, place = np.unique(bits, return_inverse=True)
        return place.astype(np.int32), tuple(int(one) for one in found) or (0,)

    @cached_property
    def _one_class(self) -> NDArray[np.int32]:
        return np.zeros(len(self.nodes), np.int32)

    @cached_property
    def followers(self) -> NDArray[np.float64]:
        """[2 * relation + direction, the same]: how many edges of the second kind a node has, on average over the edges
        of the first kind that lead to it."""
        kinds, nodes = 2 * len(self.relations), len(self.nodes)
        degree = np.zeros((kinds, nodes), np.int32)
        for direction, edges in enumerate((self.forwards, self.backwards)):
            owner = np.repeat(np.arange(nodes), np.diff(edges.at))
            np.add.at(degree, (2 * edges.relation + direction, owner), 1)
        found = np.zeros((kinds, kinds))
        for direction in range(2):
            # Backwards leads to where forwards comes from.
            came = degree[1 - direction :: 2].astype(np.float64)
            total = came.sum(axis=1, keepdims=True)
            found[direction::2] = came @ degree.T / np.maximum(total, 1.0)
        return found


def make_graph(
    triples: pa.Table,
    columns: tuple[str, str, str] = ("head", "relation", "tail"),
    types: pa.Table | None = None,
) -> Graph:
    """The graph of a table of triples; a triple that stands there twice is one fact.

    `types` has a row (node, type) for each type of a node, in its first two columns.
    """
    parts = [_text(triples, name) for name in columns]
    whole = pc.and_(pc.and_(parts[0].is_valid(), parts[1].is_valid()), parts[2].is_valid())
    skipped = triples.num_rows - (pc.sum(whole).as_py() or 0)
    if skipped:
        parts = [part.filter(whole) for part in parts]
    nodes = pc.unique(pa.concat_arrays([parts[0], parts[2]]))
    nodes = nodes.take(pc.sort_indices(nodes))
    if len(nodes) > LARGEST_NODES:
        raise MatchError("GRAPH_TOO_LARGE", f"a graph has at most {LARGEST_NODES:,} nodes in one process")
    relations = pc.unique(parts[1])
    relations = relations.take(pc.sort_indices(relations))
    head, relation, tail = (
        np.asarray(pc.index_in(part, value_set=known), np.int64)
        for part, known in zip(parts, (nodes, relations, nodes), strict=True)
    )
    kinds, pairs = _node_types(types, nodes)
    count = len(nodes)
    return Graph(
        nodes=nodes,
        relations=tuple(relations.to_pylist()),
        forwards=_edges(head, relation, tail, count),
        backwards=_edges(tail, relation, head, count),
        types=kinds,
        type_of_node=pairs,
        skipped=skipped,
    )


def _text(table: pa.Table, name: str) -> pa.Array:
    if name not in table.column_names:
        raise QueryError(
            "UNKNOWN_COLUMN",
            f"the graph has no column '{name}'",
            hint=f"it has {', '.join(table.column_names)}; name them with columns=(head, relation, tail)",
        )
    column = table.column(name).combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string() if column.nbytes > 1 << 30 else pa.string())


def _edges(owner: NDArray[np.int64], relation: NDArray[np.int64], node: NDArray[np.int64], nodes: int) -> Edges:
    order = np.lexsort((node, relation, owner))
    owner, relation, node = owner[order], relation[order], node[order]
    new = np.ones(len(owner), np.bool_)
    new[1:] = (np.diff(owner) != 0) | (np.diff(relation) != 0) | (np.diff(node) != 0)
    at = np.searchsorted(owner[new], np.arange(nodes + 1))
    return Edges(at.astype(np.int64), relation[new].astype(np.int32), node[new].astype(np.int32))


def _node_types(
    types: pa.Table | None, nodes: pa.Array
) -> tuple[tuple[str, ...], tuple[NDArray[np.int32], NDArray[np.int32]] | None]:
    if types is None:
        return (), None
    names, kinds = (_text(types, types.column_names[i]) for i in range(2))
    known = pc.and_(pc.is_in(names, value_set=nodes), kinds.is_valid())
    names, kinds = names.filter(known), kinds.filter(known)
    all_kinds = pc.unique(kinds)
    node = np.asarray(pc.index_in(names, value_set=nodes), np.int32)
    kind = np.asarray(pc.index_in(kinds, value_set=all_kinds), np.int32)
    return tuple(all_kinds.to_pylist()), (node, kind)


def mean_degrees(graph: Graph, symbol_of_relation: NDArray[np.int32], names: int) -> NDArray[np.float64]:
    """The same as `Graph.followers` for symbols: relations that nobody names are one."""
    kind = 2 * symbol_of_relation[:, None] + np.arange(2)
    count = np.bincount(graph.forwards.relation, minlength=len(graph.relations)).astype(np.float64)
    weight = np.repeat(count, 2)
    found = np.zeros((2 * (names + 1), 2 * (names + 1)))
    summed = np.zeros((2 * (names + 1), len(weight)))
    np.add.at(summed, kind.reshape(-1), graph.followers * weight[:, None])
    total = np.bincount(kind.reshape(-1), weight, minlength=len(found))
    np.add.at(found.T, kind.reshape(-1), (summed / np.maximum(total, 1.0)[:, None]).T)
    return found
