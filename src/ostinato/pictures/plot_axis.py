"""A column of times or numbers -> an axis: its numbers, round values to label, and the words for a value."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions.values.zones import DAY_US
from ostinato.pictures.svg import round_ticks

_SECOND_US = 1_000_000
_STEPS_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
_STEPS_DAYS = (1, 2, 7, 14, 30, 91, 182, 365, 730, 1825, 3650, 36_500, 365_000, 36_500_000)
_STEPS_US = (*(step * _SECOND_US for step in _STEPS_SECONDS), *(step * DAY_US for step in _STEPS_DAYS))
_LARGEST = 1e300
"""Values beyond it are left out: the width of their range has no number."""


class AxisKind(enum.Enum):
    TIME = "time"
    DAY = "day"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Axis:
    """The meaning of the numbers on an axis. Times and days are microseconds since 1970."""

    kind: AxisKind
    zone: str = ""

    def words(self, value: float) -> str:
        """One value in full.

        >>> Axis(AxisKind.TIME).words(90_500_000), Axis(AxisKind.NUMBER).words(1234.5)
        ('1970-01-01 00:01:30.5', '1,234.5')
        """
        if self.kind is AxisKind.NUMBER:
            return number_words(value)
        moment = _moment(value)
        if moment is None:
            return f"{value / DAY_US / 365.2425 + 1970:.0f}"  # a year that Python's calendar lacks
        if self.kind is AxisKind.DAY:
            return f"{moment:%Y-%m-%d}"
        fraction = f".{moment:%f}".rstrip("0") if moment.microsecond else ""
        return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"

    def span_words(self, first: float, last: float) -> str:
        """`first to last`, without repeating the day."""
        begin, end = self.words(first), self.words(last)
        if begin == end:
            return begin
        same_day = self.kind is AxisKind.TIME and begin[:10] == end[:10]
        return f"{begin} to {end[11:] if same_day else end}"

    def ticks(self, low: float, high: float, about: int) -> list[tuple[float, str]]:
        """Round values within low..high, and their words."""
        if self.kind is AxisKind.NUMBER:
            values = round_ticks(low, high, about)
            if isinstance(low, int) and isinstance(high, int):
                values = [int(value) for value in values if value == int(value)]
            return list(zip(values, tick_words(values), strict=True))
        least = DAY_US if self.kind is AxisKind.DAY else _SECOND_US
        if high - low < least:
            return [(low, self.words(low))]
        step = next((one for one in _STEPS_US if one >= least and (high - low) / one <= about), _STEPS_US[-1])
        first = math.ceil(low / step)
        return [(i * step, _tick(i * step, step)) for i in range(first, math.floor(high / step) + 1)]


def axis_of(kind: pa.DataType) -> Axis | None:
    """The axis for a column of this type; None if its values have no place on a line."""
    if pa.types.is_timestamp(kind):
        return Axis(AxisKind.TIME, kind.tz or "")
    if pa.types.is_date(kind):
        return Axis(AxisKind.DAY)
    return Axis(AxisKind.NUMBER) if is_number(kind) else None


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def positions(column: pa.Array | pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Values of the x axis, exact for times and whole numbers, and the rows that have one."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind):
        return np.asarray(column.cast(pa.int64()).fill_null(0)), np.asarray(column.is_valid(), np.bool_)
    numbers = values(column)
    return numbers, ~np.isnan(numbers)


def values(column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """Values of the y axis. NULL, NaN and infinities are NaN: they are gaps in the line."""
    numbers = np.asarray(column.cast(pa.float64(), safe=False).fill_null(math.nan), np.float64)
    return np.where(np.abs(numbers) < _LARGEST, numbers, math.nan)


def number_words(value: float) -> str:
    """A number with at most six decimals.

    >>> number_words(0.1 + 0.2), number_words(12), number_words(1e-9), number_words(float("nan"))
    ('0.3', '12', '1e-09', 'no value')
    """
    if isinstance(value, float) and math.isnan(value):
        return "no value"
    if value != 0 and not 1e-4 <= abs(value) < 1e15:
        return f"{value:.6g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


def tick_words(ticks: Sequence[float]) -> list[str]:
    """Round values with the same number of decimals.

    >>> tick_words([134.5, 135.0, 135.5])
    ['134.5', '135.0', '135.5']
    """
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 0
    if step <= 0 or step < 1e-4 or max(abs(ticks[0]), abs(ticks[-1])) >= 1e15:
        return [number_words(tick) for tick in ticks]
    decimals = next((digits for digits in range(6) if abs(step - round(step, digits)) < step * 1e-6), 6)
    return [f"{tick:,.{decimals}f}" for tick in ticks]


def _tick(value: int, step: int) -> str:
    """The time of day, and the day at midnight."""
    moment = _moment(value)
    if moment is None:
        return ""
    if step >= 30 * DAY_US:
        return f"{moment:%b %Y}"
    if value % DAY_US == 0:
        return f"{moment.day} {moment:%b}"
    return f"{moment:%H:%M:%S}" if step < 60 * _SECOND_US else f"{moment:%H:%M}"


def _moment(microseconds: float) -> datetime | None:
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(microseconds))
    except OverflowError:
        return None
