"""Matches and lines as numbers, ready to draw. `match_plot.py` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[Any, ...]
"""Values of the key columns; () without keys."""


@dataclass(frozen=True, slots=True)
class PlottedMatch:
    """The rows of a match in order. Of a match without labels, only the first and the last row may be known."""

    key: Key
    x: NDArray[Any]
    y: NDArray[np.float64]
    labels: tuple[str, ...] = ()

    @property
    def first(self) -> float:
        """The smallest x: the x of the first row, unless the order is descending."""
        return self.x.min().item()  # type: ignore[no-any-return]

    @property
    def last(self) -> float:
        return self.x.max().item()  # type: ignore[no-any-return]

    @property
    def clarity(self) -> tuple[float, ...]:
        """How much a chart of the match shows: no long pause, the number of variables, the range of values."""
        known = self.y[~np.isnan(self.y)]
        height = float(known.max() - known.min()) if len(known) else 0.0
        length = self.last - self.first
        is_even = length == 0 or bool(np.abs(np.diff(self.x.astype(np.float64))).max(initial=0) < length / 2)
        return is_even, len(set(self.labels)), height, length


@dataclass(frozen=True, slots=True)
class Line:
    """The rows of one key, ordered by x."""

    x: NDArray[Any]
    y: NDArray[np.float64]

    def around(self, match: PlottedMatch) -> Line:
        """The rows of a match, and about a third of their number on either side, but no further than its length."""
        begin, end = self._rows(match.first, match.last)
        more = max(4, (end - begin) // 3)
        length = match.last - match.first
        if length:
            first, last = self._rows(match.first - length, match.last + length)
            rows = slice(max(first, begin - more), min(last, end + more))
        else:
            rows = slice(max(0, begin - more), end + more)
        return Line(self.x[rows], self.y[rows])

    def filled(self, match: PlottedMatch) -> PlottedMatch:
        """A match without labels with the rows between its first and its last, if the line has them."""
        begin, end = self._rows(match.first, match.last)
        return match if match.labels or begin == end else replace(match, x=self.x[begin:end], y=self.y[begin:end])

    def _rows(self, low: float, high: float) -> tuple[int, int]:
        """The first row from `low` on, and the first one behind `high`."""
        return int(np.searchsorted(self.x, low, "left")), int(np.searchsorted(self.x, high, "right"))

    def thinned(self, most: int) -> Line:
        """About `most` rows that look the same: the lowest and the highest of each stretch of rows."""
        if len(self.y) <= most:
            return self
        length = -(-2 * len(self.y) // most)
        stretches = -(-len(self.y) // length)
        kept = []
        for worst, choose in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            padded = np.full(stretches * length, worst)
            padded[: len(self.y)] = np.where(np.isnan(self.y), worst, self.y)
            kept.append(choose(padded.reshape(stretches, length), axis=1) + np.arange(stretches) * length)
        rows = np.unique(np.concatenate([*kept, [0, len(self.y) - 1]]))
        return Line(self.x[rows], self.y[rows])


NO_LINE = Line(np.array([], np.int64), np.array([], np.float64))


def clearest(matches: Sequence[PlottedMatch], count: int) -> list[PlottedMatch]:
    """The matches that show most, from as many keys as possible."""
    count_of_key: dict[Key, int] = {}
    ranked = []
    for match in sorted(matches, key=lambda match: match.clarity, reverse=True):
        count_of_key[match.key] = count_of_key.get(match.key, 0) + 1
        ranked.append((count_of_key[match.key], match))
    ranked.sort(key=lambda pair: pair[0])  # stable: the best match of every key, then the second of every key
    return [match for _, match in ranked[:count]]


def key_words(key: Key) -> str:
    """The values of a key in one line.

    >>> key_words(("ACME", None)), key_words(())
    ('ACME, NULL', 'all rows')
    """
    return ", ".join("NULL" if value is None else str(value) for value in key) or "all rows"
