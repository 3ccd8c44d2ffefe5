"""Single values <-> text, as Spark's casts read and write them. No vectors here."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np

from ostinato.expressions.values.zones import DAY_US, instant, parse_zone
from ostinato.kernels.numbers.python_numbers import decimal_text

_TRUE = {"t", "true", "y", "yes", "1"}
_FALSE = {"f", "false", "n", "no", "0"}
_INFINITY = {"inf": 1.0, "+inf": 1.0, "infinity": 1.0, "+infinity": 1.0, "-inf": -1.0, "-infinity": -1.0}
_BLANKS = "".join(map(chr, range(0x21))) + "\x7f"
"""The characters that Spark trims around a value: blanks and control characters."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_ANY_NUMBER = re.compile(_NUMBER.pattern)
"""Java's BigDecimal reads the digits of every script, if they are in Unicode's first plane."""
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?\s*(\S.*)?"
_TIMESTAMP = re.compile(r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T]\s*(?:" + _CLOCK + r")?)?)?)?", re.ASCII)


def read_boolean(text: str) -> bool | None:
    word = text.strip(_BLANKS).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def read_integer(text: str, bits: int, fraction: bool) -> int | None:
    """A whole number that fits; `fraction` accepts and drops a fraction (without ANSI)."""
    word = text.strip(_BLANKS)
    matched = re.fullmatch(r"([+-]?)(\d*)(\.\d*)?" if fraction else r"([+-]?)(\d+)", word, re.ASCII)
    if not matched or not (matched[2] or (fraction and matched[3])):
        return None
    digits = matched[2].lstrip("0") or "0"
    if len(digits) > 19:  # no int64 is longer, and Python refuses to read thousands of digits
        return None
    value = int(matched[1] + digits)
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None


def read_double(text: str) -> float | None:
    """As Java's Double.parseDouble, and Spark's names of infinity and NaN in any case."""
    word = text.strip(_BLANKS)
    if word.lower() in _INFINITY:
        return _INFINITY[word.lower()] * float("inf")
    if word.lower() == "nan":
        return float("nan")
    if word[-1:] in ("d", "D", "f", "F"):
        word = word[:-1]
    return float(word) if _NUMBER.fullmatch(word) else None


def read_decimal(text: str) -> Decimal | None:
    word = text.strip(_BLANKS)
    try:
        return Decimal(word) if _ANY_NUMBER.fullmatch(word) and max(word) <= "\uffff" else None
    except InvalidOperation:
        return None


def unscaled(value: Decimal, precision: int, scale: int) -> int | None:
    """The value as an unscaled integer, rounded half up; None if it needs more digits than the precision."""
    if value.adjusted() > 2 * 38:
        return None
    with localcontext() as context:
        context.prec = 200
        number = int(value.scaleb(scale).quantize(Decimal(1), ROUND_HALF_UP))
    return number if abs(number) < 10**precision else None


def _days(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    number = int(year) * (-1 if sign == "-" else 1)
    month_number, day_number = int(month or 1), int(day or 1)
    if not 1 <= month_number <= 12 or day_number < 1:
        return None
    start = np.datetime64(number - 1970, "Y").astype("M8[M]") + np.timedelta64(month_number - 1, "M")
    first, following = start.astype("M8[D]"), (start + np.timedelta64(1, "M")).astype("M8[D]")
    if day_number > int((following - first).astype(np.int64)):
        return None
    return int(first.astype(np.int64)) + day_number - 1


def read_date(text: str) -> int | None:
    """Days since 1970.

    >>> read_date("1970-1-3"), read_date("1970-02"), read_date("1970-01-02T whatever"), read_date("02.01.1970")
    (2, 31, 1, None)
    """
    matched = _DATE.fullmatch(text.strip(_BLANKS))
    return _days(*matched.groups()) if matched else None


def read_clock(text: str) -> tuple[int, str | None] | None:
    """Microseconds on the clock as written, and the written zone or None."""
    matched = _TIMESTAMP.fullmatch(text.strip(_BLANKS))
    if not matched:
        return None
    days = _days(*matched.groups()[:4])
    hour, minute, second, fraction, zone = matched.groups()[4:]
    if days is None or int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    micros = int(((fraction or "") + "000000")[:6])
    clock = ((int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)) * 1_000_000 + micros
    return days * DAY_US + clock, zone


def read_timestamp(text: str, session: str) -> int | None:
    """Microseconds since 1970 in UTC. Text without a zone is in the session's zone."""
    read = read_clock(text)
    if read is None:
        return None
    clock, zone_text = read
    zone = None if zone_text is None else parse_zone(zone_text)
    return None if zone is None and zone_text is not None else instant(clock, zone, session)


def read_timestamp_ntz(text: str) -> int | None:
    """Microseconds on the clock. A written zone is ignored."""
    read = read_clock(text)
    if read is None or (read[1] is not None and parse_zone(read[1]) is None):
        return None
    return read[0]


def write_double(value: float, single: bool = False) -> str:
    """As Java's Double.toString (or Float.toString).

    >>> write_double(1e7), write_double(0.001), write_double(123.0), write_double(float("inf"))
    ('1.0E7', '0.001', '123.0', 'Infinity')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if np.signbit(value) else "0.0"
    number: np.floating[Any] = np.float32(value) if single else np.float64(value)
    mantissa, exponent = np.format_float_scientific(np.abs(number), unique=True, trim="-").split("e")
    digits, power = mantissa.replace(".", ""), int(exponent)
    sign = "-" if value < 0 else ""
    if -3 <= power < 7:
        if power < 0:
            return f"{sign}0.{'0' * (-power - 1)}{digits}"
        digits = digits.ljust(power + 2, "0")
        return f"{sign}{digits[: power + 1]}.{digits[power + 1 :]}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def write_decimal_scientific(number: int, scale: int) -> str:
    """As Java's BigDecimal.toString: small numbers with an exponent (without ANSI).

    >>> write_decimal_scientific(12, 9), write_decimal_scientific(5, 2)
    ('1.2E-8', '0.05')
    """
    digits = str(abs(number))
    power = len(digits) - 1 - scale
    if power >= -6:
        return decimal_text(number, scale)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if number < 0 else ''}{digits[0]}{fraction}E{power}"


def write_date(days: int) -> str:
    """`2020-01-02`; years beyond 9999 with a plus sign."""
    written = str(np.datetime64(days, "D"))
    return written if written.index("-", 1) == 4 or written[0] == "-" else f"+{written}"


def write_clock(micros: int) -> str:
    """`2020-01-02 03:04:05.6`, with as few digits as possible behind the point."""
    days, rest = divmod(micros, DAY_US)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{write_date(days)} {clock}" + (f".{fraction:06}".rstrip("0") if fraction else "")
