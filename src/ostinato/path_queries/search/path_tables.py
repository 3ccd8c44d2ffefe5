"""The automaton of the queries and a graph -> the tables that the kernel reads."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.path_queries.automaton.path_automaton import NOWHERE, PathAutomaton
from ostinato.path_queries.graph import Graph
from ostinato.path_queries.search.walking import Tables


def make_tables(automaton: PathAutomaton, graph: Graph, class_of_node: NDArray[np.int32], words: int) -> Tables:
    leads = (automaton.target != NOWHERE).any(axis=2)
    at, symbols, lead_to = [0], [], []
    for state in range(automaton.states):
        for direction in range(2):
            for symbol in (np.flatnonzero(leads[state, direction::2]) * 2 + direction).tolist():
                symbols.append(symbol)
                targets = {int(to) for to in automaton.target[state, symbol] if to != NOWHERE}
                lead_to.append(functools.reduce(operator.or_, (automaton.reaches[to] for to in targets)))
            at.append(len(symbols))
    number = {name: i for i, name in enumerate(graph.relations)}
    names = automaton.symbols.names
    return Tables(
        target=np.ascontiguousarray(automaton.target),
        symbol_at=np.array(at, np.int64),
        symbols=np.array(symbols, np.int32),
        symbol_reaches=in_words(lead_to, words),
        relation_of_symbol=np.array([*(number.get(name, -1) for name in names), -1], np.int32),
        symbol_of_relation=graph.symbol_of_relation(automaton.symbols),
        class_of_node=class_of_node,
        reaches=in_words(automaton.reaches, words),
        other=2 * len(names),
    )


def after_an_edge(automaton: PathAutomaton) -> list[int]:
    """For each state, the queries of its following states, as a bit set."""
    behind = ({int(to) for to in np.unique(row) if to != NOWHERE} for row in automaton.target)
    return [functools.reduce(operator.or_, (automaton.reaches[to] for to in states), 0) for states in behind]


def in_words(sets: Sequence[int], words: int) -> NDArray[np.uint64]:
    """Bit sets of any width as rows of 64-bit words."""
    full = (1 << 64) - 1
    return np.array([[bits >> 64 * word & full for word in range(words)] for bits in sets], np.uint64).reshape(
        -1, words
    )
