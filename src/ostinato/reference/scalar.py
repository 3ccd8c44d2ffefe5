"""Operators, functions and casts on plain Python values, by Spark's rules for the common subset.

Everything outside that subset raises NotImplementedError: the oracle never guesses. All integers count as BIGINT,
because a Python int has no width.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any

from ostinato.errors import MatchError
from ostinato.reference.oracle_ordering import as_moment, compare

_ORDER: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
_INTEGERS = {"tinyint": 8, "byte": 8, "smallint": 16, "short": 16, "int": 32, "integer": 32, "bigint": 64, "long": 64}


def operate(op: str, values: Sequence[Any], ansi: bool) -> Any:
    """Applies an operator that needs all its operands. AND, OR and IN aren't among them.

    >>> operate("/", (1, 4), ansi=True), operate("<", (1, None), ansi=True), operate("<=>", (None, None), ansi=True)
    (0.25, None, True)
    """
    match op:
        case "is null" | "is unknown":
            return values[0] is None
        case "is true":
            return values[0] is True
        case "is false":
            return values[0] is False
        case "<=>":
            return _not_distinct(*values)
        case "is distinct from":
            return not _not_distinct(*values)
    if any(value is None for value in values):
        return None
    if op in _ORDER:
        return _ORDER[op](compare(*values))
    match op:
        case "not":
            return not values[0]
        case "pos":
            return values[0]
        case "neg":
            return _fit(-values[0], ansi)
        case "||":
            return _join(values)
        case "like" | "ilike":
            return _like(*values, ignore_case=op == "ilike")
        case "rlike":
            return re.search(values[1], values[0]) is not None
        case "&" | "|" | "^":
            left, right = values
            return left & right if op == "&" else left | right if op == "|" else left ^ right
        case "~":
            return ~values[0]
        case "+" | "-" | "*":
            return _fit(_add_or_multiply(op, *values), ansi)
        case "/" | "%" | "div":
            return _divide(op, values[0], values[1], ansi)
        case _:
            raise NotImplementedError(f"operator {op}")


def _not_distinct(left: object, right: object) -> bool:
    if left is None or right is None:
        return left is right
    return compare(left, right) == 0


def _fit(value: Any, ansi: bool) -> Any:
    """An integer must fit 64 bits. Otherwise ANSI mode fails, and the other mode wraps around."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        if ansi:
            raise MatchError("ARITHMETIC_OVERFLOW", f"{value} doesn't fit a 64-bit integer")
        return (value + 2**63) % 2**64 - 2**63
    return value


def _numbers(left: Any, right: Any) -> tuple[Any, Any]:
    """Two numbers of one kind: both floats if one is a float, else both decimals if one is a decimal."""
    for value in (left, right):
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise NotImplementedError(f"arithmetic with {value!r}")
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return Decimal(left), Decimal(right)
    return left, right


def _add_or_multiply(op: str, left: Any, right: Any) -> Any:
    if op in "+-" and (isinstance(left, date | timedelta) or isinstance(right, date | timedelta)):
        return _shift_time(op, left, right)
    if op == "*" and isinstance(left, timedelta) != isinstance(right, timedelta):
        return left * right
    left, right = _numbers(left, right)
    with localcontext() as context:
        context.prec = 80  # twice the digits of DECIMAL(38): nothing is rounded
        return left + right if op == "+" else left - right if op == "-" else left * right


def _shift_time(op: str, left: Any, right: Any) -> Any:
    if op == "+" and not isinstance(left, date) and isinstance(right, date):
        left, right = right, left
    if isinstance(left, date) and isinstance(right, int) and not isinstance(left, datetime):
        right = timedelta(days=right)
    if isinstance(left, date) and isinstance(right, date):
        if op == "+":
            raise NotImplementedError("date + date")
        return as_moment(left) - as_moment(right)
    if isinstance(left, date) and not isinstance(left, datetime) and right % timedelta(days=1):
        left = as_moment(left)
    return left + right if op == "+" else left - right


def _divide(op: str, left: Any, right: Any, ansi: bool) -> Any:
    left, right = _numbers(left, right)
    if right == 0:
        if ansi:
            code = "REMAINDER_BY_ZERO" if op == "%" else "DIVIDE_BY_ZERO"
            raise MatchError(code, "division by zero", hint="NULLIF(divisor, 0) gives NULL instead")
        return None
    if op == "%":
        # The sign is the dividend's, as in Java.
        if isinstance(left, float):
            return math.fmod(left, right) if math.isfinite(left) else math.nan
        return left % right if isinstance(left, Decimal) else abs(left) % abs(right) * _sign(left)
    if op == "div":
        if isinstance(left, int):
            return _fit(abs(left) // abs(right) * _sign(left) * _sign(right), ansi)
        raise NotImplementedError("div of anything but integers")
    if isinstance(left, Decimal):
        with localcontext() as context:
            context.prec = 38  # Spark derives the scale from declared types, which values don't have
            return left / right
    return float(left) / float(right)


def _sign(value: int) -> int:
    return -1 if value < 0 else 1


def _join(values: Sequence[Any]) -> Any:
    if all(isinstance(value, list) for value in values):
        return [item for value in values for item in value]
    return "".join(_text(value) for value in values)


def _like(text: str, pattern: str, escape: str = "\\", *, ignore_case: bool) -> bool:
    wanted, position = "", 0
    while position < len(pattern):
        here = pattern[position]
        if here == escape and position + 1 < len(pattern):
            position += 1
            wanted += re.escape(pattern[position])
        else:
            wanted += {"%": ".*", "_": "."}.get(here, re.escape(here))
        position += 1
    return re.fullmatch(wanted, text, re.DOTALL | (re.IGNORECASE if ignore_case else 0)) is not None


_STRICT = frozenset(
    """abs upper ucase lower lcase length char_length len concat mod timestampdiff datediff date_diff timestampadd
    dateadd date_add""".split()
)
"""The functions below that give NULL for NULL."""


def call(name: str, values: Sequence[Any], ansi: bool) -> Any:
    """Calls a function that needs all its arguments. COALESCE, IF and the like aren't among them."""
    if name in ("greatest", "least"):
        return _furthest([value for value in values if value is not None], sign=1 if name == "greatest" else -1)
    match name, len(values):
        case "isnull", 1:
            return values[0] is None
        case "isnotnull", 1:
            return values[0] is not None
        case "nullif", 2:
            return None if operate("=", values, ansi) is True else values[0]
    if name in _STRICT and any(value is None for value in values):
        return None
    match name, len(values):
        case "abs", 1:
            return _fit(abs(values[0]), ansi)
        case "upper" | "ucase", 1:
            return _text(values[0]).upper()
        case "lower" | "lcase", 1:
            return _text(values[0]).lower()
        case "length" | "char_length" | "len", 1:
            return len(_text(values[0]))
        case "concat", _:
            return _join(values)
        case "mod", 2:
            return operate("%", values, ansi)
        case "datediff" | "date_diff", 2:
            return _units_between("DAY", as_moment(values[1]), as_moment(values[0]))
        case "timestampdiff" | "datediff" | "date_diff", 3:
            return _units_between(values[0], as_moment(values[1]), as_moment(values[2]))
        case "timestampadd" | "dateadd" | "date_add", 3:
            return _units_later(values[0], values[1], as_moment(values[2]))
        case _:
            raise NotImplementedError(f"function {name} with {len(values)} arguments")


_UNITS = {
    "MICROSECOND": timedelta(microseconds=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
    "WEEK": timedelta(weeks=1),
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _units_between(unit: str, start: datetime, end: datetime) -> int:
    """The whole units from one moment to the other."""
    if end < start:
        return -_units_between(unit, end, start)
    if unit in _UNITS:
        return (end - start) // _UNITS[unit]
    months = (end.year - start.year) * 12 + end.month - start.month
    if (end.day, end.time()) < (start.day, start.time()):
        months -= 1
    return months // _MONTHS[unit]


def _units_later(unit: str, count: int, moment: datetime) -> datetime:
    if unit in _UNITS:
        return moment + count * _UNITS[unit]
    year, month = divmod(moment.year * 12 + moment.month - 1 + count * _MONTHS[unit], 12)
    first = moment.replace(year=year, month=month + 1, day=1)
    length = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(moment.day, length.day))


def _furthest(values: Sequence[Any], sign: int) -> Any:
    best = None
    for value in values:
        if best is None or sign * compare(value, best) > 0:
            best = value
    return best


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value == 0 or 1e-3 <= abs(value) < 1e7:
            return repr(value)
        raise NotImplementedError(f"{value!r} as text")
    if isinstance(value, str | int | Decimal):
        return str(value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S") + (
            f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
        )
    if isinstance(value, date):
        return value.isoformat()
    raise NotImplementedError(f"{value!r} as text")


def cast(value: Any, type_text: str, attempt: bool, ansi: bool) -> Any:
    """CAST, and with `attempt` TRY_CAST; a value that doesn't fit is an error in ANSI mode, otherwise NULL.

    >>> cast("12", "int", attempt=False, ansi=True), cast("x", "int", attempt=True, ansi=True)
    (12, None)
    """
    if value is None:
        return None
    kind = re.sub(r"\s+", "", type_text.lower())
    try:
        return _cast(value, kind)
    except (ValueError, OverflowError, InvalidOperation):
        if ansi and not attempt:
            raise MatchError("CAST_INVALID_INPUT", f"{value!r} can't be cast to {type_text}") from None
        return None


def _cast(value: Any, kind: str) -> Any:
    if kind in _INTEGERS:
        return _cast_to_integer(value, _INTEGERS[kind])
    if kind in ("double", "float") and isinstance(value, str | int | float | Decimal):
        if kind == "float":
            raise NotImplementedError("single precision")
        return float(value)
    if kind == "string":
        return _text(value)
    if kind == "boolean" and not isinstance(value, date):
        return _truth(value) if isinstance(value, str) else bool(value)
    decimal = re.fullmatch(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,(\d+))?\))?", kind)
    if decimal:
        precision, scale = int(decimal[1] or 10), int(decimal[2] or 0)
        number = Decimal(str(value)) if isinstance(value, str | float) else Decimal(value)
        with localcontext() as context:
            context.prec = precision  # quantize fails when the digits don't fit
            return number.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP)
    if kind in ("date", "timestamp", "timestamp_ntz") and isinstance(value, str | date):
        moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else as_moment(value)
        return moment.date() if kind == "date" else moment
    raise NotImplementedError(f"cast of {value!r} to {kind}")


def _cast_to_integer(value: Any, bits: int) -> int:
    if isinstance(value, str | int | float | Decimal):
        number = int(Decimal(value.strip() if isinstance(value, str) else value).to_integral_value(ROUND_DOWN))
        if isinstance(value, str) and not re.fullmatch(r"[+-]?\d+", value.strip()):
            raise ValueError(value)
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise OverflowError(value)
        return number
    raise NotImplementedError(f"{value!r} as an integer")


def _truth(text: str) -> bool:
    truths = {"t": True, "true": True, "y": True, "yes": True, "1": True}
    truths |= {"f": False, "false": False, "n": False, "no": False, "0": False}
    if text.strip().lower() not in truths:
        raise ValueError(text)
    return truths[text.strip().lower()]
