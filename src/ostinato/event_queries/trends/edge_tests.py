"""Tests between two adjacent events: comparisons of their values, and names of events for tests of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def compare_values(op: str, left: Any, right: Any) -> NDArray[np.bool_]:
    """Computes left `op` right for whole arrays. NaN is the greatest value and equals itself."""
    if op == ">":
        return compare_values("<", right, left)
    if op == ">=":
        return compare_values("<=", right, left)
    left_is_nan, right_is_nan = left != left, right != right
    match op:
        case "<":
            result = (left < right) | (right_is_nan & ~left_is_nan)
        case "<=":
            result = (left <= right) | right_is_nan
        case "=":
            result = (left == right) | (left_is_nan & right_is_nan)
        case _:
            result = (left != right) & ~(left_is_nan & right_is_nan)
    return np.asarray(result, bool)


def names_of_earlier_events(back: NDArray[np.int64], sequence: int, sequences: int) -> NDArray[np.int64]:
    """The names in tests of pairs (`PairTest`) of events of earlier calls, `back` events before the last of them."""
    return -1 - (sequence + sequences * back)
