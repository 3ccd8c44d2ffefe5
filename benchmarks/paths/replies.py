"""Questions asked and marked: how many of the right answers came (recall), how many that came are right (accuracy)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import ostinato as ost
from benchmarks.paths.questions import Question
from ostinato.api.graph_questions import Reply

CLOCK = ost.VirtualClock(ns_per_event=0, ns_per_visit=10, ns_per_check=0)
"""Charges for edges and partial paths: bounds are kept alike on every machine."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Means over questions. A question without an answer has no accuracy, and a recall of 0."""

    recall: float
    accuracy: float
    answered: float
    work_ns: float
    """By the clock."""
    seconds: float
    partial_paths: float
    kept_bytes: float


def ask_all(asked: ost.GraphQuestions, questions: Sequence[Question]) -> Marks:
    replies, started = [], time.perf_counter()
    for question in questions:
        replies.append(asked.ask(question.text, question.topic))
    seconds = (time.perf_counter() - started) / len(questions)
    return _marks(replies, questions, seconds)


def _marks(replies: Sequence[Reply], questions: Sequence[Question], seconds: float) -> Marks:
    recalls, accuracies = [], []
    for reply, question in zip(replies, questions, strict=True):
        right = len(question.answers.intersection(reply.answers))
        recalls.append(right / max(1, len(question.answers)))
        if reply.answers:
            accuracies.append(right / len(reply.answers))
    reports = [reply.result.walk for reply in replies if reply.result is not None]
    return Marks(
        recall=fmean(recalls),
        accuracy=fmean(accuracies) if accuracies else 0.0,
        answered=len(accuracies) / len(replies),
        work_ns=fmean(report.elapsed_ns for report in reports),
        seconds=seconds,
        partial_paths=fmean(report.partial_paths for report in reports),
        kept_bytes=fmean(report.kept_bytes for report in reports),
    )


def questions_over(graph: ost.Graph, proposer: Any, **options: Any) -> ost.GraphQuestions:
    return ost.GraphQuestions(graph, proposer, **{"clock": CLOCK, "simple": True, **options})
