"""Columns of times <-> microseconds since 1970."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions import types as t
from ostinato.expressions.values.zones import DAY_US
from ostinato.kernels.constants import NO_TIME


def microseconds_of(array: pa.Array) -> NDArray[np.int64]:
    """Dates and timestamps in microseconds, whole numbers as they are; NO_TIME where they are NULL."""
    scale = DAY_US if array.type == t.DATE else 1
    numbers = array.cast(pa.int32()).cast(pa.int64()) if array.type == t.DATE else array.cast(pa.int64())
    values = np.asarray(numbers.fill_null(0)) * scale
    return np.where(np.asarray(numbers.is_null()), NO_TIME, values) if numbers.null_count else values


def times_of(microseconds: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Values of a type: dates and timestamps of microseconds, other numbers as they are."""
    if kind == t.DATE:
        return pa.array((microseconds // DAY_US).astype(np.int32)).cast(kind)
    return pa.array(microseconds).cast(kind)
