"""Similarity of a partial path to a query. It needs no statistics about matches.

The default compares the words of relation names. Words that occur in fewer facts have more weight. Any function of the
relations of a path and a query can replace it, for example sentence embeddings.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ostinato.path_queries.graph import Graph
from ostinato.path_queries.language.path_query import PathQuery, edges

Similarity = Callable[[Sequence[str], PathQuery], float]
"""(relations of a partial path, in order, with `^` before those walked backwards; the query) -> 0 to 1."""

_TOKEN = re.compile(r"[^\W_]+")


def tokens(relation: str) -> list[str]:
    """The words of a relation's name. Relations walked backwards have different words.

    >>> tokens("^film.written_by")
    ['^film', '^written', '^by']
    """
    sign = "^" if relation.startswith("^") else ""
    return [sign + word.lower() for word in _TOKEN.findall(relation)]


def named_relations(query: PathQuery) -> list[str]:
    """The relations of a query as written, with `^` before those walked backwards."""
    return [("^" if edge.inverse else "") + edge.relation for edge in edges(query.expression) if edge.relation]


class TokenOverlap:
    """The cosine between the tokens of a path and those of a query, weighted by rarity.

    A query without named relations has similarity 1 to every path.
    """

    def __init__(self, graph: Graph) -> None:
        facts: Counter[str] = Counter()
        counts = np.bincount(graph.forwards.relation, minlength=len(graph.relations))
        for name, count in zip(graph.relations, counts.tolist(), strict=True):
            for word in set(tokens(name)):
                facts[word] += count
        self._total = max(1, graph.edge_count)
        self._facts = facts

    def _weight(self, token: str) -> float:
        return math.log(1 + self._total / (1 + self._facts[token.removeprefix("^")]))

    def _vector(self, relations: Iterable[str]) -> dict[str, float]:
        counted = Counter(token for relation in relations for token in tokens(relation))
        return {token: count * self._weight(token) for token, count in counted.items()}

    def __call__(self, relations: Sequence[str], query: PathQuery) -> float:
        named = named_relations(query)
        if not named:
            return 1.0
        path, wanted = self._vector(relations), self._vector(named)
        size = math.hypot(*path.values()) * math.hypot(*wanted.values())
        shared = math.fsum(value * wanted.get(token, 0.0) for token, value in path.items())
        return round(min(1.0, shared / size), 12) if size else 0.0  # equal paths get equal values
