"""`at=` of a summary's run -> the evaluation times."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.values.zones import to_utc
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.summaries.task.summary_input import Moments, SummaryInput

_MICROSECOND = timedelta(microseconds=1)


def read_moments(
    at: Any, columns: Sequence[str], booleans: Collection[str], source: SummaryInput, settings: t.Settings
) -> Moments:
    """None: the end. A text: the boolean column that is true at the rows of evaluation. Otherwise a list of times."""
    if at is None:
        return Moments()
    if isinstance(at, str):
        name = ColumnLookup(columns, settings.case_sensitive).column(at)
        if name not in booleans:
            message = f"at='{at}' names the column of evaluation times: a BOOLEAN that is true at their rows"
            raise QueryError("INVALID_OPTION", message, hint="or at=[...], a list of times")
        return Moments(column=name)
    try:
        times = [_microseconds(moment, source.time_type, settings.timezone) for moment in at]
    except (TypeError, ValueError) as error:
        message = f"at= lists times of type {t.spark_name(source.time_type)}: {error}"
        raise QueryError("INVALID_OPTION", message, hint="as the time column has them, or as text") from None
    return Moments(times_us=tuple(times))


def _microseconds(moment: Any, kind: pa.DataType, timezone: str) -> int:
    """An evaluation time in microseconds. Times without a zone are in the session's time zone, as in Spark."""
    if not t.is_datetime(kind):
        return operator.index(moment)
    read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    if not isinstance(read, date):
        raise TypeError(f"{moment!r} is none")
    if not isinstance(read, datetime):
        read = datetime(read.year, read.month, read.day)
    if read.tzinfo is not None:
        if not t.is_timestamp(kind):
            raise ValueError(f"{moment!r} has a time zone")
        return (read - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
    local_us = np.array([(read - datetime(1970, 1, 1)) // _MICROSECOND])
    return int((to_utc(local_us, timezone) if t.is_timestamp(kind) else local_us)[0])
