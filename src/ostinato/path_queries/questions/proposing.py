"""Question -> path queries that may answer it, each with a weight: what `propose` of any proposer gives.

`LearntProposer` knows example questions with the relation paths that answer them. The topic is masked, so that
questions about different things look alike; the paths of the most similar examples are proposed. No model, no network.
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
    whole = rf"(?<!\w){re.escape(topic)}(?!\w)"
    text = re.sub(whole, f" {TOPIC} ", question, flags=re.IGNORECASE) if topic else question
    return " ".join(_WORD.findall(text.lower()))


def _features(text: str) -> list[str]:
    """Words, and pairs of neighbours: the order of words tells 'directed by the writer' from the opposite."""
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
        """`k` paths are proposed, out of those of so many neighbours, or of more until there are k."""
        for name, value in (("k", k), ("neighbours", neighbours)):
            if not isinstance(value, int) or value < 1:
                raise QueryError("INVALID_OPTION", f"{name} is a whole number from 1 on, not {value!r}")
        paths: dict[str, Counter[str]] = {}
        for question, topic, path in examples:
            _parsed(path)  # what is wrong is said here, not when somebody asks
            paths.setdefault(masked(question, topic), Counter())[path] += 1
        self.k, self.neighbours = k, neighbours
        self._paths = list(paths.values())
        features = [Counter(_features(text)) for text in paths]
        known = Counter(feature for counted in features for feature in counted)
        self._number = {feature: i for i, feature in enumerate(known)}
        self._weight = np.array([math.log(1 + len(paths) / count) for count in known.values()])
        self._index = self._postings(features)

    def _postings(self, features: Sequence[Counter[str]]) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """For each feature the examples that have it, and its share in their vectors of length 1."""
        places: list[list[int]] = [[] for _ in self._number]
        shares: list[list[float]] = [[] for _ in self._number]
        for place, counted in enumerate(features):
            for feature, value in self._vector(counted).items():
                places[feature].append(place)
                shares[feature].append(value)
        return [(np.array(at, np.int64), np.array(share)) for at, share in zip(places, shares, strict=True)]

    def _vector(self, counted: Counter[str]) -> dict[int, float]:
        values = {
            self._number[feature]: count * float(self._weight[self._number[feature]])
            for feature, count in counted.items()
            if feature in self._number
        }
        size = math.hypot(*values.values())
        return {feature: value / size for feature, value in values.items()} if size else {}

    def propose(self, question: str, topic: str) -> list[PathQuery]:
        similarity = np.zeros(len(self._paths))
        for feature, value in self._vector(Counter(_features(masked(question, topic)))).items():
            places, shares = self._index[feature]
            similarity[places] += value * shares
        scores: Counter[str] = Counter()
        for rank, place in enumerate(np.argsort(-similarity, kind="stable").tolist()):
            if similarity[place] <= 0 or (rank >= self.neighbours and len(scores) >= self.k):
                break
            paths = self._paths[place]
            for path, count in paths.items():
                # Sharply falling: an example that is the question itself counts more than ten that are near.
                scores[path] += float(similarity[place]) ** 8 * count / paths.total()
        total = sum(scores.values()) or 1.0
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[: self.k]
        return [replace(_parsed(path), weight=score / total) for path, score in best]
