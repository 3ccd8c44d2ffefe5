"""Paths that were found -> answers to the question: the interface's second half, and one that needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class FoundPath(NamedTuple):
    """One row of the table of paths."""

    query: str
    nodes: tuple[str, ...]
    relations: tuple[str, ...]
    score: float


class Answerer(Protocol):
    def answer(self, question: str, topic: str, paths: Sequence[FoundPath]) -> list[str]:
        """The answers, the best first."""
        ...


class BestPathAnswers:
    """The ends of the paths with the highest score, but for the topic itself."""

    def answer(self, question: str, topic: str, paths: Sequence[FoundPath]) -> list[str]:
        ends = [(path.score, path.nodes[-1]) for path in paths if topic not in path.nodes[1:]]
        if not ends:
            return []
        best = max(score for score, _ in ends)
        return list(dict.fromkeys(node for score, node in ends if score == best))
