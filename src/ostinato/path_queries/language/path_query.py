"""A path query: a regular expression over the edges of a graph, walked from a start node.

`^` walks an edge from its tail to its head. A node type behind an edge is the required type of its target node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ostinato.errors import QueryError, Span


@dataclass(frozen=True, slots=True)
class OneEdge:
    """One edge. `relation` None stands for any. `node_types`: the allowed types of the target node; empty: any."""

    relation: str | None
    inverse: bool = False
    node_types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EdgesInOrder:
    parts: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class EitherPath:
    options: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class RepeatedPath:
    """`at_most` None: any number of times."""

    body: PathExpression
    at_least: int
    at_most: int | None


PathExpression = OneEdge | EdgesInOrder | EitherPath | RepeatedPath


@dataclass(frozen=True, slots=True)
class PathQuery:
    """`weight`: value of its paths, relative to other queries. For example, the score of a proposal."""

    expression: PathExpression
    name: str
    text: str
    weight: float = 1.0
    spans: tuple[tuple[str, Span], ...] = ()
    """The spans of relations and node types in the text, for carets."""

    def __post_init__(self) -> None:
        if not isinstance(self.weight, int | float) or not 0 <= self.weight < math.inf:
            raise QueryError("INVALID_OPTION", f"the weight of a path query is a number from 0 on, not {self.weight!r}")

    def relations(self) -> tuple[str, ...]:
        """The named relations, in order of first occurrence."""
        return tuple(dict.fromkeys(edge.relation for edge in edges(self.expression) if edge.relation is not None))

    def node_types(self) -> frozenset[str]:
        return frozenset().union(*(edge.node_types for edge in edges(self.expression)))


def edges(expression: PathExpression) -> tuple[OneEdge, ...]:
    """All edges of an expression, as written."""
    match expression:
        case OneEdge():
            return (expression,)
        case EdgesInOrder(parts) | EitherPath(parts):
            return tuple(edge for part in parts for edge in edges(part))
        case RepeatedPath(body):
            return edges(body)
