"""Patterns of fixed length by shifted masks: letters for rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostinato.clause.matching import shifts
from ostinato.clause.matching.shifts import after_last, starting_rows
from ostinato.clause.matching.spans import Spans, whole_keys
from ostinato.kernels.kernel_cache import interpreted

ANY = "."


def key_at(*keys: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.cumsum([0, *(len(key) for key in keys)])


def starts(pattern: str, *keys: str, within: int = -1, spans: Spans | None = None) -> list[int]:
    """Where `pattern` starts in the rows of the keys; row r has the time r * r, `.` takes every row."""
    rows = "".join(keys)
    masks = [None if name == ANY else np.array([row == name for row in rows], np.bool_) for name in pattern]
    edges = key_at(*keys)
    time = np.arange(len(rows), dtype=np.int64) ** 2
    return starting_rows(masks, edges, time, within, spans or whole_keys(edges)).tolist()


def test_a_match_starts_where_all_masks_hold() -> None:
    assert starts("abc", "abcabc") == [0, 3]
    assert starts("aa", "aaa") == [0, 1]
    assert starts("abc", "ab") == []


def test_a_variable_without_a_condition_takes_every_row() -> None:
    assert starts("a.c", "abcaxc") == [0, 3]
    assert starts("..", "xyz") == [0, 1]


def test_a_match_stays_in_its_key() -> None:
    assert starts("ab", "a", "ba", "ab") == [3]
    assert starts("...", "xy", "xyz") == [2]


def test_within_bounds_the_time_from_first_to_last() -> None:
    """From row 0 to 1 it is 1, from 1 to 2 it is 3, from 2 to 3 it is 5."""
    assert starts("aa", "aaaa", within=3) == [0, 1]
    assert starts("aa", "aaaa", within=0) == []
    assert starts("a", "aaaa", within=0) == [0, 1, 2, 3]


def span(start: int, stop: int, end: int, *, is_open: bool = False) -> Spans:
    """Starts `start:stop` of one key, rows before `end`."""
    numbers = [np.array([number]) for number in (start, stop, end)]
    return Spans(*numbers, is_open=np.array([is_open], np.uint8), number=np.zeros(1, np.int64))


def test_only_starts_of_the_span_count_and_only_its_rows_are_consumed() -> None:
    assert starts("ab", "ababab", spans=span(1, 6, 6)) == [2, 4]
    assert starts("ab", "ababab", spans=span(0, 4, 6)) == [0, 2]
    assert starts("ab", "ababab", spans=span(0, 6, 5)) == [0, 2]


def test_from_which_start_on_rows_to_come_decide() -> None:
    assert after_last(np.array([], np.int64), 3, 3, span(0, 10, 10)).tolist() == [10]  # no more rows: all is decided
    assert after_last(np.array([], np.int64), 3, 3, span(0, 10, 10, is_open=True)).tolist() == [8]
    assert after_last(np.array([7]), 3, 3, span(0, 10, 10, is_open=True)).tolist() == [10]  # a match up to row 9
    assert after_last(np.array([2]), 3, 3, span(0, 10, 10, is_open=True)).tolist() == [8]
    assert after_last(np.array([2]), 3, 3, span(4, 10, 10, is_open=True)).tolist() == [8]  # it started before the span


@pytest.mark.kernel
@pytest.mark.parametrize(
    "without_overlap",
    [shifts.without_overlap, interpreted(shifts.without_overlap)],
    ids=["compiled", "python"],
)
def test_the_search_goes_on_behind_each_match(without_overlap: Callable[..., Any]) -> None:
    rows = np.array([0, 1, 2, 3, 5, 9])
    assert rows[without_overlap(rows, 1)].tolist() == [0, 1, 2, 3, 5, 9]
    assert rows[without_overlap(rows, 2)].tolist() == [0, 2, 5, 9]
    assert rows[without_overlap(rows, 3)].tolist() == [0, 3, 9]
    assert without_overlap(rows[:0], 3).tolist() == []
