"""Path queries -> one deterministic automaton over edges that walks all of them at once.

Each place of an expression that takes an edge is a position; a state is the set of positions that the edges walked so
far have led to, of all queries together. So common beginnings of queries are walked once, and a path is found once for
a query, however many ways lead through its expression. What an edge is to the queries is a *symbol*: a relation that
one of them names, or any other, each forwards or backwards; and the *class* of the node it leads to: which of the tests
of node types it passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import QueryError
from ostinato.path_queries.language.path_query import (
    EdgesInOrder,
    EitherPath,
    OneEdge,
    PathExpression,
    PathQuery,
    RepeatedPath,
    edges,
)

START = 0
NOWHERE = -1
LARGEST_STATES = 100_000
LARGEST_POSITIONS = 100_000
LARGEST_LINKS = 2_000_000
"""Of an edge to one that may follow it."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """`2 * i + inverse` stands for relation `names[i]`, and with i = len(names) for all others."""

    names: tuple[str, ...]
    tests: tuple[frozenset[str], ...]
    """The sets of node types that edges ask for; bit t of a node's class says whether it passes test t."""

    @property
    def count(self) -> int:
        return 2 * (len(self.names) + 1)


@dataclass(frozen=True, slots=True)
class PathAutomaton:
    """START is before any edge. `target[q, s, c]` is the state behind symbol s to a node of class `classes[c]`."""

    symbols: Symbols
    classes: tuple[int, ...]
    target: NDArray[np.int32]
    accepts: tuple[int, ...]
    """For each state the queries that end there, as a bit set."""
    reaches: tuple[int, ...]
    """For each state the queries that can still be reached, or end there: the sharing degree."""

    @property
    def states(self) -> int:
        return len(self.target)


# --- positions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: whether it may be empty, and the positions of its first and last edges."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


_NOTHING = _Part(True, frozenset(), frozenset())


class _Positions:
    """Glushkov's construction: edges by position, and which position may follow which."""

    def __init__(self) -> None:
        self.edges: list[OneEdge] = []
        self.query: list[int] = []
        self.follows: list[set[int]] = []
        self.links = 0

    def part(self, path: PathExpression, query: int) -> _Part:
        match path:
            case OneEdge():
                return self._edge(path, query)
            case EdgesInOrder(parts):
                whole = _NOTHING
                for part in parts:
                    whole = self._joined(whole, self.part(part, query))
                return whole
            case EitherPath(options):
                found = [self.part(option, query) for option in options]
                return _Part(
                    any(one.empty for one in found),
                    frozenset().union(*(one.first for one in found)),
                    frozenset().union(*(one.last for one in found)),
                )
            case RepeatedPath(body, at_least, at_most):
                return self._repeated(body, at_least, at_most, query)

    def _edge(self, edge: OneEdge, query: int) -> _Part:
        if len(self.edges) >= LARGEST_POSITIONS:
            raise QueryError("PATTERN_TOO_LARGE", f"the queries have more than {LARGEST_POSITIONS:,} edges")
        here = frozenset({len(self.edges)})
        self.edges.append(edge)
        self.query.append(query)
        self.follows.append(set())
        return _Part(False, here, here)

    def _joined(self, one: _Part, other: _Part) -> _Part:
        self._connect(one.last, other.first)
        return _Part(
            one.empty and other.empty,
            one.first | other.first if one.empty else one.first,
            one.last | other.last if other.empty else other.last,
        )

    def _repeated(self, body: PathExpression, at_least: int, at_most: int | None, query: int) -> _Part:
        whole = _NOTHING
        for _ in range(at_least - (at_most is None)):
            whole = self._joined(whole, self.part(body, query))
        if at_most is None:
            loop = self.part(body, query)
            self._connect(loop.last, loop.first)
            return self._joined(whole, _Part(loop.empty or at_least == 0, loop.first, loop.last))
        rest = _NOTHING
        for _ in range(at_most - at_least):  # (r (r r?)?)?: one after the other, each copy would follow all before it
            more = self._joined(self.part(body, query), rest)
            rest = _Part(True, more.first, more.last)
        return self._joined(whole, rest)

    def _connect(self, ends: frozenset[int], starts: frozenset[int]) -> None:
        self.links += len(ends) * len(starts)
        if self.links > LARGEST_LINKS:
            message = f"edges of the queries have more than {LARGEST_LINKS:,} ways to follow one another"
            raise QueryError("PATTERN_TOO_LARGE", message, hint="fewer repetitions of what may be left out")
        for end in ends:
            self.follows[end] |= starts


# --- states -----------------------------------------------------------------------------------------------------------


def symbols_of(queries: Sequence[PathQuery]) -> Symbols:
    """What the queries tell edges apart by."""
    names = dict.fromkeys(name for query in queries for name in query.relations())
    written = (edge for query in queries for edge in edges(query.expression))
    tests = dict.fromkeys(edge.node_types for edge in written if edge.node_types)
    return Symbols(tuple(names), tuple(tests))


def build_path_automaton(queries: Sequence[PathQuery], symbols: Symbols, classes: Sequence[int]) -> PathAutomaton:
    """The automaton of all queries. `classes` are those of the nodes of the graph. Raises PATTERN_TOO_LARGE."""
    positions = _Positions()
    parts = [positions.part(query.expression, number) for number, query in enumerate(queries)]
    ends = {place: 1 << number for number, part in enumerate(parts) for place in part.last}
    moves = _Moves(positions.edges, symbols)
    start = frozenset().union(*(part.first for part in parts))
    accepts = [sum(1 << number for number, part in enumerate(parts) if part.empty)]
    states: dict[tuple[frozenset[int], int], int] = {(start, accepts[START]): START}
    """By what may follow and what ends there: the rest of a path depends on nothing else."""
    table: list[NDArray[np.int32]] = []
    waiting = [start]
    for following in waiting:  # grows while it is walked
        row = np.full((symbols.count, len(classes)), NOWHERE, np.int32)
        for symbol in range(symbols.count):
            able = following & moves.of_symbol[symbol]
            for c, node_class in enumerate(classes if able else ()):
                here = frozenset(place for place in able if moves.passes(place, node_class))
                if not here:
                    continue
                after = frozenset().union(*(positions.follows[place] for place in here))
                bits = 0
                for place in here:
                    bits |= ends.get(place, 0)
                key = (after, bits)
                if key not in states:
                    states[key] = len(accepts)
                    accepts.append(bits)
                    waiting.append(after)
                    if len(accepts) > LARGEST_STATES:
                        message = f"the queries need more than {LARGEST_STATES:,} states together"
                        raise QueryError("PATTERN_TOO_LARGE", message, hint="ask them in several calls")
                row[symbol, c] = states[key]
        table.append(row)
    target = np.stack(table)
    return PathAutomaton(symbols, tuple(classes), target, tuple(accepts), _reached(target, accepts))


class _Moves:
    """Which positions take which symbol."""

    def __init__(self, edges: Sequence[OneEdge], symbols: Symbols) -> None:
        self.test = [symbols.tests.index(edge.node_types) if edge.node_types else -1 for edge in edges]
        number = {name: i for i, name in enumerate(symbols.names)}
        sets: list[set[int]] = [set() for _ in range(symbols.count)]
        for place, edge in enumerate(edges):
            named = range(len(symbols.names) + 1) if edge.relation is None else (number[edge.relation],)
            for i in named:
                sets[2 * i + edge.inverse].add(place)
        self.of_symbol = [frozenset(found) for found in sets]

    def passes(self, place: int, node_class: int) -> bool:
        return self.test[place] < 0 or bool(node_class >> self.test[place] & 1)


def _reached(target: NDArray[np.int32], accepts: Sequence[int]) -> tuple[int, ...]:
    ways = [[int(to) for to in np.unique(row) if to != NOWHERE] for row in target]
    reaches = list(accepts)
    changed = True
    while changed:
        changed = False
        for state in range(len(reaches) - 1, -1, -1):
            bits = reaches[state]
            for to in ways[state]:
                bits |= reaches[to]
            changed |= bits != reaches[state]
            reaches[state] = bits
    return tuple(reaches)
