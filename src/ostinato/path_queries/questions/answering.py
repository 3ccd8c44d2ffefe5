"""Paths of a question's queries -> answers: the interface, and an answerer that needs no model."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc


class Answerer(Protocol):
    def answer(self, question: str, topic: str, paths: pa.Table) -> list[str]:
        """The answers, the best first. `paths` has the columns of `path_facts.SCHEMA`, the best path first."""
        ...


class BestPathAnswers:
    """Answers with the ends of the paths with the highest score. The topic itself is no answer."""

    def answer(self, question: str, topic: str, paths: pa.Table) -> list[str]:
        """The last nodes of the paths with the best score."""
        elsewhere = paths.filter(pc.not_equal(paths["end"], topic))
        best = elsewhere.filter(pc.equal(elsewhere["score"], pc.max(elsewhere["score"])))
        ends: list[str] = pc.unique(best["end"]).to_pylist()
        return ends
