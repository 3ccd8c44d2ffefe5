"""Paths that were found -> answers to the question: the interface's second half, and one that needs no model."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc


class Answerer(Protocol):
    def answer(self, question: str, topic: str, paths: pa.Table) -> list[str]:
        """The answers, the best first. `paths` has the columns of `found_table.SCHEMA`, the best path first."""
        ...


class BestPathAnswers:
    """The ends of the paths with the highest score; the topic itself is no answer."""

    def answer(self, question: str, topic: str, paths: pa.Table) -> list[str]:
        elsewhere = paths.filter(pc.not_equal(paths["end"], topic))
        best = elsewhere.filter(pc.equal(elsewhere["score"], pc.max(elsewhere["score"])))
        found: list[str] = pc.unique(best["end"]).to_pylist()
        return found
