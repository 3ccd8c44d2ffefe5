"""`ost.paths` in process: what goes in, what comes out, bounds, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.reference.path_oracle import all_paths

FILMS = pa.table(
    {
        "head": ["Alila", "Kedma", "Kadosh", "Alila", "Kadosh", "Kadosh"],
        "relation": ["written_by", "written_by", "written_by", "has_genre", "has_genre", "has_genre"],
        "tail": ["Amos Gitai", "Amos Gitai", "Amos Gitai", "Drama", "Drama", "Drama"],
    }
)
HUB = pa.table({"head": ["hub"] * 1_000_000, "relation": ["to"] * 1_000_000, "tail": np.arange(1_000_000).astype(str)})


def lines(found: Any) -> list[str]:
    return list(found.facts().splitlines())


def test_paths_are_ranked_and_told_apart() -> None:
    found = ost.paths({"same writer": "written_by / ^written_by", "genre": "has_genre"}, start="Alila").run(FILMS)
    assert found.table.column_names == ["query", "start", "nodes", "relations", "end", "score"]
    assert found.table["query"].to_pylist() == ["genre", "same writer", "same writer", "same writer"]
    assert found.answers() == ["Drama", "Alila", "Kadosh", "Kedma"]
    assert found.walk.complete
    assert lines(found)[0] == "Alila -[has_genre]-> Drama"


def test_a_fact_that_stands_there_twice_is_one() -> None:
    assert ost.paths("has_genre", start="Kadosh").run(FILMS).table.num_rows == 1


def test_simple_limit_and_end() -> None:
    query = "written_by / ^written_by"
    assert ost.paths(query, start="Alila", simple=True).run(FILMS).answers() == ["Kadosh", "Kedma"]
    assert ost.paths(query, start=["Alila", "Kedma"], limit=1).run(FILMS).table["start"].to_pylist() == [
        "Alila",
        "Kedma",
    ]
    assert ost.paths(query, start="Alila", end="Kedma").run(FILMS).answers() == ["Kedma"]
    assert ost.paths(query, start="Alila", end=[]).run(FILMS).answers() == []


def test_a_path_without_an_edge() -> None:
    found = ost.paths("written_by?", start="Alila").run(FILMS)
    assert [row["nodes"] for row in found.table.to_pylist()] == [["Alila"], ["Alila", "Amos Gitai"]]
    assert lines(found) == ["Alila -[written_by]-> Amos Gitai"]


def test_cycles_end_at_max_hops_and_say_so() -> None:
    found = ost.paths("r*", start="a", max_hops=4).run(LOOP)
    assert found.table.num_rows == 5
    assert not found.walk.complete
    assert found.walk.too_long == 1
    assert ost.paths("r*", start="a", simple=True).run(LOOP).walk.complete
    itself = pa.table({"head": ["a"], "relation": ["r"], "tail": ["a"]})
    assert ost.paths("r / ^r", start="a").run(itself).table.num_rows == 1
    assert ost.paths("r", start="a", simple=True).run(itself).table.num_rows == 0


def test_what_the_graph_does_not_have() -> None:
    found = ost.paths(["produced_by / written_by", "written_by[Person]"], start=["Alila", "Nobody"]).run(FILMS)
    assert found.table.num_rows == 0
    assert found.unknown == ("Nobody", "produced_by", "Person")
    assert ost.paths("written_by", start="Alila", end="Nowhere").run(FILMS).unknown == ("Nowhere",)


def test_node_types() -> None:
    types = pa.table({"node": ["Amos Gitai", "Drama", "Amos Gitai"], "type": ["Person", "Genre", "Director"]})
    found = ost.paths(".[Person] / ^.", start="Alila", node_types=types, simple=True).run(FILMS)
    assert found.answers() == ["Kadosh", "Kedma"]
    assert ost.paths(".[Genre|Person]", start="Alila", node_types=types).run(FILMS).answers() == ["Amos Gitai", "Drama"]


def test_rows_with_null_are_no_facts() -> None:
    graph = ost.graph(pa.table({"head": ["a", None], "relation": ["r", "r"], "tail": ["b", "c"]}))
    assert graph.skipped == 1
    assert len(graph.nodes) == 2


def test_an_empty_graph() -> None:
    empty = pa.schema([("head", pa.string()), ("relation", pa.string()), ("tail", pa.string())]).empty_table()
    assert ost.paths("r*", start="a").run(empty).table.num_rows == 0


def test_a_hub_with_a_million_neighbours_is_bounded() -> None:
    clock, hub = ost.VirtualClock(ns_per_visit=10), ost.graph(HUB)
    found = ost.paths("to", start="hub", latency_bound="100 us", clock=clock).run(hub)
    assert 0 < found.table.num_rows <= 10_000
    assert found.walk.work <= 10_000
    assert found.walk.cut_edges + found.walk.work // 2 == 1_000_000
    small = ost.paths("to", start="hub", memory_bound="28 KB", limit=10).run(hub)
    assert small.walk.kept_bytes <= 28_000
    assert small.table.num_rows == 10
    assert not small.walk.complete


def test_the_better_query_survives_a_bound() -> None:
    heads = [*["s"] * 100, *[f"m{i}" for i in range(100)], *["s"] * 10]
    relations = [*["wide"] * 100, *["on"] * 100, *["narrow"] * 10]
    tails = [*[f"m{i}" for i in range(100)], *[f"e{i}" for i in range(100)], *[f"n{i}" for i in range(10)]]
    graph = ost.graph(pa.table({"head": heads, "relation": relations, "tail": tails}))
    queries = [
        ost.path_query("wide / on", name="worse", weight=0.1),
        ost.path_query("narrow", name="better", weight=1.0),
        ost.path_query("narrow / on", name="other", weight=1.0),
    ]
    clock = ost.VirtualClock(ns_per_visit=1)
    whole = ost.paths(queries, start="s", clock=clock).run(graph)
    found = ost.paths(queries, start="s", latency_bound="300 ns", clock=clock).run(graph)
    assert whole.table.num_rows == 110
    assert found.table["query"].to_pylist().count("better") == 10
    assert not found.walk.complete
    assert found.walk.given_up[0] > 0


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"latency_bound": "0 ms"}, "INVALID_BOUND"),
        ({"latency_bound": 0.5}, "INVALID_BOUND"),
        ({"memory_bound": "much"}, "INVALID_BOUND"),
        ({"max_hops": -1}, "INVALID_OPTION"),
        ({"limit": 0}, "INVALID_OPTION"),
        ({"max_partial_paths": 0}, "INVALID_OPTION"),
        ({"max_partial_paths": 1.5}, "INVALID_OPTION"),
        ({"shedding": "sharpp"}, "INVALID_OPTION"),
        ({"columns": ("subject", "relation", "tail")}, "UNKNOWN_COLUMN"),
        ({"queries": []}, "INVALID_OPTION"),
        ({"queries": [7]}, "NOT_A_QUERY"),
        ({"queries": None}, "NOT_A_QUERY"),
        ({"queries": "((written_by?){1000}){100}"}, "PATTERN_TOO_LARGE"),
        ({"start": None}, "INVALID_OPTION"),
        ({"start": ["Alila", 1.5]}, "INVALID_OPTION"),
        ({"end": True}, "INVALID_OPTION"),
        ({"max_hops": True}, "INVALID_OPTION"),
        ({"similarity": 3}, "INVALID_OPTION"),
        ({"columns": ("head", "tail")}, "INVALID_OPTION"),
        ({"node_types": pa.table({"node": ["Alila"]})}, "INVALID_OPTION"),
        ({"node_types": pa.table({"node": [["Alila"]], "type": ["Film"]})}, "UNSUPPORTED_TYPE"),
        ({"queries": "written_by /"}, "SYNTAX_ERROR"),
    ],
)
def test_bad_input(changes: dict[str, Any], code: str) -> None:
    arguments = {"queries": "written_by", "start": "Alila", **changes}
    with pytest.raises(ost.QueryError) as caught:
        ost.paths(**arguments).run(FILMS)
    assert caught.value.code == code


def test_a_similarity_of_ones_own() -> None:
    found = ost.paths(["written_by", "has_genre"], start="Alila", similarity=lambda path, query: len(path[0])).run(
        FILMS
    )
    assert found.table["score"].to_pylist() == [10.0, 9.0]


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "much"])
def test_a_weight_is_a_number_from_0_on(weight: Any) -> None:
    with pytest.raises(ost.QueryError, match="weight of a path query"):
        ost.path_query("a", weight=weight)


def test_a_graph_has_its_types_already() -> None:
    with pytest.raises(ost.QueryError, match="already"):
        ost.paths("has_genre", start="Alila", node_types=pa.table({"node": ["a"], "type": ["b"]})).run(ost.graph(FILMS))


def test_nodes_may_be_numbers_and_arrays() -> None:
    numbers = pa.table({"head": [1, 2], "relation": ["r", "r"], "tail": [2, 3]})
    assert ost.paths("r", start=1).run(numbers).answers() == ["2"]
    for starts in (pa.array([1, 2]), np.array([1, 2]), ["1", 2, 2], {1, 2}):
        assert ost.paths("r", start=starts).run(numbers).answers() == ["2", "3"]


def test_more_starts_than_memory() -> None:
    found = ost.paths("written_by?", start=["Alila", "Kedma", "Kadosh"], memory_bound=56).run(FILMS)
    assert found.answers() == ["Alila", "Kedma"]
    assert found.walk.given_up == (2,)  # one that there was no room for, one that wasn't walked on
    assert found.walk.cut_edges == 1
    assert found.walk.kept_bytes == 56


CHAIN = pa.table({"head": ["a", "b", "c", "d"], "relation": ["r"] * 4, "tail": ["b", "c", "d", "e"]})
TARIFF = ost.VirtualClock(ns_per_visit=10)


def test_what_is_found_stays_found_when_it_is_not_walked_on() -> None:
    near, far = [f"m{i}" for i in range(10)], [f"e{i}" for i in range(100)]
    heads, tails = ["s"] * 10 + [near[i // 10] for i in range(100)], near + far
    tree = ost.graph(pa.table({"head": heads, "relation": ["r"] * 110, "tail": tails}))
    found = ost.paths("r+", start="s", latency_bound="600 ns", clock=TARIFF).run(tree)
    assert found.walk.given_up[0] > 0
    assert found.table.num_rows == found.walk.partial_paths - 1  # all but the start


def test_a_hub_on_the_way_is_walked_in_part_so_that_something_is_found() -> None:
    middle = [f"m{i}" for i in range(1000)]
    heads, tails = ["s"] * 1000 + middle, middle + ["end"] * 1000
    wide = ost.graph(pa.table({"head": heads, "relation": ["to"] * 1000 + ["on"] * 1000, "tail": tails}))
    for bound in ({"latency_bound": "1 us", "clock": TARIFF}, {"memory_bound": 28 * 50}):
        found = ost.paths("to / on", start="s", **bound).run(wide)
        assert 15 <= found.table.num_rows <= 26


def test_edges_of_queries_that_were_given_up_are_not_looked_at() -> None:
    heads, relations = ["s"] * 101, ["other"] * 100 + ["wanted"]
    graph = ost.graph(pa.table({"head": heads, "relation": relations, "tail": [f"n{i}" for i in range(101)]}))
    queries = [ost.path_query("wanted", weight=1.0), ost.path_query(". / .", weight=0.1)]
    found = ost.paths(queries, start="s", latency_bound="100 ns", clock=TARIFF).run(graph)
    assert found.answers() == ["n100"]
    assert found.walk.work == 2


def test_a_graph_of_many_relations_and_a_far_horizon() -> None:
    count = 20_000
    rows = {"head": [f"h{i}" for i in range(count)], "relation": [f"r{i % 5000}" for i in range(count)]}
    graph = ost.graph(pa.table({**rows, "tail": ["x"] * count}))
    found = ost.paths("r1 / ^r2", start="h1", max_hops=10**9, latency_bound="1 ms", clock=TARIFF).run(graph)
    assert found.answers() == ["h10002", "h15002", "h2", "h5002"]


def test_more_queries_than_a_word_has_bits() -> None:
    texts = [f"{'r / ' * (i % 3)}{'r' if i % 2 else '(r | ^r)'}{{1,{1 + i // 12}}}" for i in range(130)]
    triples = [(row["head"], row["relation"], row["tail"]) for row in CHAIN.to_pylist()]
    queries = {str(number): text for number, text in enumerate(texts)}
    exact = ost.paths(queries, start="b", max_hops=4).run(CHAIN)
    bounded = ost.paths(queries, start="b", max_hops=4, latency_bound="300 ns", clock=TARIFF).run(CHAIN)
    found: dict[str, set[Any]] = {name: set() for name in queries}
    for row in exact.table.to_pylist():
        found[row["query"]].add((tuple(row["relations"]), tuple(row["nodes"][1:])))
    for name, text in queries.items():
        walks = all_paths(triples, ost.path_query(text).expression, "b", max_hops=4)
        expected = {
            (tuple("^" * hop.inverse + hop.relation for hop in walk), tuple(hop.node for hop in walk)) for walk in walks
        }
        assert found[name] == expected
    assert 0 < bounded.table.num_rows < exact.table.num_rows
    kept = {str(row) for row in exact.table.to_pylist()}
    assert all(str(row) in kept for row in bounded.table.to_pylist())


# --- walks that would never end ---------------------------------------------------------------------------------------


def clique(size: int) -> ost.Graph:
    nodes = [f"n{i}" for i in range(size)]
    head, tail = zip(*((one, other) for one in nodes for other in nodes if one != other), strict=True)
    return ost.graph(pa.table({"head": head, "relation": ["r"] * len(head), "tail": tail}))


STAR = pa.table({"head": ["hub"] * 300, "relation": ["a"] * 300, "tail": [f"n{i}" for i in range(300)]})
LOOP = pa.table({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", "a"]})


@pytest.mark.parametrize(("graph", "query", "start"), [(clique(40), ".{1,5}", "n0"), (STAR, "(a | ^a)*", "hub")])
def test_a_walk_without_a_bound_has_a_limit(graph: Any, query: str, start: str) -> None:
    with pytest.raises(ost.MatchError, match="more than 2,000,000 partial paths") as caught:
        ost.paths(query, start=start).run(graph)
    assert caught.value.code == "TOO_MANY_PARTIAL_PATHS"
    assert caught.value.hint is not None
    for option in ("latency_bound", "memory_bound", "max_hops", "simple", "max_partial_paths"):
        assert option in caught.value.hint


def test_the_limit_is_exact_and_can_be_set() -> None:
    graph = clique(4)
    needed = ost.paths("r{1,3}", start="n0").run(graph).walk.partial_paths
    assert needed == 1 + 3 + 9 + 27
    assert ost.paths("r{1,3}", start="n0", max_partial_paths=needed).run(graph).walk.complete
    for limit in (1, 3, needed - 1):
        with pytest.raises(ost.MatchError, match="partial paths"):
            ost.paths("r{1,3}", start="n0", max_partial_paths=limit).run(graph)
    with pytest.raises(ost.MatchError, match="more than 1 partial paths"):
        ost.paths("r?", start=["n0", "n1"], max_partial_paths=1).run(graph)


def test_under_a_bound_what_goes_beyond_the_limit_is_given_up() -> None:
    bounds: list[dict[str, Any]] = [{"latency_bound": "1 s", "clock": TARIFF}, {"memory_bound": "1 MB"}]
    for bound in bounds:
        found = ost.paths("r{1,3}", start="n0", max_partial_paths=20, **bound).run(clique(4))
        assert found.walk.partial_paths <= 20
        assert not found.walk.complete
        assert ost.paths("r{1,3}", start="n0", **bound).run(clique(4)).walk.complete


def test_long_paths_end_and_many_of_them_are_refused() -> None:
    found = ost.paths("r*", start="a", max_hops=1_010).run(LOOP)  # more than Python's own stack allows
    assert found.table.num_rows == 1_011
    assert found.table["nodes"][1_010].as_py() == ["a", "b"] * 505 + ["a"]
    with pytest.raises(ost.MatchError, match="nodes together") as caught:
        ost.paths("r*", start="a", max_hops=10**9).run(LOOP)
    assert caught.value.code == "RESULT_TOO_LARGE"
