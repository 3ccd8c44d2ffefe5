"""Path queries -> one deterministic automaton over edges that walks all of them at once.

A position is an edge of an expression. A state is a set of positions, of all queries together, that the walked edges
have reached. So common prefixes of queries are walked once, and a path is found once for each query, even if its
expression matches in several ways. The automaton sees an edge as a *symbol* and the *class* of its target node. A
symbol is a relation that a query names, or any other relation, forwards or backwards. A class is the set of node type
tests that a node passes.
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
"""Largest number of (edge, following edge) pairs."""


@dataclass(frozen=True, slots=True)
class EdgeSymbols:
    """Symbol `2 * i + inverse` is relation `names[i]`; i = len(names) stands for all others."""

    names: tuple[str, ...]
    tests: tuple[frozenset[str], ...]
    """The sets of node types that edges require. Bit t of a class is set if its nodes pass test t."""

    @property
    def count(self) -> int:
        return 2 * (len(self.names) + 1)


@dataclass(frozen=True, slots=True)
class PathAutomaton:
    """State START is before any edge. `target[q, s, c]`: the state after symbol s to a node of class `classes[c]`."""

    symbols: EdgeSymbols
    classes: tuple[int, ...]
    target: NDArray[np.int32]
    accepts: tuple[int, ...]
    """For each state, the queries that end there, as a bit set."""
    reaches: tuple[int, ...]
    """For each state, the queries that end there or can still be reached: the sharing degree."""

    @property
    def states(self) -> int:
        return len(self.target)


# --- positions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SubPath:
    """A sub-expression: whether it may be empty, and the positions of its first and last edges."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


_NOTHING = _SubPath(True, frozenset(), frozenset())


class _EdgePositions:
    """Glushkov's construction: edges by position, and the positions that may follow each."""

    def __init__(self) -> None:
        self.edges: list[OneEdge] = []
        self.query: list[int] = []
        self.follows: list[set[int]] = []
        self.links = 0

    def sub_path(self, path: PathExpression, query: int) -> _SubPath:
        match path:
            case OneEdge():
                return self._edge(path, query)
            case EdgesInOrder(parts):
                result = _NOTHING
                for sub_path in parts:
                    result = self._joined(result, self.sub_path(sub_path, query))
                return result
            case EitherPath(options):
                sub_paths = [self.sub_path(option, query) for option in options]
                return _SubPath(
                    any(one.empty for one in sub_paths),
                    frozenset().union(*(one.first for one in sub_paths)),
                    frozenset().union(*(one.last for one in sub_paths)),
                )
            case RepeatedPath(body, at_least, at_most):
                return self._repeated(body, at_least, at_most, query)

    def _edge(self, edge: OneEdge, query: int) -> _SubPath:
        if len(self.edges) >= LARGEST_POSITIONS:
            raise QueryError("PATTERN_TOO_LARGE", f"the queries have more than {LARGEST_POSITIONS:,} edges")
        here = frozenset({len(self.edges)})
        self.edges.append(edge)
        self.query.append(query)
        self.follows.append(set())
        return _SubPath(False, here, here)

    def _joined(self, one: _SubPath, other: _SubPath) -> _SubPath:
        self._connect(one.last, other.first)
        return _SubPath(
            one.empty and other.empty,
            one.first | other.first if one.empty else one.first,
            one.last | other.last if other.empty else other.last,
        )

    def _repeated(self, body: PathExpression, at_least: int, at_most: int | None, query: int) -> _SubPath:
        result = _NOTHING
        for _ in range(at_least - (at_most is None)):
            result = self._joined(result, self.sub_path(body, query))
        if at_most is None:
            loop = self.sub_path(body, query)
            self._connect(loop.last, loop.first)
            return self._joined(result, _SubPath(loop.empty or at_least == 0, loop.first, loop.last))
        rest = _NOTHING
        for _ in range(at_most - at_least):  # (r (r r?)?)?: in r? r? r?, each copy could follow all earlier ones
            more = self._joined(self.sub_path(body, query), rest)
            rest = _SubPath(True, more.first, more.last)
        return self._joined(result, rest)

    def _connect(self, ends: frozenset[int], starts: frozenset[int]) -> None:
        self.links += len(ends) * len(starts)
        if self.links > LARGEST_LINKS:
            message = f"edges of the queries have more than {LARGEST_LINKS:,} ways to follow one another"
            raise QueryError("PATTERN_TOO_LARGE", message, hint="repeat optional paths fewer times")
        for end in ends:
            self.follows[end] |= starts


# --- states -----------------------------------------------------------------------------------------------------------


def symbols_of(queries: Sequence[PathQuery]) -> EdgeSymbols:
    """The relation names and node tests of the queries."""
    names = dict.fromkeys(name for query in queries for name in query.relations())
    written = (edge for query in queries for edge in edges(query.expression))
    tests = dict.fromkeys(edge.node_types for edge in written if edge.node_types)
    return EdgeSymbols(tuple(names), tuple(tests))


def build_path_automaton(queries: Sequence[PathQuery], symbols: EdgeSymbols, classes: Sequence[int]) -> PathAutomaton:
    """The automaton of all queries. `classes` are those of the nodes of the graph. Raises PATTERN_TOO_LARGE."""
    positions = _EdgePositions()
    sub_paths = [positions.sub_path(query.expression, number) for number, query in enumerate(queries)]
    ends = {position: 1 << number for number, sub_path in enumerate(sub_paths) for position in sub_path.last}
    moves = _Moves(positions.edges, symbols)
    start = frozenset().union(*(sub_path.first for sub_path in sub_paths))
    accepts = [sum(1 << number for number, sub_path in enumerate(sub_paths) if sub_path.empty)]
    states: dict[tuple[frozenset[int], int], int] = {(start, accepts[START]): START}
    """States by (following positions, queries that end there): the rest of a path depends on nothing else."""
    table: list[NDArray[np.int32]] = []
    waiting = [start]
    for following in waiting:  # grows while it is walked
        row = np.full((symbols.count, len(classes)), NOWHERE, np.int32)
        for symbol in range(symbols.count):
            taking = following & moves.of_symbol[symbol]
            for c, node_class in enumerate(classes if taking else ()):
                here = frozenset(position for position in taking if moves.passes(position, node_class))
                if not here:
                    continue
                after = frozenset().union(*(positions.follows[position] for position in here))
                bits = 0
                for position in here:
                    bits |= ends.get(position, 0)
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
    """The positions that take each symbol."""

    def __init__(self, edges: Sequence[OneEdge], symbols: EdgeSymbols) -> None:
        self.test = [symbols.tests.index(edge.node_types) if edge.node_types else -1 for edge in edges]
        number = {name: i for i, name in enumerate(symbols.names)}
        sets: list[set[int]] = [set() for _ in range(symbols.count)]
        for position, edge in enumerate(edges):
            named = range(len(symbols.names) + 1) if edge.relation is None else (number[edge.relation],)
            for i in named:
                sets[2 * i + edge.inverse].add(position)
        self.of_symbol = [frozenset(positions) for positions in sets]

    def passes(self, position: int, node_class: int) -> bool:
        return self.test[position] < 0 or bool(node_class >> self.test[position] & 1)


def _reached(target: NDArray[np.int32], accepts: Sequence[int]) -> tuple[int, ...]:
    targets = [[int(to) for to in np.unique(row) if to != NOWHERE] for row in target]
    reaches = list(accepts)
    changed = True
    while changed:
        changed = False
        for state in range(len(reaches) - 1, -1, -1):
            bits = reaches[state]
            for to in targets[state]:
                bits |= reaches[to]
            changed |= bits != reaches[state]
            reaches[state] = bits
    return tuple(reaches)
