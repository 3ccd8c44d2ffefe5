"""Comparisons between values of two events, for whole arrays. NaN is the greatest value and equals itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def compare_values(op: str, left: Any, right: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Computes left `op` right; the left side may be one value or an array."""
    if op in (">", ">="):
        return _ordered(MIRRORED[op], right, left)
    return _ordered(op, left, right)


def _ordered(op: str, left: Any, right: Any) -> NDArray[np.bool_]:
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
