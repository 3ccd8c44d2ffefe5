"""WITHIN in calendar months -> for each row as a start: how far later the last row of its match may be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions import types as t
from ostinato.expressions.functions.arithmetic_time import moved_by_months
from ostinato.expressions.types import Settings
from ostinato.expressions.values.zones import DAY_US


def reach_us(times: pa.Array, months: int, settings: Settings, *, descending: bool) -> NDArray[np.int64]:
    """The distances in microseconds, as Spark adds months to the value; any number where it is NULL.

    A descending order runs back in time, so the months are taken off. TIMESTAMP has the calendar of the session's time
    zone.

    >>> from datetime import date
    >>> reach_us(pa.array([date(2023, 1, 31)]), 1, Settings(), descending=False) // 86_400_000_000
    array([28])
    """
    is_date = times.type == t.DATE
    numbers = times.cast(pa.int32() if is_date else pa.int64()).cast(pa.int64()).fill_null(0)
    begins = np.asarray(numbers) * (DAY_US if is_date else 1)
    zone = settings.timezone if t.is_timestamp(times.type) else "UTC"
    ends = moved_by_months(begins, np.array(-months if descending else months), zone)
    return np.asarray(np.abs(ends - begins), np.int64)
