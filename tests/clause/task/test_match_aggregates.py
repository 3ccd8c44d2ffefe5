"""Aggregates over the rows of matches, one pass for all frames: letters for the variables of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest

from ostinato.clause.task import match_aggregates as agg
from ostinato.kernels.kernel_cache import interpreted
from ostinato.rows.match_navigation import NO_ROW
from ostinato.rows.matches import Frames, Matches, all_rows_frames, one_row_frames

pytestmark = pytest.mark.kernel

KERNELS = ("_drop_repeats", "_count", "_sum_real", "_sum_whole", "_best", "_collect", "_spread")


@pytest.fixture(params=["compiled", "python"], autouse=True)
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test runs with the compiled kernels, and with the Python functions that they were compiled from."""
    if request.param == "python":
        for name in KERNELS:
            monkeypatch.setattr(agg, name, interpreted(getattr(agg, name)))
    yield


def matches_of(*labels: str) -> Matches:
    """A match for each word: the variables of its rows. One begins where the one before ends."""
    length = np.array([len(word) for word in labels], np.int64)
    at, rows = np.cumsum(length) - length, int(length.sum())
    return Matches(
        start=at,
        length=length,
        number=np.arange(1, len(labels) + 1),
        path_at=at,
        label=np.array([ord(letter) - ord("A") for word in labels for letter in word], np.int32),
        excluded=np.zeros(rows, np.bool_),
        key_first=np.zeros(len(labels), np.int64),
        key_end=np.full(len(labels), rows),
    )


def rows_of(
    matches: Matches, variable: str = "", nulls: str = "", *, final: bool = False, each: bool = False
) -> agg.AggregateRows:
    """The rows of a variable (or all) whose mark in `nulls` isn't `-`; as of the last row of a match, or of each."""
    frames: Frames = all_rows_frames(matches, show_empty=True) if each else one_row_frames(matches)
    member = np.array([letter == variable for letter in "ABC"]) if variable else None
    valid = np.array([mark != "-" for mark in nulls]) if nulls else None
    return agg.aggregate_rows(matches, frames, member, valid, final=final)


def values(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(numbers, np.float64)


def test_count_sees_the_rows_of_a_variable() -> None:
    matches = matches_of("ABBC", "AC", "")
    assert agg.count(rows_of(matches)).tolist() == [4, 2, 0]
    assert agg.count(rows_of(matches, "B")).tolist() == [2, 0, 0]
    assert agg.count(rows_of(matches, "B", "x-xxxx")).tolist() == [1, 0, 0]  # NULL doesn't count


def test_a_running_aggregate_sees_the_rows_so_far_a_final_one_all() -> None:
    matches = matches_of("ABB", "AB")
    assert agg.count(rows_of(matches, "B", each=True)).tolist() == [0, 1, 2, 0, 1]
    assert agg.count(rows_of(matches, "B", each=True, final=True)).tolist() == [2, 2, 2, 1, 1]


def test_sums_of_doubles_and_of_whole_numbers() -> None:
    matches = matches_of("ABB", "A")
    assert agg.total(rows_of(matches, each=True), values(1, 2, 4, 8))[0].tolist() == [1, 3, 7, 8]
    totals, overflow = agg.total(rows_of(matches, "B"), np.array([1, 2, 4, 8]))
    assert (totals.tolist(), overflow) == ([6, 0], False)


@pytest.mark.parametrize(
    ("numbers", "leaves"), [([2**63 - 2, 1], False), ([2**63 - 2, 2], True), ([-(2**63), -1], True)]
)
def test_a_sum_that_leaves_64_bits_says_so(numbers: Sequence[int], leaves: bool) -> None:
    matches = matches_of("AA")
    assert agg.total(rows_of(matches), np.array(numbers))[1] is leaves
    assert agg.total_exactly(rows_of(matches), list(numbers)) == [sum(numbers)]


def test_sums_of_numbers_of_any_size_skip_null() -> None:
    assert agg.total_exactly(rows_of(matches_of("ABB", "AA"), each=True), [10**30, None, 1, 2, 3]) == [
        10**30,
        10**30,
        10**30 + 1,
        2,
        5,
    ]


def test_the_best_row_is_the_last_among_equals() -> None:
    matches, ranks = matches_of("AAAA", "BB", ""), np.array([3, 1, 1, 3, 0, 0])
    assert agg.best_rows(rows_of(matches), ranks, most=False).tolist() == [2, 5, NO_ROW]
    assert agg.best_rows(rows_of(matches), ranks, most=True).tolist() == [3, 5, NO_ROW]
    assert agg.best_rows(rows_of(matches, "A", each=True), ranks, most=False).tolist() == [
        0,
        1,
        2,
        2,
        NO_ROW,
        NO_ROW,
        NO_ROW,
    ]


def test_distinct_counts_the_first_of_equals_in_each_match() -> None:
    matches, codes = matches_of("ABAB", "AB"), np.array([7, 7, 2, 7, 7, 2])
    assert agg.count(agg.only_first_of_equals(rows_of(matches), codes)).tolist() == [2, 2]
    assert agg.only_first_of_equals(rows_of(matches, "B"), codes).counts.tolist() == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]


def test_rows_are_collected_in_order() -> None:
    offsets, places = agg.collected(rows_of(matches_of("ABA", "BA"), "A", each=True))
    lists = [places[first:end].tolist() for first, end in pairwise(offsets)]
    assert lists == [[0], [0], [0, 2], [], [4]]


def test_squared_distances_from_the_mean() -> None:
    squares, counts = agg.spread(rows_of(matches_of("AAAA", "A", "")), values(1, 2, 3, 6, 9))
    assert (squares.tolist(), counts.tolist()) == ([14.0, 0.0, 0.0], [4, 1, 0])


def test_squared_distances_of_large_numbers_that_lie_close() -> None:
    """Sums of squares would lose everything here."""
    squares, _ = agg.spread(rows_of(matches_of("AAA")), values(1e9, 1e9 + 1, 1e9 + 2))
    assert squares.tolist() == [2.0]
