"""Values -> integers in the same order, and back. MIN and MAX compare such integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def ordered_keys(values: NDArray[Any]) -> NDArray[np.int64]:
    """Integers stay unchanged. For doubles, NaN is the greatest value, and all zeros are equal."""
    if values.dtype != np.float64:
        return values.astype(np.int64, copy=False)
    numbers = np.where(np.isnan(values), np.nan, values + 0.0)
    return _flipped(numbers.view(np.int64))


def values_of_keys(keys: NDArray[np.int64], floats: bool) -> NDArray[np.int64] | NDArray[np.float64]:
    """The inverse of `ordered_keys`. `floats` says whether the values are doubles."""
    return _flipped(keys).view(np.float64) if floats else keys


def _flipped(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Negative doubles have their bits in reverse order."""
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
