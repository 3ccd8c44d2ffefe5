"""A literal as written -> its value with Spark's type."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.intervals import read_interval
from ostinato.expressions.syntax import Literal
from ostinato.expressions.types import Settings
from ostinato.expressions.values import text_values as text

_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_INTEGER_SUFFIXES = {"Y": t.INT8, "S": t.INT16, "L": t.INT64}


def literal_value(literal: Literal, settings: Settings = Settings()) -> pa.Scalar:
    """The value of the literal. A timestamp without a zone is in the zone of the settings.

    >>> literal_value(Literal("number", "1.50"))
    <pyarrow.Decimal128Scalar: Decimal('1.50')>
    >>> literal_value(Literal("string", r"'it''s a\\ttab'")).as_py()
    "it's a\\ttab"
    """
    try:
        return _READERS[literal.kind](literal.text.strip(), settings)
    except (ValueError, OverflowError, KeyError, pa.ArrowInvalid) as error:
        raise QueryError(
            "INVALID_LITERAL", f"{literal.text} isn't a valid {literal.kind}", span=literal.span
        ) from error


def string_text(written: str) -> str:
    """The value of a string as written: doubled quotes, backslash escapes, raw `r'...'`, several strings in a row."""
    pieces = re.findall(r"""[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*\"""", written, re.DOTALL)
    if not pieces or "".join("".join(pieces).split()) != "".join(written.split()):
        raise ValueError(written)
    return "".join(_unquoted(piece) for piece in pieces)


def _unquoted(piece: str) -> str:
    if piece[0] in "rR":
        return piece[2:-1]
    quote = piece[0]
    return _ESCAPE.sub(_escaped, piece[1:-1].replace(quote * 2, quote))


def _escaped(matched: re.Match[str]) -> str:
    code = matched[1]
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    if len(code) == 3:
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)


def _number(written: str, settings: Settings) -> pa.Scalar:
    matched = re.fullmatch(r"([+-]?\s*(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(BD|[YSLFD])?", written, re.I | re.ASCII)
    if not matched:
        raise ValueError(written)
    body, suffix = matched[1].replace(" ", ""), (matched[2] or "").upper()
    if suffix in _INTEGER_SUFFIXES:
        return pa.scalar(int(body), _INTEGER_SUFFIXES[suffix])
    if suffix in ("F", "D") or (not suffix and re.search("[eE]", body)):
        value = float(body)
        if np.isinf(value) or (suffix == "F" and np.isinf(np.float32(value))):
            raise ValueError(written)
        return pa.scalar(value, t.FLOAT if suffix == "F" else t.DOUBLE)
    if not suffix and "." not in body:
        number = int(body)
        for kind in (t.INT32, t.INT64):
            if -(1 << kind.bit_width - 1) <= number < 1 << kind.bit_width - 1:
                return pa.scalar(number, kind)
    return _decimal(Decimal(body))


def _decimal(value: Decimal) -> pa.Scalar:
    sign, digits, exponent = value.as_tuple()
    if abs(int(exponent)) > 2 * t.MAX_PRECISION:  # before any digit is written out
        raise ValueError(value)
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale, 1)
    spelled = Decimal((sign, (*digits, *(0,) * max(0, int(exponent))), -scale))  # exact; contexts round to 28 digits
    return pa.scalar(spelled, pa.decimal128(precision, scale))


def _quoted_text(written: str) -> str:
    return string_text(written[re.search("['\"]", written).start() :])  # type: ignore[union-attr]


def _string(written: str, settings: Settings) -> pa.Scalar:
    return pa.scalar(string_text(written), t.STRING)


def _binary(written: str, settings: Settings) -> pa.Scalar:
    digits = _quoted_text(written)
    return pa.scalar(bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")), t.BINARY)


def _date(written: str, settings: Settings) -> pa.Scalar:
    days = text.read_date(_quoted_text(written))
    if days is None:
        raise ValueError(written)
    return pa.scalar(days, t.INT32).cast(t.DATE)


def _timestamp(written: str, settings: Settings) -> pa.Scalar:
    micros = text.read_timestamp(_quoted_text(written), settings.timezone)
    return _moment(micros, settings.timestamp)


def _timestamp_ntz(written: str, settings: Settings) -> pa.Scalar:
    return _moment(text.read_timestamp_ntz(_quoted_text(written)), t.NTZ)


def _moment(micros: int | None, kind: pa.DataType) -> pa.Scalar:
    if micros is None:
        raise ValueError("no timestamp")
    return pa.scalar(micros, t.INT64).cast(t.NTZ if kind.tz is None else pa.timestamp("us", kind.tz))


def _interval(written: str, settings: Settings) -> pa.Scalar:
    interval = read_interval(written)
    if interval.months is not None:
        return pa.scalar(pa.MonthDayNano([interval.months, 0, 0]), t.MONTHS)
    return pa.scalar(interval.microseconds, t.INT64).cast(t.DURATION)


_READERS: dict[str, Any] = {
    "number": _number,
    "string": _string,
    "boolean": lambda written, settings: pa.scalar({"true": True, "false": False}[written.lower()]),
    "null": lambda written, settings: pa.scalar(None, t.NULL),
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ltz": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
    "interval": _interval,
    "binary": _binary,
    "unit": lambda written, settings: pa.scalar(written, t.STRING),
}
