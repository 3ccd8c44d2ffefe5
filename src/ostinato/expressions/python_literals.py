"""A Python value -> the expression for it: a literal of Spark's type, never text that a parser reads as more."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ostinato.calls.options import shown
from ostinato.errors import QueryError
from ostinato.expressions.syntax import Call, Cast, Expr, Literal, Operator, string_literal

MAX_DIGITS = 38
_INT64 = range(-(1 << 63), 1 << 63)
_KINDS = "numbers, text, bytes, bool, date, datetime, timedelta, Decimal, None, and lists and dicts of them"


def python_literal(value: Any) -> Expr:
    """The expression whose value this is. Raises INVALID_PARAMETER for values without a literal.

    >>> from ostinato.expressions.render import render_expression
    >>> [render_expression(python_literal(value)) for value in (5, -1.5, "it's", None, [True])]
    ['5', '(- 1.5D)', "'it\\\\'s'", 'NULL', 'array(TRUE)']
    """
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():  # a number or time of numpy
        value = value.item()
    match value:
        case None:
            return Literal("null", "NULL")
        case bool():
            return Literal("boolean", str(value).upper())
        case int() | float() | Decimal():
            return _number(value)
        case str():
            return _text(value)
        case bytes() | bytearray():
            return Literal("binary", f"X'{value.hex()}'")
        case datetime.date():
            return _day_or_time(value)
        case datetime.timedelta():
            return _interval(value)
        case list() | tuple():
            return Call("array", tuple(python_literal(item) for item in value))
        case Mapping():
            pairs = (python_literal(item) for pair in value.items() for item in pair)
            return Call("map", tuple(pairs))
    raise _refused(value)


def _number(value: int | float | Decimal) -> Expr:
    if isinstance(value, float):
        if not math.isfinite(value):
            return Cast(Literal("string", f"'{value}'"), "DOUBLE")
        text = f"{abs(value)!r}D"
        is_negative = math.copysign(1, value) < 0
    elif isinstance(value, int):
        text = f"{abs(value)}" if value in _INT64 else f"{abs(value)}BD"
        is_negative = value < 0
    else:
        text = f"{abs(value):f}BD" if value.is_finite() else ""
        is_negative = value.is_signed()
    if not text or (text.endswith("BD") and sum(map(str.isdigit, text)) > MAX_DIGITS):
        raise _refused(value)
    literal = Literal("number", text)
    return Operator("neg", (literal,)) if is_negative else literal


def _text(value: str) -> Expr:
    """`$` is written as a code: Spark would put values of settings in place of `${name}`, also inside literals."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _refused(value) from None
    literal = string_literal(str(value))
    return Literal("string", re.sub(r"[\x00-\x1f$]", lambda matched: f"\\u{ord(matched[0]):04x}", literal.text))


def _day_or_time(value: datetime.date) -> Expr:
    """A datetime without a zone is in the session's time zone."""
    if value != value:  # NaT
        raise _refused(value)
    if not isinstance(value, datetime.datetime):
        return Literal("date", f"DATE '{value.isoformat()}'")
    kind = "TIMESTAMP" if value.utcoffset() is None else "TIMESTAMP_LTZ"
    try:
        moment = value if kind == "TIMESTAMP" else value.astimezone(datetime.UTC)
    except OverflowError:
        raise _refused(value) from None
    return Literal(kind.lower(), f"{kind} '{moment.isoformat(sep=' ', timespec='microseconds')}'")


def _interval(value: datetime.timedelta) -> Expr:
    length = abs(value)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours:02d}:{minutes:02d}:{seconds:02d}.{length.microseconds:06d}"
    sign = "-" if value < datetime.timedelta() else ""
    return Literal("interval", f"INTERVAL '{sign}{length.days} {clock}' DAY TO SECOND")


def _refused(value: Any) -> QueryError:
    hint = f"values are {_KINDS}"
    return QueryError("INVALID_PARAMETER", f"no SQL literal stands for {shown(value)}", hint=hint)
