"""A type and constants -> values of the type, with at least one in each region that comparisons can tell apart.

The regions are those below, between and above the constants, the constants themselves, NULL, and NaN. Each constant
comes with its neighbours in the type, so an open region between two constants has a value here, unless it is empty.
Returns None where that can't be promised: for types without neighbours, and for comparisons that round the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
import pyarrow as pa

from ostinato.errors import OstinatoError
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Expr, Literal, Operator
from ostinato.expressions.types import Settings

_EXACT_FOR_FLOATS = 1 << 20
"""Whole numbers up to here, and their neighbours, are exact in every floating type."""
_LARGEST_CONSTANT = 10**18
_LONGEST_FRACTION = 10
_MOST_DIGITS = 38
"""Of the common type of a comparison of decimals. With more digits, Spark rounds."""
_FLOAT_STEPS = 3
_WIDE = Context(prec=60)


def critical_values(kind: pa.DataType, constants: Sequence[Expr], settings: Settings) -> pa.Array | None:
    """Values of the type for comparisons with these constants.

    >>> from ostinato.expressions.syntax import Literal
    >>> critical_values(pa.int8(), [Literal("number", "1.5")], Settings()).to_pylist()
    [None, -128, 127, 0, 1, 2, 3]
    """
    try:
        values = [_constant(expr, settings) for expr in constants if not _is_null(expr)]
        if kind == t.BOOL:
            points: list[object] | None = [True, False] if all(isinstance(value, bool) for value, _ in values) else None
        elif t.is_integral(kind):
            points = _whole_numbers(kind, values)
        elif t.is_decimal(kind):
            points = _decimals(kind, values)
        elif t.is_float(kind):
            points = _floats(kind, values)
        elif kind == t.STRING:
            points = _texts(values)
        elif kind == t.DATE or kind == pa.timestamp("us"):
            points = _times(kind, constants, settings)
        else:
            points = None
        return None if points is None else pa.array([None, *dict.fromkeys(points)], kind)
    except (OstinatoError, pa.ArrowException, ArithmeticError, ValueError):
        return None


_Constant = tuple[object, pa.DataType]


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.kind == "null"


def _constant(expr: Expr, settings: Settings) -> _Constant:
    array = evaluate(expr, lambda node: None, 1, settings)
    return array[0].as_py(), array.type


def _numbers(values: Iterable[_Constant], *, allows_floats: bool) -> list[Decimal] | None:
    """The constants as exact numbers; None if one of them isn't a number that a comparison leaves exact."""
    numbers = []
    for value, kind in values:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return None
        number = Decimal(value)
        if t.is_float(kind) and not (allows_floats and number.is_finite() and abs(number) <= _EXACT_FOR_FLOATS):
            return None
        if t.is_decimal(kind) and kind.scale > _LONGEST_FRACTION:
            return None
        if abs(number) > _LARGEST_CONSTANT:
            return None
        numbers.append(number)
    return numbers


def _whole_numbers(kind: pa.DataType, values: Sequence[_Constant]) -> list[object] | None:
    numbers = _numbers(values, allows_floats=True)
    if numbers is None:
        return None
    bits = kind.bit_width
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    near = [
        int(number.to_integral_value(ROUND_FLOOR, _WIDE)) + step for number in sorted(numbers) for step in (-1, 0, 1, 2)
    ]
    return [least, most, *(value for value in near if least <= value <= most)]


def _decimals(kind: pa.DataType, values: Sequence[_Constant]) -> list[object] | None:
    numbers = _numbers(values, allows_floats=False)
    common = max(kind.precision - kind.scale, len(str(_LARGEST_CONSTANT))) + max(kind.scale, _LONGEST_FRACTION)
    if numbers is None or common > _MOST_DIGITS:
        return None
    unit = Decimal(1).scaleb(-kind.scale)
    most = (Decimal(10) ** kind.precision - 1) * unit
    near = [
        number.quantize(unit, rounding, _WIDE) + step * unit
        for number in numbers
        for rounding in (ROUND_FLOOR, ROUND_CEILING)
        for step in (-1, 0, 1)
    ]
    return [-most, most, *(value for value in near if -most <= value <= most)]


def _floats(kind: pa.DataType, values: Sequence[_Constant]) -> list[object] | None:
    if not all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value, _ in values):
        return None
    number = np.float32 if kind == t.FLOAT else np.float64
    points = [number(-np.inf), number(np.inf), number(np.nan)]
    for value, _ in values:
        with np.errstate(over="ignore"):
            point = number(float(value))  # type: ignore[arg-type]
        points.append(point)
        for limit in (number(-np.inf), number(np.inf)):
            step = point
            for _ in range(_FLOAT_STEPS):
                step = np.nextafter(step, limit)
                points.append(step)
    return [float(point) for point in points]


def _texts(values: Sequence[_Constant]) -> list[object] | None:
    """The text after another one in the order of bytes has one more character, the smallest."""
    if not all(isinstance(value, str) for value, _ in values):
        return None
    return ["", *(point for value, _ in values for point in (str(value), f"{value}\0"))]


def _times(kind: pa.DataType, constants: Sequence[Expr], settings: Settings) -> list[object] | None:
    """Dates and local times. Constants of another kind of time would be converted by the zone of the session."""
    own = "date" if kind == t.DATE else "timestamp_ntz"
    step = timedelta(days=1) if kind == t.DATE else timedelta(microseconds=1)
    points: list[object] = [date(1, 1, 1), date(9999, 12, 31)]
    if kind != t.DATE:
        points = [datetime(1, 1, 1), datetime(9999, 12, 31)]
    for expr in constants:
        if _is_null(expr):
            continue
        if isinstance(expr, Operator) or not isinstance(expr, Literal) or expr.kind not in (own, "string"):
            return None
        value = evaluate(Cast(expr, t.spark_name(kind)), lambda node: None, 1, settings)[0].as_py()
        points += [value - step, value, value + step]
    return points
