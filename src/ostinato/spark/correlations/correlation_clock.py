"""Times of a correlation as integers (microseconds, or the numbers that order the rows) <-> values of Spark's types.

Parquet's statistics are compared with constants of the column's type. Joins compare integers.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.expressions.intervals import parse_interval
from ostinato.expressions.values.zones import DAY_US

_EPOCH = datetime(1970, 1, 1)
_FIRST_US = (datetime.min - _EPOCH) // timedelta(microseconds=1)
_LAST_US = (datetime.max - _EPOCH) // timedelta(microseconds=1)
_LAST_DAY = (1 << 31) - 1
_LAST_NUMBER = (1 << 63) - 1


def as_number(column: str, kind: s.DataType) -> str:
    """SQL of a column's time as an integer, as workers compute it."""
    match kind:
        case s.TimestampType():
            return f"unix_micros({column})"
        case s.TimestampNTZType():
            return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '{_EPOCH}', {column})"
        case s.DateType():
            return f"(unix_date({column}) * {DAY_US}L)"
    return f"CAST({column} AS BIGINT)"


def as_constant(number: int, kind: s.DataType) -> str:
    """SQL of the last value of the column's type that isn't after the number. Spark folds it before it reads."""
    number = min(max(number, -_LAST_NUMBER), _LAST_NUMBER)
    match kind:
        case s.TimestampType():
            return f"timestamp_micros({number}L)"
        case s.TimestampNTZType():
            moment = _EPOCH + timedelta(microseconds=min(max(number, _FIRST_US), _LAST_US))
            return f"TIMESTAMP_NTZ '{moment.isoformat(sep=' ')}'"
        case s.DateType():
            return f"date_from_unix_date({min(max(number // DAY_US, -_LAST_DAY), _LAST_DAY)})"
    return f"{number}L"


def is_later(column: str, number: int | None, kind: s.DataType) -> str:
    """SQL that is true for times after the number; None: for all times. NULL is no time."""
    return f"{column} IS NOT NULL" if number is None else f"{column} > {as_constant(number, kind)}"


def is_time(kind: s.DataType) -> bool:
    """Whether the clock's units are microseconds. Otherwise whole numbers order the rows."""
    return isinstance(kind, s.DateType | s.TimestampType | s.TimestampNTZType)


def read_delay(delay: str | int | None, kind: s.DataType) -> int:
    """The watermark delay, in the clock's units."""
    if delay is None:
        return 0
    if is_time(kind) and isinstance(delay, str):
        length = parse_interval(f"INTERVAL '{delay}'")
        if length is not None and length >= timedelta(0):
            return length // timedelta(microseconds=1)
    if not is_time(kind) and isinstance(delay, int) and not isinstance(delay, bool) and delay >= 0:
        return delay
    raise QueryError(
        "INVALID_OPTION",
        f"delay can't be {delay!r} where the rows are ordered by {kind.simpleString()}",
        hint='a length such as "10 seconds"' if is_time(kind) else "a whole number, as those that order the rows",
    )
