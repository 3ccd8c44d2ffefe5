"""Keys -> numbers: equal for Spark's GROUP BY, equal here."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from ostinato.expressions.values.value_order import group_numbers

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
