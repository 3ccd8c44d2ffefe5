"""Question -> path queries that may answer it, each with a weight.

`LearntProposer` knows example questions and the relation paths that answer them. It masks the topic, so that questions
about different topics look alike, and proposes the paths of the most similar examples. No model, no network.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import QueryError
from ostinato.path_queries.language.path_parser import path_query
from ostinato.path_queries.language.path_query import PathQuery

TOPIC = "<topic>"
DEFAULT_PROPOSALS = 3
DEFAULT_NEIGHBOURS = 10
_WORD = re.compile(r"<topic>|[^\W_]+")


class Proposer(Protocol):
    def propose(self, question: str, topic: str) -> list[PathQuery]:
        """The path queries that may answer the question about the topic, the most promising first."""
        ...


class Example(NamedTuple):
    question: str
    topic: str
    path: str
    """As the text of a path query: `written_by / ^written_by`."""


def masked(question: str, topic: str) -> str:
    """The question without its topic.

    >>> masked("Who wrote [Alila]?", "Alila")
    'who wrote <topic>'
    """
    topic_as_word = rf"(?<!\w){re.escape(topic)}(?!\w)"
    text = re.sub(topic_as_word, f" {TOPIC} ", question, flags=re.IGNORECASE) if topic else question
    return " ".join(_WORD.findall(text.lower()))


def _features(text: str) -> list[str]:
    """Words and pairs of adjacent words. Word order tells 'directed by the writer' from its opposite."""
    words = ["<start>", *text.split(), "<end>"]
    return [*words[1:-1], *(f"{one} {other}" for one, other in pairwise(words))]


@functools.lru_cache(maxsize=4096)
def _parsed(path: str) -> PathQuery:
    return path_query(path)


class LearntProposer:
    """The nearest neighbours of a masked question among examples, by the cosine of rare words."""

    def __init__(
        self, examples: Iterable[Example], *, k: int = DEFAULT_PROPOSALS, neighbours: int = DEFAULT_NEIGHBOURS
    ) -> None:
        """Proposes `k` paths of the nearest `neighbours` examples, or of more examples until there are k."""
        for name, value in (("k", k), ("neighbours", neighbours)):
            if not isinstance(value, int) or value < 1:
                raise QueryError("INVALID_OPTION", f"{name} is a whole number from 1 on, not {value!r}")
        paths: dict[str, Counter[str]] = {}
        for question, topic, path in examples:
            _parsed(path)  # raises errors here, not with the first question
            paths.setdefault(masked(question, topic), Counter())[path] += 1
        self.k, self.neighbours = k, neighbours
        self._paths = list(paths.values())
        features = [Counter(_features(text)) for text in paths]
        occurrences = Counter(feature for counted in features for feature in counted)
        self._number = {feature: i for i, feature in enumerate(occurrences)}
        self._weight = np.array([math.log(1 + len(paths) / count) for count in occurrences.values()])
        self._index = self._postings(features)

    def _postings(self, features: Sequence[Counter[str]]) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """For each feature, the examples that have it, and its weight in their unit vectors."""
        indices: list[list[int]] = [[] for _ in self._number]
        shares: list[list[float]] = [[] for _ in self._number]
        for example, counted in enumerate(features):
            for feature, value in self._vector(counted).items():
                indices[feature].append(example)
                shares[feature].append(value)
        return [(np.array(at, np.int64), np.array(share)) for at, share in zip(indices, shares, strict=True)]

    def _vector(self, counted: Counter[str]) -> dict[int, float]:
        values = {
            self._number[feature]: count * float(self._weight[self._number[feature]])
            for feature, count in counted.items()
            if feature in self._number
        }
        size = math.hypot(*values.values())
        return {feature: value / size for feature, value in values.items()} if size else {}

    def propose(self, question: str, topic: str) -> list[PathQuery]:
        """The paths of the most similar examples, the most similar first."""
        similarity = np.zeros(len(self._paths))
        for feature, value in self._vector(Counter(_features(masked(question, topic)))).items():
            indices, shares = self._index[feature]
            similarity[indices] += value * shares
        scores: Counter[str] = Counter()
        for rank, example in enumerate(np.argsort(-similarity, kind="stable").tolist()):
            if similarity[example] <= 0 or (rank >= self.neighbours and len(scores) >= self.k):
                break
            paths = self._paths[example]
            for path, count in paths.items():
                # The power makes an identical example count more than ten similar ones.
                scores[path] += float(similarity[example]) ** 8 * count / paths.total()
        total = sum(scores.values()) or 1.0
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[: self.k]
        return [replace(_parsed(path), weight=score / total) for path, score in best]
