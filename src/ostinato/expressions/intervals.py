"""Text of an interval literal -> its length. Reads the forms that Spark reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

_UNIT_MONTHS = {"year": 12, "month": 1}
_UNIT_MICROSECONDS = {
    "week": 7 * 86_400_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_LARGEST = {"hour": 23, "minute": 59, "second": 59, "month": 11}
"""The largest value of each field, unless it is the first field."""

_DAY, _HOUR, _MINUTE = r"(?P<day>\d+)", r"(?P<hour>\d+)", r"(?P<minute>\d+)"
_SECOND = r"(?P<second>\d+)(?P<fraction>\.\d{1,9})?"
_RANGES = {
    ("day", "hour"): f"{_DAY} {_HOUR}",
    ("day", "minute"): f"{_DAY} {_HOUR}:{_MINUTE}",
    ("day", "second"): f"{_DAY} {_HOUR}:{_MINUTE}:{_SECOND}",
    ("hour", "minute"): f"{_HOUR}:{_MINUTE}",
    ("hour", "second"): f"{_HOUR}:{_MINUTE}:{_SECOND}",
    ("minute", "second"): f"{_MINUTE}:{_SECOND}",
    ("year", "month"): r"(?P<year>\d+)-(?P<month>\d+)",
}
_WORD = re.compile(r"^\s*interval\s*", re.IGNORECASE)
_RANGE = re.compile(r"([+-]?)\s*('[^']*'|\"[^\"]*\")\s*([a-z]+)\s+to\s+([a-z]+)", re.IGNORECASE | re.ASCII)
_AMOUNT = re.compile(
    r"([+-]?)\s*(?:'\s*([+-]?[\d.]+)\s*'|\"\s*([+-]?[\d.]+)\s*\"|([\d.]+))\s*([a-z]+)", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Months, or a length of time: months have no fixed length. `months` is None for a day-time interval."""

    months: int | None
    microseconds: int


def read_interval(text: str) -> Interval:
    """The interval, written with or without the word INTERVAL. Raises ValueError for other text.

    >>> read_interval("INTERVAL '1 02:00:00' DAY TO SECOND")
    Interval(months=None, microseconds=93600000000)
    >>> read_interval("INTERVAL '1-2' YEAR TO MONTH")
    Interval(months=14, microseconds=0)
    """
    body = _WORD.sub("", text).strip()
    ranged = _RANGE.fullmatch(body)
    if ranged:
        return _ranged(ranged[1] == "-", ranged[2][1:-1], ranged[3].lower(), ranged[4].lower())
    if re.fullmatch(r"'[^']*'|\"[^\"]*\"", body):  # INTERVAL '5 minutes 3 seconds'
        body = _WORD.sub("", body[1:-1])
    if _AMOUNT.sub("", body).strip(" ,\t\n"):
        raise ValueError(text)
    return _sum(_AMOUNT.findall(body))


def parse_interval(text: str) -> timedelta | None:
    """The length of a day-time interval; None for months and for other text.

    >>> parse_interval("INTERVAL '10' MINUTE")
    datetime.timedelta(seconds=600)
    >>> parse_interval("1 day 2 hours")
    datetime.timedelta(days=1, seconds=7200)
    >>> parse_interval("INTERVAL '3' MONTH") is None
    True
    """
    try:
        interval = read_interval(text)
        return timedelta(microseconds=interval.microseconds) if interval.months is None else None
    except (ValueError, OverflowError):
        return None


def _sum(amounts: list[tuple[str, ...]]) -> Interval:
    """`1 day 2 hours`, `'5' MINUTE`."""
    months, microseconds, units = 0, 0, set()
    for sign, single, double, bare, written_unit in amounts:
        unit = written_unit.lower().removesuffix("s")
        try:
            count = Decimal(single or double or bare) * (-1 if sign == "-" else 1)
        except ArithmeticError:
            raise ValueError(single or double or bare) from None
        if count != int(count) and unit != "second":
            raise ValueError(f"a fraction of a {unit}")
        if unit in _UNIT_MONTHS:
            months += int(count) * _UNIT_MONTHS[unit]
        elif unit in _UNIT_MICROSECONDS:
            microseconds += int(count * _UNIT_MICROSECONDS[unit])
        else:
            raise ValueError(written_unit)
        units.add(unit in _UNIT_MONTHS)
    if len(units) != 1:
        raise ValueError("an interval has months, or days and smaller units")
    return Interval(months if True in units else None, microseconds)


def _ranged(negative: bool, body: str, first: str, last: str) -> Interval:
    """`'1 02:03:04' DAY TO SECOND`."""
    if (first, last) not in _RANGES:
        raise ValueError(f"{first} to {last}")
    matched = re.fullmatch(r"\s*([+-]?)\s*" + _RANGES[first, last] + r"\s*", body, re.ASCII)
    if not matched:
        raise ValueError(body)
    fields = {name: int(value) for name, value in matched.groupdict().items() if value and name != "fraction"}
    if any(value > _LARGEST.get(name, value) for name, value in fields.items() if name != first):
        raise ValueError(body)
    direction = -1 if (matched[1] == "-") != negative else 1
    if first == "year":
        return Interval(direction * (fields["year"] * 12 + fields["month"]), 0)
    microseconds = sum(value * _UNIT_MICROSECONDS[name] for name, value in fields.items())
    fraction = matched.groupdict().get("fraction") or ""
    return Interval(None, direction * (microseconds + int((fraction[1:] + "000000")[:6])))
