"""Rows in any order -> the order in which they are matched: by key, then ORDER BY, then all other columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.kernels.kernel_cache import interpreted
from ostinato.rows import ordering
from ostinato.rows.ordering import OrderKey, equal_to_previous, order_rows


def in_order(keys: str, times: Sequence[Any], ties: str = "", *, sorts_keys: bool = False) -> list[str]:
    """The rows of each key in order, each as the letter of its key and its index in the input."""

    def other_columns() -> list[pa.Array]:
        assert ties, "these rows need no further column"
        return [pa.array(list(ties))]

    letters = [pa.array([None if letter == "-" else letter for letter in keys])] if keys else []
    ordered = order_rows(len(times), letters, [OrderKey(pa.array(times))], other_columns, sorts_keys=sorts_keys)
    rows = np.arange(len(times)) if ordered.rows is None else ordered.rows
    names = [f"{keys[row] if keys else ''}{row}" for row in rows]
    return [" ".join(names[first:end]) for first, end in pairwise(ordered.key_at)]


def test_rows_of_a_key_come_together_in_the_order_of_their_times() -> None:
    assert sorted(in_order("abab", [2, 9, 1, 8])) == ["a2 a0", "b3 b1"]


def test_without_keys_all_rows_are_one_partition() -> None:
    assert in_order("", [3, 1, 2]) == ["1 2 0"]


def test_null_is_a_key_like_any_other() -> None:
    assert sorted(in_order("-a-", [2, 0, 1])) == ["-2 -0", "a1"]


def test_keys_come_in_their_order_where_that_is_wanted() -> None:
    assert in_order("cab-b", [1, 1, 2, 1, 1], sorts_keys=True) == ["-3", "a1", "b4 b2", "c0"]


def test_rows_that_are_in_order_already_stay_where_they_are() -> None:
    ordered = order_rows(3, [], [OrderKey(pa.array([1, 2, 3]))], list)
    assert ordered.rows is None
    assert ordered.key_at.tolist() == [0, 3]


def test_no_row_has_no_key() -> None:
    ordered = order_rows(0, [pa.array([], pa.string())], [], list)
    assert (ordered.rows, ordered.key_at.tolist()) == (None, [0])


@pytest.mark.parametrize("ties", ["zyx", "xyz", "yzx"])
def test_other_columns_decide_between_rows_of_one_time(ties: str) -> None:
    """So the result doesn't depend on how the rows arrived."""
    assert [ties[int(row)] for row in in_order("", [7, 7, 7], ties)[0].split()] == ["x", "y", "z"]


def test_only_rows_of_one_time_are_decided_by_other_columns() -> None:
    assert in_order("", [2, 1, 2, 0], "bzaz") == ["3 1 2 0"]


def test_several_columns_and_directions() -> None:
    first, second = OrderKey(pa.array([1, 0, 1, 0]), descending=True), OrderKey(pa.array([5, 6, 4, None]))
    ordered = order_rows(4, [], [first, second], list)
    assert ordered.rows is not None
    assert ordered.rows.tolist() == [2, 0, 3, 1]


def test_a_key_without_an_order_keeps_the_order_of_arrival() -> None:
    ordered = order_rows(4, [pa.array(list("abab"))], [], list)
    assert ordered.rows is not None
    assert ordered.rows.tolist() == [0, 2, 1, 3]


def test_which_rows_equal_the_one_before() -> None:
    rising = equal_to_previous([np.array([1, 1, 2]), np.array([5, 5, 0])], 3)
    assert rising is not None
    assert rising.tolist() == [True, False]
    assert equal_to_previous([np.array([1, 1, 2]), np.array([5, 4, 0])], 3) is None  # not in order
    assert equal_to_previous([], 1) is not None


@pytest.mark.kernel
@pytest.mark.parametrize("by_group", [ordering._by_group, interpreted(ordering._by_group)], ids=["compiled", "python"])
def test_groups_come_together_and_keep_their_order(by_group: Callable[..., Any]) -> None:
    groups, rows = np.array([1, 0, 1, 2, 0]), np.array([4, 3, 2, 1, 0])
    assert by_group(groups, rows).tolist() == [4, 1, 2, 0, 3]
