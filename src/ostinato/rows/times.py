"""Columns of times -> microseconds since 1970."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions import types as t
from ostinato.kernels.constants import NO_TIME

DAY_US = 86_400_000_000


def microseconds_of(array: pa.Array) -> NDArray[np.int64]:
    """Dates and timestamps in microseconds, whole numbers as they are; NO_TIME where they are NULL."""
    scale = DAY_US if array.type == t.DATE else 1
    numbers = array.cast(pa.int32()).cast(pa.int64()) if array.type == t.DATE else array.cast(pa.int64())
    values = np.asarray(numbers.fill_null(0)) * scale
    return np.where(np.asarray(numbers.is_null()), NO_TIME, values) if numbers.null_count else values
