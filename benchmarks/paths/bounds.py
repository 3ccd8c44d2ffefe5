"""Figures 7 and 16: recall and accuracy when a question may take 10 to 90 % of the mean latency, or memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ostinato as ost
from benchmarks.experiment import Scale, expect
from benchmarks.paths.comparators import CHOOSERS
from benchmarks.paths.questions import QuestionSet, load
from benchmarks.paths.relaxed import RelaxedProposer
from benchmarks.paths.replies import Marks, ask_all, questions_over
from benchmarks.records import Baseline, Goal, Record, Sense

SHARES = (10, 30, 50, 70, 90)
PROPOSALS = 3
POLICIES = {"sharp": "SHARP", "random_state": "random state", "selectivity": "selective state"}
LATENCY, MEMORY = "figure 7", "figure 16"
GOALS = {
    (LATENCY, "recall", 50): 0.73,
    **{(LATENCY, "accuracy", share): 1.0 for share in (50, 70, 90)},
    (LATENCY, "accuracy", 10): 0.70,
    (MEMORY, "accuracy", 50): 0.95,
    (MEMORY, "accuracy", 10): 0.80,
    (MEMORY, "recall", 10): 0.40,
}
"""The paper's, for the 2-hop questions."""


def measure_latency_bounds(scale: Scale) -> list[Record]:
    return _measure(scale, LATENCY)


def measure_memory_bounds(scale: Scale) -> list[Record]:
    return _measure(scale, MEMORY)


def _measure(scale: Scale, figure: str) -> list[Record]:
    name, graph, sets = load(scale)
    records = []
    for asked in sets:
        proposer = RelaxedProposer(asked.learnt(PROPOSALS))
        whole = ask_all(questions_over(graph, proposer), asked.test)
        expect(f"answered share of {asked.hops}-hop questions without a bound", whole.answered > 0.99, True)
        records += _records(figure, f"{name}, {asked.hops} hops, no bound", whole, None, asked)
        for share in SHARES:
            marks = {}
            for policy in POLICIES:
                bound: dict[str, str | int]
                if figure == LATENCY:
                    bound = {"latency_bound": f"{max(1.0, whole.work_ns * share / 100):.0f} ns"}
                else:
                    bound = {"memory_bound": max(1, int(whole.kept_bytes * share / 100))}
                marks[policy] = ask_all(_bounded(graph, proposer, policy, bound), asked.test)
            for policy, found in marks.items():
                case = f"{name}, {asked.hops} hops, {share} %, {POLICIES[policy]}"
                rival = max((marks[other] for other in POLICIES if other != policy), key=lambda one: one.recall)
                records += _records(figure, case, found, rival if policy == "sharp" else None, asked, share)
    return records


def _bounded(graph: ost.Graph, proposer: Any, policy: str, bound: dict[str, str | int]) -> ost.GraphQuestions:
    questions = questions_over(graph, proposer, **bound)
    questions.options = replace(questions.options, chooser=CHOOSERS[policy])
    return questions


def _records(
    figure: str, case: str, marks: Marks, rival: Marks | None, asked: QuestionSet, share: int = 0
) -> list[Record]:
    records = []
    for metric, value in (("recall", marks.recall), ("accuracy", marks.accuracy)):
        bound = GOALS.get((figure, metric, share)) if rival is not None and asked.hops == 2 else None
        goal = None if bound is None else Goal(Sense.AT_LEAST, bound)
        baseline = None if rival is None else Baseline("best of the others", getattr(rival, metric))
        records.append(Record("paths", figure, case, metric, value, "", baseline, goal))
    records.append(Record("paths", figure, case, "answered", marks.answered, ""))
    records.append(Record("paths", figure, case, "time for a question", marks.work_ns / 1e3, "us by the clock"))
    return records
