"""The statistics of a graph, compared with their definitions."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pyarrow as pa
import pytest

from ostinato.path_queries.automaton.path_automaton import EdgeSymbols
from ostinato.path_queries.graph import Graph, make_graph, mean_degrees

CHANCE = random.Random(4)
FACTS = sorted({(CHANCE.choice("mnopq"), CHANCE.choice("abcd"), CHANCE.choice("mnopq")) for _ in range(40)})


def graph() -> Graph:
    head, relation, tail = zip(*FACTS, strict=True)
    return make_graph(pa.table({"head": head, "relation": relation, "tail": tail}))


def test_mean_degrees_are_those_of_the_nodes_that_edges_lead_to() -> None:
    names = ("b", "unknown", "d")
    known = graph()
    symbols = EdgeSymbols(names, ())
    found = mean_degrees(known, known.symbol_of_relation(symbols), symbols)

    def symbol(relation: str, direction: int) -> int:
        return 2 * (names.index(relation) if relation in names else len(names)) + direction

    walked = [(symbol(relation, 0), head, tail) for head, relation, tail in FACTS]
    walked += [(symbol(relation, 1), tail, head) for head, relation, tail in FACTS]
    for one in range(symbols.count):
        led_to = [end for kind, _, end in walked if kind == one]
        for other in range(symbols.count):
            edges = sum(kind == other and begin == node for node in led_to for kind, begin, _ in walked)
            assert found[one, other] == pytest.approx(edges / max(1, len(led_to)))


def test_what_was_worked_out_does_not_travel() -> None:
    known = graph()
    before = len(pickle.dumps(known))
    known.followers(None, 0)
    assert len(pickle.dumps(known)) == before
    again = pickle.loads(pickle.dumps(known))
    assert again.relations == known.relations
    assert np.array_equal(again.followers(2, 1), known.followers(2, 1))


def test_nodes_by_name() -> None:
    assert graph().numbers(["m", "q", "a", "z", "mm"]).tolist() == [0, 4, -1, -1, -1]
