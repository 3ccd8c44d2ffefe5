"""Percentiles of the rows so far equal those of a sorted list, compiled and interpreted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ostinato.clause.task import order_statistics
from ostinato.clause.task.match_aggregates import AggregateRows
from ostinato.clause.task.order_statistics import percentile
from ostinato.kernels.kernel_cache import interpreted
from ostinato.rows.matches import Frames, Matches

pytestmark = pytest.mark.kernel


def in_matches(lengths: list[int], counts: list[bool]) -> AggregateRows:
    """All rows of matches of these lengths, each with a frame."""
    length = np.array(lengths, np.int64)
    rows, at = int(length.sum()), np.cumsum(length) - length
    matches = Matches(at, length, at + 1, at, np.zeros(rows, np.int32), np.zeros(rows, np.bool_), at * 0, at * 0 + rows)
    last = np.arange(rows) - np.repeat(at, length)
    frames = Frames(np.repeat(np.arange(len(length)), length), last, np.arange(rows))
    return AggregateRows(matches, frames, np.array(counts, np.bool_), last)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("discrete", [True, False])
def test_equals_a_sorted_list(monkeypatch: pytest.MonkeyPatch, compiled: bool, discrete: bool) -> None:
    if not compiled:
        for name in ("_percentile", "_add", "_found"):
            monkeypatch.setattr(order_statistics, name, interpreted(getattr(order_statistics, name)))
    rng = np.random.default_rng(7)
    for fraction in (0.0, 0.3, 0.5, 1.0):
        lengths = [int(n) for n in rng.integers(0, 12, 20)]
        ranks = rng.integers(-5, 5, sum(lengths))
        rows = in_matches(lengths, [bool(flag) for flag in rng.integers(0, 4, sum(lengths))])
        found = percentile(rows, ranks, fraction, discrete=discrete)
        for frame, (match, last) in enumerate(zip(rows.frames.match, rows.last, strict=True)):
            first = rows.matches.path_at[match]
            so_far = sorted(ranks[entry] for entry in range(first, first + last + 1) if rows.counts[entry])
            values = [None if entry < 0 else ranks[entry] for entry in (found.lower[frame], found.higher[frame])]
            assert values == expected(so_far, fraction, discrete)


def expected(so_far: list[Any], fraction: float, discrete: bool) -> list[Any]:
    if not so_far:
        return [None, None]
    if discrete:
        return [so_far[max(math.ceil(fraction * len(so_far)) - 1, 0)]] * 2
    position = fraction * (len(so_far) - 1)
    return [so_far[math.floor(position)], so_far[math.ceil(position)]]
