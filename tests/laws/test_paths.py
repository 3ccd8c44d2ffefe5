"""Path queries find the oracle's paths on random graphs. Under a budget they find a subset, and report it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paths.comparators import AtRandom, BySelectivity
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.path_strategies import NODES, expressions, graph_of, node_types, query, triples

from ostinato.errors import MatchError
from ostinato.kernels.clock import VirtualClock
from ostinato.path_queries.graph import Graph
from ostinato.path_queries.language.path_parser import path_query, render_path
from ostinato.path_queries.language.path_query import PathExpression
from ostinato.path_queries.search.budget import Budget
from ostinato.path_queries.search.path_search import BYTES_OF_PATH, FoundPaths, PathWalk, WalkTerms
from ostinato.path_queries.search.path_selection import BySimilarity, Chooser
from ostinato.reference.path_oracle import Hop, Walk, all_paths

MAX_HOPS = 3
Facts = list[tuple[str, str, str]]
Types = dict[str, frozenset[str]]


def walks(paths: FoundPaths, graph: Graph, queries: int) -> list[set[Walk]]:
    """The paths of each query. Fails if a query has a path twice."""
    walks_of_query: list[set[Walk]] = [set() for _ in range(queries)]
    for number, query_index in enumerate(paths.query.tolist()):
        rows = paths.rows(number)[1:]
        walk = tuple(
            Hop(
                graph.relations[paths.store.edge[row] // 2],
                bool(paths.store.edge[row] % 2),
                graph.nodes[int(paths.store.node[row])].as_py(),
            )
            for row in rows
        )
        assert walk not in walks_of_query[query_index]
        walks_of_query[query_index].add(walk)
    return walks_of_query


@given(expressions)
def test_parse_render(path: PathExpression) -> None:
    assert path_query(render_path(path)).expression == path


@pytest.mark.kernel
@given(triples, node_types, st.lists(expressions, min_size=1, max_size=3), st.sampled_from(NODES), st.booleans())
def test_all_queries_together_equal_the_oracle_one_by_one(
    facts: Facts, types: Types, paths: list[PathExpression], start: str, simple: bool
) -> None:
    graph = graph_of(facts, types)
    walk = PathWalk(graph, [query(path) for path in paths])
    result = walk.find(graph.numbers([start]), WalkTerms(simple=simple, max_hops=MAX_HOPS))
    expected = [all_paths(facts, path, start, max_hops=MAX_HOPS, simple=simple, types=types) for path in paths]
    assert walks(result, graph, len(paths)) == expected
    longer = [all_paths(facts, path, start, max_hops=MAX_HOPS + 1, simple=simple, types=types) for path in paths]
    if result.report.complete:
        assert longer == expected


@pytest.mark.kernel
@given(
    triples,
    st.lists(expressions, min_size=1, max_size=3),
    st.sampled_from(NODES),
    st.frozensets(st.sampled_from(NODES)),
)
def test_only_paths_to_the_given_ends_are_found(
    facts: Facts, paths: list[PathExpression], start: str, ends: frozenset[str]
) -> None:
    graph = graph_of(facts, {})
    allowed = graph.numbers(sorted(ends))
    may_end = [number in allowed for number in range(len(graph.nodes))]
    walk = PathWalk(graph, [query(path) for path in paths])
    result = walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS, ends=np.array(may_end, np.bool_)))
    expected = [all_paths(facts, path, start, max_hops=MAX_HOPS, ends=ends) for path in paths]
    assert walks(result, graph, len(paths)) == expected


@pytest.mark.kernel
@given(triples, st.lists(expressions, min_size=1, max_size=3), st.sampled_from(NODES), st.integers(1, 30))
def test_more_partial_paths_than_the_limit_raise(
    facts: Facts, paths: list[PathExpression], start: str, max_partial_paths: int
) -> None:
    graph = graph_of(facts, {})
    walk = PathWalk(graph, [query(path) for path in paths])
    exact = walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS))
    terms = WalkTerms(max_hops=MAX_HOPS, max_partial_paths=max_partial_paths)
    if exact.report.partial_paths <= max_partial_paths:
        limited = walk.find(graph.numbers([start]), terms)
        assert walks(limited, graph, len(paths)) == walks(exact, graph, len(paths))
    else:
        with pytest.raises(MatchError, match=f"more than {max_partial_paths} partial paths"):
            walk.find(graph.numbers([start]), terms)


choosers = st.sampled_from([BySimilarity, AtRandom, BySelectivity])


@pytest.mark.kernel
@given(
    triples,
    st.lists(expressions, min_size=1, max_size=3),
    st.sampled_from(NODES),
    choosers,
    st.integers(0, 60),
    st.none() | st.integers(1, 40),
)
def test_a_budget_gives_a_subset_and_reports_losses(
    facts: Facts, paths: list[PathExpression], start: str, chooser: type[Chooser], work: int, max_paths: int | None
) -> None:
    graph = graph_of(facts, {})
    walk = PathWalk(graph, [query(path) for path in paths])
    exact = walks(walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS)), graph, len(paths))
    memory = None if max_paths is None else max_paths * (BYTES_OF_PATH + 8)
    budget = Budget(latency_ns=work * 10, memory_bytes=memory, clock=VirtualClock(ns_per_visit=10))
    result = walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS, budget=budget), chooser())
    reached = walks(result, graph, len(paths))
    assert all(reached_walks <= all_walks for reached_walks, all_walks in zip(reached, exact, strict=True))
    assert result.report.work <= work + 1
    assert max_paths is None or result.report.partial_paths <= max(max_paths, 1)
    if not (any(result.report.given_up) or result.report.cut_edges):
        assert reached == exact
