"""The rules that SHARP's choice of partial paths is compared with, behind the interface that SHARP's implements."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ostinato.path_queries.search.path_selection import ByCost, BySimilarity, Chooser, Frontier, PathQueryPairs
from ostinato.path_queries.similarity import Similarity


class WholePaths(ByCost):
    """Takes a partial path for all of its queries or for none."""

    @abc.abstractmethod
    def rank(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ranks paths by their cost. Lower is better."""

    def order(self, frontier: Frontier, pairs: PathQueryPairs) -> NDArray[np.int64]:
        cost = np.bincount(pairs.path, pairs.work, minlength=len(frontier.paths))
        return np.argsort(self.rank(np.asarray(cost, np.float64))[pairs.path], kind="stable")

    def fitting(self, pairs: PathQueryPairs, order: NDArray[np.int64], work_left: int, room: int) -> NDArray[np.bool_]:
        fits = super().fitting(pairs, order, work_left, room)
        path = pairs.path[order]
        chosen = path[fits]
        missing = path[~fits]
        return np.isin(path, np.setdiff1d(chosen, missing[missing != path[0]]))


class AtRandom(WholePaths):
    """Random partial paths: the paper's random state."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def rank(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._random.permutation(len(cost)).astype(np.float64)


class BySelectivity(WholePaths):
    """The partial paths with the lowest cost: the paper's selective state."""

    def rank(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        return cost


CHOOSERS: Mapping[str, Callable[[Similarity], Chooser]] = {
    "sharp": BySimilarity,
    "random_state": lambda similarity: AtRandom(),
    "selectivity": lambda similarity: BySelectivity(),
}
