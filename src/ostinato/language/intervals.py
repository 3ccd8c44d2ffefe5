"""Text of an interval literal -> timedelta, for day-time intervals."""

from __future__ import annotations

import re
from datetime import timedelta

_UNIT_MICROSECONDS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_PART = re.compile(r"([+-]?)\s*(?:'([^']*)'|(\d+(?:\.\d*)?))\s*([A-Za-z]+)(?:\s+TO\s+([A-Za-z]+))?", re.IGNORECASE)
_INNER = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)")


def parse_interval(text: str) -> timedelta | None:
    """The length of a day-time interval literal, or None when it is something else (months, or not well formed).

    >>> parse_interval("INTERVAL '10' MINUTE")
    datetime.timedelta(seconds=600)
    >>> parse_interval("INTERVAL '1 02:00:00' DAY TO SECOND")
    datetime.timedelta(days=1, seconds=7200)
    >>> parse_interval("INTERVAL 1 day 2 hours")
    datetime.timedelta(days=1, seconds=7200)
    >>> parse_interval("INTERVAL '3' MONTH") is None
    True
    """
    body = re.sub(r"^\s*INTERVAL\s*", "", text, flags=re.IGNORECASE).strip()
    whole_string = re.fullmatch(r"([+-]?)\s*'([^']*)'", body)
    parts = _amounts(whole_string.group(2)) if whole_string else _written_parts(body)
    if not parts:
        return None
    microseconds = sum(parts)
    if whole_string and whole_string.group(1) == "-":
        microseconds = -microseconds
    return timedelta(microseconds=microseconds)


def _written_parts(body: str) -> list[int] | None:
    """`'1' DAY`, `1 day 2 hours`, `'1 02:03' DAY TO MINUTE`."""
    values, at = [], 0
    for part in _PART.finditer(body):
        if body[at : part.start()].strip():
            return None
        at = part.end()
        sign, quoted, bare, unit, to = part.groups()
        value = _range(quoted or "", unit, to) if to else _amount(quoted if quoted is not None else bare, unit)
        if value is None:
            return None
        values.append(-value if sign == "-" else value)
    return values if not body[at:].strip() else None


def _amounts(text: str) -> list[int] | None:
    """`1 day 2 hours` inside one string."""
    if _INNER.sub("", text).strip():
        return None
    values = [_amount(number, unit) for number, unit in _INNER.findall(text)]
    return None if None in values else [value for value in values if value is not None]


def _amount(number: str, unit: str) -> int | None:
    name = unit.upper()
    size = _UNIT_MICROSECONDS.get(name if name in _UNIT_MICROSECONDS else name.removesuffix("S"))
    found = re.fullmatch(r"\s*([+-]?)(\d*)(?:\.(\d*))?\s*", number)
    if size is None or found is None or not (found.group(2) or found.group(3)):
        return None
    sign, whole, fraction = found.groups()
    fraction = fraction or ""
    value = int(whole or 0) * size + (int(fraction) * size // 10 ** len(fraction) if fraction else 0)
    return -value if sign == "-" else value


def _range(text: str, first: str, last: str) -> int | None:
    """`1 02:03:04` read as DAY TO SECOND and the like."""
    try:
        fields = _FIELDS[_FIELDS.index(first.upper()) : _FIELDS.index(last.upper()) + 1]
    except ValueError:
        return None
    sign, digits = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text.strip().removeprefix("+"))
    numbers = re.split(r"[ :]+", digits)
    if len(numbers) != len(fields):
        return None
    amounts = [_amount(number, field) for number, field in zip(numbers, fields, strict=True)]
    return None if None in amounts else sign * sum(amount for amount in amounts if amount is not None)
