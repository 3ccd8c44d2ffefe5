"""Random graphs and path queries, small enough for the oracle."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ostinato.path_queries.graph import Graph, make_graph
from ostinato.path_queries.language.path_query import (
    EdgesInOrder,
    EitherPath,
    OneEdge,
    PathExpression,
    PathQuery,
    RepeatedPath,
)

NODES = "mnopq"
RELATIONS = "abc"
TYPES = "PQ"

triples = st.lists(
    st.tuples(st.sampled_from(NODES), st.sampled_from(RELATIONS), st.sampled_from(NODES)), min_size=1, max_size=8
)
node_types = st.dictionaries(st.sampled_from(NODES), st.frozensets(st.sampled_from(TYPES)))
edges = st.builds(
    OneEdge,
    st.sampled_from([None, "a", "b", "unknown"]),
    st.booleans(),
    st.sampled_from([frozenset(), frozenset(), frozenset("P"), frozenset("PQ")]),
)


def _larger(inside: st.SearchStrategy[PathExpression]) -> st.SearchStrategy[PathExpression]:
    several = st.lists(inside, min_size=2, max_size=3).map(tuple)
    times = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 2), (2, None)])
    repeated: st.SearchStrategy[Any] = st.builds(lambda body, limits: RepeatedPath(body, *limits), inside, times)
    return st.one_of(st.builds(EdgesInOrder, several), st.builds(EitherPath, several), repeated)


expressions: st.SearchStrategy[PathExpression] = st.recursive(edges, _larger, max_leaves=5)


def query(expression: PathExpression, name: str = "q", weight: float = 1.0) -> PathQuery:
    return PathQuery(expression, name, "", weight)


def graph_of(facts: list[tuple[str, str, str]], types: dict[str, frozenset[str]]) -> Graph:
    head, relation, tail = zip(*facts, strict=True)
    table = pa.table({"head": head, "relation": relation, "tail": tail})
    pairs = [(node, kind) for node, kinds in types.items() for kind in sorted(kinds)]
    names = pa.array([node for node, _ in pairs], pa.string()), pa.array([kind for _, kind in pairs], pa.string())
    return make_graph(table, types=pa.table(names, ["node", "type"]))
