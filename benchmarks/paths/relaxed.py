"""Proposals as a model makes them, more than are needed: each learnt path, and each with one relation left open.

A path that names the wrong relation somewhere is then still found, at the price of many partial paths: this is what
multi-path retrieval costs, and what a bound has to deal with.
"""

from __future__ import annotations

from dataclasses import replace

import ostinato as ost
from ostinato.path_queries.language.path_parser import render_path
from ostinato.path_queries.language.path_query import EdgesInOrder, OneEdge, PathExpression, PathQuery

WORTH = 0.01
"""The weight of a path with a relation left open, beside that of the path itself."""


class RelaxedProposer:
    def __init__(self, learnt: ost.LearntProposer) -> None:
        self.learnt = learnt
        self._known: dict[PathExpression, tuple[PathQuery, ...]] = {}

    def propose(self, question: str, topic: str) -> list[PathQuery]:
        found: dict[PathExpression, PathQuery] = {}
        for proposed in self.learnt.propose(question, topic):
            found.setdefault(proposed.expression, proposed)
            if proposed.expression not in self._known:
                self._known[proposed.expression] = tuple(_relaxed(proposed))
            for wider in self._known[proposed.expression]:
                found.setdefault(wider.expression, replace(wider, weight=proposed.weight * WORTH))
        return list(found.values())


def _relaxed(query: PathQuery) -> list[PathQuery]:
    path = query.expression
    edges = path.parts if isinstance(path, EdgesInOrder) else (path,)
    queries = []
    for place, edge in enumerate(edges):
        if isinstance(edge, OneEdge) and len(edges) > 1:
            wider = EdgesInOrder((*edges[:place], replace(edge, relation=None), *edges[place + 1 :]))
            queries.append(ost.path_query(render_path(wider)))
    return queries
