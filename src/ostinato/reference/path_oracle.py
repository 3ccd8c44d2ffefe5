"""Graph and path expression -> matching paths: every walk up to a length is tested against the definition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from ostinato.path_queries.language.path_query import EdgesInOrder, EitherPath, OneEdge, PathExpression, RepeatedPath


class Hop(NamedTuple):
    """An edge as it was walked."""

    relation: str
    inverse: bool
    node: str
    """The node that the edge leads to."""


Walk = tuple[Hop, ...]


def all_paths(
    triples: Iterable[tuple[str, str, str]],
    path: PathExpression,
    start: str,
    *,
    max_hops: int,
    simple: bool = False,
    ends: Collection[str] | None = None,
    types: Mapping[str, Collection[str]] | None = None,
) -> set[Walk]:
    """The walks of at most `max_hops` edges from `start` whose edges, in order, match the expression.

    `simple`: no node twice. `types`: the types of each node. A start that is no node of the graph has no walks.
    """
    facts = set(triples)
    if not any(start in (head, tail) for head, _, tail in facts):
        return set()
    matching_walks: set[Walk] = set()
    walks: list[Walk] = [()]
    for hops in range(max_hops + 1):
        for walk in walks:
            node = walk[-1].node if walk else start
            if is_word(path, walk, types or {}) and (ends is None or node in ends):
                matching_walks.add(walk)
        if hops < max_hops:
            walks = [longer for walk in walks for longer in _longer(facts, walk, start, simple)]
    return matching_walks


def _longer(facts: set[tuple[str, str, str]], walk: Walk, start: str, simple: bool) -> list[Walk]:
    node = walk[-1].node if walk else start
    visited = {start, *(hop.node for hop in walk)}
    hops = [Hop(relation, False, tail) for head, relation, tail in facts if head == node]
    hops += [Hop(relation, True, head) for head, relation, tail in facts if tail == node]
    return [(*walk, hop) for hop in hops if not (simple and hop.node in visited)]


def is_word(path: PathExpression, walk: Walk, types: Mapping[str, Collection[str]]) -> bool:
    """Whether the edges of the walk match the expression."""

    @cache
    def spans(expression: PathExpression, low: int, high: int) -> bool:
        match expression:
            case OneEdge(relation, inverse, node_types):
                if high != low + 1:
                    return False
                hop = walk[low]
                fits = relation in (None, hop.relation) and inverse == hop.inverse
                return fits and (not node_types or not node_types.isdisjoint(types.get(hop.node, ())))
            case EdgesInOrder(()):
                return low == high
            case EdgesInOrder((first, *rest)):
                after = EdgesInOrder(tuple(rest))
                return any(spans(first, low, at) and spans(after, at, high) for at in range(low, high + 1))
            case EitherPath(options):
                return any(spans(option, low, high) for option in options)
            case RepeatedPath(body, at_least, at_most):
                return repeats(body, at_least, at_most, low, high)
        raise AssertionError(expression)

    @cache
    def repeats(body: PathExpression, at_least: int, at_most: int | None, low: int, high: int) -> bool:
        if low == high and (at_least == 0 or spans(body, low, low)):
            return True
        if at_most == 0:
            return False
        fewer = None if at_most is None else at_most - 1
        return any(
            spans(body, low, at) and repeats(body, max(0, at_least - 1), fewer, at, high)
            for at in range(low + 1, high + 1)  # a round without an edge changes only the number of rounds
        ) or (at_least > 0 and spans(body, low, low) and repeats(body, at_least - 1, fewer, low, high))

    return spans(path, 0, len(walk))
