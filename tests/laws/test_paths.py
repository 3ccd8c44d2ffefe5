"""Path queries equal their definition on random graphs; under a budget they give a part of that, and say so."""

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


def walks(found: FoundPaths, graph: Graph, queries: int) -> list[set[Walk]]:
    """The paths of each query; none is found twice."""
    result: list[set[Walk]] = [set() for _ in range(queries)]
    for number, of in enumerate(found.query.tolist()):
        rows = found.rows(number)[1:]
        walk = tuple(
            Hop(
                graph.relations[found.store.edge[row] // 2],
                bool(found.store.edge[row] % 2),
                graph.nodes[int(found.store.node[row])].as_py(),
            )
            for row in rows
        )
        assert walk not in result[of]
        result[of].add(walk)
    return result


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
    found = walk.find(graph.numbers([start]), WalkTerms(simple=simple, max_hops=MAX_HOPS))
    expected = [all_paths(facts, path, start, max_hops=MAX_HOPS, simple=simple, types=types) for path in paths]
    assert walks(found, graph, len(paths)) == expected
    longer = [all_paths(facts, path, start, max_hops=MAX_HOPS + 1, simple=simple, types=types) for path in paths]
    if found.report.complete:
        assert longer == expected


@pytest.mark.kernel
@given(
    triples,
    st.lists(expressions, min_size=1, max_size=3),
    st.sampled_from(NODES),
    st.frozensets(st.sampled_from(NODES)),
)
def test_ends(facts: Facts, paths: list[PathExpression], start: str, ends: frozenset[str]) -> None:
    graph = graph_of(facts, {})
    allowed = graph.numbers(sorted(ends))
    may_end = [number in allowed for number in range(len(graph.nodes))]
    walk = PathWalk(graph, [query(path) for path in paths])
    found = walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS, ends=np.array(may_end, np.bool_)))
    expected = [all_paths(facts, path, start, max_hops=MAX_HOPS, ends=ends) for path in paths]
    assert walks(found, graph, len(paths)) == expected


@pytest.mark.kernel
@given(triples, st.lists(expressions, min_size=1, max_size=3), st.sampled_from(NODES), st.integers(1, 30))
def test_within_the_limit_everything_is_found_and_beyond_it_nothing(
    facts: Facts, paths: list[PathExpression], start: str, most: int
) -> None:
    graph = graph_of(facts, {})
    walk = PathWalk(graph, [query(path) for path in paths])
    exact = walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS))
    terms = WalkTerms(max_hops=MAX_HOPS, max_partial_paths=most)
    if exact.report.partial_paths <= most:
        found = walk.find(graph.numbers([start]), terms)
        assert walks(found, graph, len(paths)) == walks(exact, graph, len(paths))
    else:
        with pytest.raises(MatchError, match=f"more than {most} partial paths"):
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
def test_under_a_budget_a_part_and_it_says_so(
    facts: Facts, paths: list[PathExpression], start: str, chooser: type[Chooser], work: int, room: int | None
) -> None:
    graph = graph_of(facts, {})
    walk = PathWalk(graph, [query(path) for path in paths])
    exact = walks(walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS)), graph, len(paths))
    memory = None if room is None else room * (BYTES_OF_PATH + 8)
    budget = Budget(latency_ns=work * 10, memory_bytes=memory, clock=VirtualClock(ns_per_visit=10))
    found = walk.find(graph.numbers([start]), WalkTerms(max_hops=MAX_HOPS, budget=budget), chooser())
    kept = walks(found, graph, len(paths))
    assert all(part <= whole for part, whole in zip(kept, exact, strict=True))
    assert found.report.work <= work + 1
    assert room is None or found.report.partial_paths <= max(room, 1)
    if not (any(found.report.given_up) or found.report.cut_edges):
        assert kept == exact
