"""Triples (head, relation, tail) -> Graph: the edges of each node, ordered by relation, forwards and backwards."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.calls.options import shown
from ostinato.calls.shown_objects import short_repr
from ostinato.errors import MatchError, QueryError
from ostinato.path_queries.automaton.path_automaton import EdgeSymbols
from ostinato.pictures.html_blocks import facts_block

LARGEST_NODES = (1 << 31) - 1
COLUMNS = ("head", "relation", "tail")
_RELATIONS_SHOWN = 20


class Edges(NamedTuple):
    """Node n has the edges `at[n]:at[n + 1]`, ordered by relation and target node."""

    at: NDArray[np.int64]
    relation: NDArray[np.int32]
    node: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes and relations by number. Names are sorted, so numbers compare like names."""

    nodes: pa.Array
    relations: tuple[str, ...]
    forwards: Edges
    backwards: Edges
    types: tuple[str, ...] = ()
    type_of_node: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None
    """Pairs of (node, type), sorted; a node may have several types."""
    skipped: int = 0
    """Number of rows with a NULL. They are no facts."""

    @property
    def edge_count(self) -> int:
        """Number of distinct triples."""
        return len(self.forwards.node)

    def numbers(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The numbers of the named nodes; -1 for unknown names."""
        return np.array([self._number(name) for name in names], np.int64)

    def _number(self, name: str) -> int:
        index = bisect_left(range(len(self.nodes)), name, key=lambda node: self.nodes[node].as_py())
        return index if index < len(self.nodes) and self.nodes[index].as_py() == name else -1

    def symbol_of_relation(self, symbols: EdgeSymbols) -> NDArray[np.int32]:
        """For each relation, its index among those that queries name. All others get the next index."""
        index = {name: i for i, name in enumerate(symbols.names)}
        return np.array([index.get(name, len(index)) for name in self.relations], np.int32)

    def classes(self, symbols: EdgeSymbols) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """The class index of each node, and all classes. Bit t of a class is set if its nodes pass test t."""
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
        classes, index = np.unique(bits, return_inverse=True)
        return index.astype(np.int32), tuple(int(one) for one in classes) or (0,)

    @cached_property
    def _one_class(self) -> NDArray[np.int32]:
        return np.zeros(len(self.nodes), np.int32)

    def followers(self, relation: int | None, direction: int) -> NDArray[np.float64]:
        """[2 * relation + direction]: the number of edges of each kind that follow edges of this relation (None: any)
        and direction, in total. Computed once."""
        key = (relation, direction)
        if key not in self._followers:
            edges_in = self.backwards if direction else self.forwards
            targets = edges_in.node if relation is None else edges_in.node[edges_in.relation == relation]
            times = np.bincount(targets, minlength=len(self.nodes)).astype(np.float64)
            result = np.zeros(2 * len(self.relations))
            for next_direction, edges in enumerate((self.forwards, self.backwards)):
                weights = np.repeat(times, np.diff(edges.at))
                result[next_direction::2] = np.bincount(edges.relation, weights, minlength=len(self.relations))
            self._followers[key] = result
        return self._followers[key]

    @cached_property
    def _followers(self) -> dict[tuple[int | None, int], NDArray[np.float64]]:
        return {}

    def __repr__(self) -> str:
        return short_repr(self, ", ".join(f"{name}: {value:,}" for name, value in self._counts()))

    def _repr_html_(self) -> str:
        more = ["…"] if len(self.relations) > _RELATIONS_SHOWN else []
        names = ", ".join([*self.relations[:_RELATIONS_SHOWN], *more])
        return facts_block([*self._counts(), ("names of relations", names)], "Graph")

    def _counts(self) -> list[tuple[str, int]]:
        return [("nodes", len(self.nodes)), ("edges", self.edge_count), ("relations", len(self.relations))]

    def __getstate__(self) -> dict[str, Any]:
        """The fields without cached values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def make_graph(
    triples: pa.Table,
    columns: tuple[str, str, str] = COLUMNS,
    types: pa.Table | None = None,
) -> Graph:
    """The graph of a table of triples. Duplicate triples are one fact.

    `types` has a row (node, type) for each type of a node, in its first two columns.
    """
    is_listed = isinstance(columns, tuple | list) and all(isinstance(name, str) for name in columns)
    if not is_listed or len(columns) != 3:
        raise QueryError("INVALID_OPTION", f"columns are three names (head, relation, tail), not {shown(columns)}")
    name_columns = [_text(triples, name) for name in columns]
    is_complete = pc.and_(pc.and_(name_columns[0].is_valid(), name_columns[1].is_valid()), name_columns[2].is_valid())
    skipped = triples.num_rows - (pc.sum(is_complete).as_py() or 0)
    if skipped:
        name_columns = [names.filter(is_complete) for names in name_columns]
    nodes = pc.unique(pa.concat_arrays([name_columns[0], name_columns[2]]))
    nodes = nodes.take(pc.sort_indices(nodes))
    if len(nodes) > LARGEST_NODES:
        raise MatchError("GRAPH_TOO_LARGE", f"a graph has at most {LARGEST_NODES:,} nodes in one process")
    relations = pc.unique(name_columns[1])
    relations = relations.take(pc.sort_indices(relations))
    head, relation, tail = (
        np.asarray(pc.index_in(names, value_set=known), np.int64)
        for names, known in zip(name_columns, (nodes, relations, nodes), strict=True)
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
    column = table.column(name)
    try:
        return column.cast(pa.large_string()).combine_chunks()  # names may need more than 2 GB
    except pa.ArrowException:
        raise QueryError("UNSUPPORTED_TYPE", f"column '{name}' is of type {column.type}, which is no name") from None


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
    if types.num_columns < 2:
        raise QueryError("INVALID_OPTION", "node_types is a table of (node, type)")
    names, kinds = (_text(types, name) for name in types.column_names[:2])
    is_known = pc.and_(pc.is_in(names, value_set=nodes), kinds.is_valid())
    names, kinds = names.filter(is_known), kinds.filter(is_known)
    all_kinds = pc.unique(kinds)
    node = np.asarray(pc.index_in(names, value_set=nodes), np.int32)
    kind = np.asarray(pc.index_in(kinds, value_set=all_kinds), np.int32)
    return tuple(all_kinds.to_pylist()), (node, kind)


def mean_degrees(graph: Graph, symbol_of_relation: NDArray[np.int32], symbols: EdgeSymbols) -> NDArray[np.float64]:
    """[first symbol, second symbol]: mean number of second edges at a node, over the first edges that lead to it.
    All relations that no query names are one symbol."""
    named = np.flatnonzero(symbol_of_relation < len(symbols.names))
    edges = np.bincount(graph.forwards.relation, minlength=len(graph.relations))
    others = int(edges.sum() - edges[named].sum())
    kind = (2 * symbol_of_relation[:, None] + np.arange(2)).reshape(-1)
    result = np.zeros((symbols.count, symbols.count))
    for direction in range(2):
        rest = graph.followers(None, direction)
        for relation in named.tolist():
            after = graph.followers(relation, direction)
            rest = rest - after
            result[2 * symbol_of_relation[relation] + direction] = (
                np.bincount(kind, after, minlength=symbols.count) / edges[relation]
            )
        result[2 * len(symbols.names) + direction] = np.bincount(kind, rest, minlength=symbols.count) / max(1, others)
    return result
