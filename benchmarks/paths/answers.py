"""Before anything is timed: the graph gives the answers that the questions have, and sharing and bounds no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ostinato as ost
from benchmarks.experiment import Scale, expect
from benchmarks.paths.comparators import CHOOSERS
from benchmarks.paths.questions import Question, load
from benchmarks.paths.relaxed import RelaxedProposer
from benchmarks.paths.replies import CLOCK
from benchmarks.records import Record
from ostinato.path_queries.path_options import path_options, read_path_queries
from ostinato.path_queries.search.path_search import PathWalk
from ostinato.path_queries.task.walked_paths import walk_paths

FIGURE = "answers"
QUESTIONS = 60
"""Of each number of hops."""


def check_answers(scale: Scale) -> list[Record]:
    name, graph, sets = load(scale)
    records = []
    for asked in sets:
        proposer = RelaxedProposer(asked.learnt(3))
        for question in asked.test[:QUESTIONS]:
            expect(f"answers to {question.text!r}", _ends(graph, question), question.answers)
            queries = proposer.propose(question.text, question.topic)
            whole = _paths(graph, question.topic, queries)
            apart = set().union(*(_paths(graph, question.topic, [query]) for query in queries))
            expect(f"paths of all queries together for {question.text!r}", whole == apart, True)
            for chooser in CHOOSERS.values():
                bounded = replace(
                    path_options(latency_bound="200 ns", memory_bound=2_000, clock=CLOCK), chooser=chooser
                )
                some = _rows(walk_paths(PathWalk(graph, read_path_queries(queries)), (question.topic,), bounded))
                expect(f"paths under a bound for {question.text!r} are some of them", some <= whole, True)
        count = min(QUESTIONS, len(asked.test))
        records.append(Record("paths", FIGURE, f"{name}, {asked.hops} hops", "questions checked", count, ""))
    return records


def _ends(graph: ost.Graph, question: Question) -> frozenset[str]:
    """Where the walks of the question's own path end that don't come back to the topic."""
    nodes = ost.paths(question.path, start=question.topic).run(graph).table["nodes"].to_pylist()
    return frozenset(path[-1] for path in nodes if question.topic not in path[1:])


def _paths(graph: ost.Graph, topic: str, queries: list[Any]) -> set[tuple[str, ...]]:
    return _rows(ost.paths(queries, start=topic).run(graph))


def _rows(result: ost.PathsResult) -> set[tuple[str, ...]]:
    columns = (result.table[name].to_pylist() for name in ("query", "nodes", "relations"))
    return {(query, *nodes, *relations) for query, nodes, relations in zip(*columns, strict=True)}
