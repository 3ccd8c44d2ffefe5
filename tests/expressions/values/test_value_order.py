"""Values -> numbers: equal where Spark's GROUP BY finds them equal, ordered as Spark's ORDER BY orders them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.expressions.values.value_order import OrderKey, group_numbers, python_values, sortable

_OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0001))[0]
_VALUES = (0.0, -0.0, float("nan"), _OTHER_NAN, None, 1.5)


@pytest.mark.parametrize(
    "key",
    [
        lambda value: value,
        lambda value: {"a": value},
        lambda value: [value],
        lambda value: [1.0, value],
        lambda value: {"a": [{"b": value}], "c": "x"},
    ],
)
def test_nan_and_the_two_zeros_are_one_key_at_any_depth(key: Callable[[float | None], Any]) -> None:
    numbers = group_numbers(len(_VALUES), [pa.array([key(value) for value in _VALUES])])
    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]
    assert len(set(numbers.tolist())) == 4


def test_lists_of_different_lengths_and_null_are_different_keys() -> None:
    keys = pa.array([[], None, [None], [0.0], [0.0, None], [None, 0.0]])
    assert len(set(group_numbers(len(keys), [keys]).tolist())) == 6


def test_several_keys_are_equal_where_all_are() -> None:
    letters, numbers = pa.array(["a", "a", "b", None, None, "a"]), pa.array([1, 2, 1, 1, 1, 1])
    groups = group_numbers(6, [letters, numbers]).tolist()
    assert groups[0] == groups[5]
    assert groups[3] == groups[4]
    assert len(set(groups)) == 4


# --- order ------------------------------------------------------------------------------------------------------------


def ordered(values: pa.Array, *, descending: bool = False, nulls_first: bool = True) -> list[Any]:
    """The values sorted by the numbers that `sortable` gives."""
    columns = sortable(OrderKey(values, descending, nulls_first))
    assert all(column.dtype == np.int64 for column in columns)
    return python_values(values.take(pa.array(np.lexsort(columns[::-1]))))


@pytest.mark.parametrize(
    "values",
    [
        [False, True],
        [-(2**63), -1, 0, 1, 2**63 - 1],
        [float("-inf"), -1.5, -1e-300, 0.0, 1e-300, 1.5, float("inf")],
        ["", "A", "B", "a", "ab", "b", "\u00e4", "\U0001f600"],
        [b"", b"\x00", b"a", b"\xff"],
        [Decimal("-10.5"), Decimal("-2.0"), Decimal("0.0"), Decimal("9.5"), Decimal("10.0")],
        [date(1969, 12, 31), date(1970, 1, 1), date(2024, 1, 1)],
        [datetime(1969, 12, 31), datetime(1970, 1, 1), datetime(2024, 1, 1)],
        [[], [None], [1], [1, None], [1, 1], [2]],
    ],
    ids=lambda values: type(values[-1]).__name__,
)
def test_numbers_sort_as_the_values_do(values: list[Any]) -> None:
    mixed = pa.array(values[::2] + values[1::2][::-1])
    assert ordered(mixed) == values
    assert ordered(mixed, descending=True) == values[::-1]


def test_nan_is_the_greatest_and_the_two_zeros_are_equal() -> None:
    values = pa.array([float("nan"), float("inf"), 0.0, -0.0, -1.0])
    assert [str(value) for value in ordered(values)] == ["-1.0", "0.0", "-0.0", "inf", "nan"]
    assert [str(value) for value in ordered(values.take(pa.array([3, 2])))] == ["-0.0", "0.0"]  # as they came


@pytest.mark.parametrize(
    ("descending", "nulls_first", "expected"),
    [
        (False, True, [None, None, 1, 2]),
        (False, False, [1, 2, None, None]),
        (True, True, [None, None, 2, 1]),
        (True, False, [2, 1, None, None]),
    ],
)
def test_nulls_come_first_or_last_whatever_the_direction(
    descending: bool, nulls_first: bool, expected: list[int | None]
) -> None:
    values = pa.array([2, None, 1, None])
    assert ordered(values, descending=descending, nulls_first=nulls_first) == expected


def test_structs_are_tuples_since_two_fields_may_have_one_name() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array(["a", None])], names=["x", "x"])
    assert python_values(twice) == [(1, "a"), (2, None)]
    assert python_values(pa.chunked_array([twice, twice.slice(1)])) == [(1, "a"), (2, None), (2, None)]
    assert python_values(pa.array([[0], [1, 2], None, []]).slice(1)) == [[1, 2], None, []]
