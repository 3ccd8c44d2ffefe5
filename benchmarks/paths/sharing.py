"""Figures 1b and 1c: one path query against several for each question; what it gains, and costs, shared or not."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.experiment import Scale, expect
from benchmarks.paths.questions import Question, QuestionSet, load
from benchmarks.paths.relaxed import RelaxedProposer
from benchmarks.paths.replies import ask_all, questions_over
from benchmarks.records import Baseline, Record
from ostinato.path_queries.language.path_query import PathQuery

FIGURE = "figure 1"
PROPOSALS = (1, 3)
"""With more than one, each path also with one relation left open."""
EXAMPLES = 200
"""Dev questions to learn from here: with all of them the first proposal is nearly always right; more gain nothing."""


class One:
    """A proposer that gives the i-th proposal of another alone."""

    def __init__(self, proposed: dict[str, list[PathQuery]], place: int) -> None:
        self.proposed, self.place = proposed, place

    def propose(self, question: str, topic: str) -> list[PathQuery]:
        return self.proposed[question][self.place : self.place + 1]


def measure_sharing(scale: Scale) -> list[Record]:
    name, graph, sets = load(scale)
    records = []
    for asked in sets:
        few = replace(asked, dev=asked.dev[:: max(1, len(asked.dev) // EXAMPLES)])
        single = ask_all(questions_over(graph, few.learnt(1)), asked.test)
        for k in PROPOSALS:
            proposer = few.learnt(k) if k == 1 else RelaxedProposer(few.learnt(k))
            marks = ask_all(questions_over(graph, proposer), asked.test)
            apart = _apart(graph, few, asked.test, k)
            expect("partial paths are no more when shared", marks.partial_paths <= apart + 1e-9, True)
            case = f"{name}, {asked.hops} hops, {k} proposals{'' if k == 1 else ', relaxed'}"
            records += [
                Record("paths", FIGURE, case, "recall", marks.recall, "", Baseline("one query", single.recall)),
                Record("paths", FIGURE, case, "accuracy", marks.accuracy, "", Baseline("one query", single.accuracy)),
                Record(
                    "paths",
                    FIGURE,
                    case,
                    "partial paths, shared",
                    marks.partial_paths,
                    "",
                    Baseline("one query", single.partial_paths),
                ),
                Record(
                    "paths",
                    FIGURE,
                    case,
                    "partial paths, apart",
                    apart,
                    "",
                    Baseline("one query", single.partial_paths),
                ),
                Record(
                    "paths",
                    FIGURE,
                    case,
                    "time for a question",
                    marks.seconds * 1e3,
                    "ms",
                    Baseline("one query", single.seconds * 1e3),
                ),
            ]
    return records


def _apart(graph: object, few: QuestionSet, questions: tuple[Question, ...], k: int) -> float:
    """Partial paths of a question when each of its queries is walked alone."""
    learnt = few.learnt(k) if k == 1 else RelaxedProposer(few.learnt(k))
    proposed = {one.text: learnt.propose(one.text, one.topic) for one in questions}
    total = 0.0
    for place in range(max(len(queries) for queries in proposed.values())):
        some = tuple(one for one in questions if len(proposed[one.text]) > place)
        if some:
            marks = ask_all(questions_over(graph, One(proposed, place)), some)  # type: ignore[arg-type]
            total += marks.partial_paths * len(some)
    return total / len(questions)
