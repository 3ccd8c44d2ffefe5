"""Functions on numbers, with Spark's result types and Java's results for special values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.functions.arithmetic import ARITHMETIC, POSITIVE_REMAINDER, overflow
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.nodes import FunctionRule, Site, Typed, eager, fail_where, strict
from ostinato.expressions.values.decimals import divided_half_up, fitted
from ostinato.expressions.values.vectors import Vector, both_valid, nulls_of

Doubles = Any


def numeric(site: Site, node: Typed) -> Typed:
    """The argument as a number: text is read as a double."""
    if node.type in (t.STRING, t.NULL):
        return implicit(node, t.DOUBLE, site.settings)
    if not t.is_numeric(node.type):
        raise site.mismatch(f"{site.name} needs a number, not {t.spark_name(node.type)}")
    return node


def as_int(site: Site, node: Typed) -> Typed:
    """The argument as an INT."""
    if node.type not in (t.NULL, t.STRING) and not t.is_integral(node.type):
        raise site.mismatch(f"{site.name} needs a whole number, not {t.spark_name(node.type)}")
    return implicit(node, t.INT32, site.settings)


def _of_doubles(compute: Callable[..., Doubles], arity: int = 1) -> FunctionRule:
    """A function from doubles to a double. Outside its domain it is NaN, as in Java."""

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        with np.errstate(all="ignore"):
            return Vector(kind, compute(*[vector.values for vector in vectors]), both_valid(*vectors))

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        doubles = [implicit(numeric(site, arg), t.DOUBLE, site.settings) for arg in args]
        return eager(site, t.DOUBLE, strict(kernel), doubles)

    return FunctionRule(arity, arity, plan)


def _logarithm(compute: Callable[[Doubles], Doubles], least: float = 0.0) -> FunctionRule:
    """A logarithm. In Spark it is NULL outside its domain."""

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        outside = vector.values <= least
        valid = both_valid(vector, Vector(t.BOOL, outside, ~outside)) if outside.any() else vector.valid
        with np.errstate(all="ignore"):
            return Vector(kind, compute(vector.values), valid)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return eager(site, t.DOUBLE, strict(kernel), [implicit(numeric(site, args[0]), t.DOUBLE, site.settings)])

    return FunctionRule(1, 1, plan)


def _log(site: Site, args: Sequence[Typed]) -> Typed:
    """log(x), the natural logarithm, or log(base, x)."""
    if len(args) == 1:
        return _logarithm(np.log).plan(site, args)

    def kernel(site: Site, kind: pa.DataType, base: Vector, value: Vector) -> Vector:
        outside = (base.values <= 0) | (value.values <= 0)
        valid = both_valid(base, value, Vector(t.BOOL, outside, ~outside))
        with np.errstate(all="ignore"):
            return Vector(kind, np.log(value.values) / np.log(base.values), valid)

    doubles = [implicit(numeric(site, arg), t.DOUBLE, site.settings) for arg in args]
    return eager(site, t.DOUBLE, strict(kernel), doubles)


def _power(base: Doubles, exponent: Doubles) -> Doubles:
    result = np.power(base, exponent)
    odd = (np.abs(base) == 1) & np.isinf(exponent) | (base == 1) & np.isnan(exponent)  # C says 1, Java NaN
    return np.where(odd, np.nan, result)


# --- abs, sign, rounding ----------------------------------------------------------------------------------------------


def _abs(site: Site, args: Sequence[Typed]) -> Typed:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        values = vector.values
        if site.settings.ansi and (t.is_integral(kind) or kind == t.DURATION):
            fail_where(values == np.iinfo(values.dtype).min, vector.valid, overflow(site, kind))
        return Vector(kind, np.abs(values), vector.valid)

    node = args[0] if args[0].type == t.DURATION else numeric(site, args[0])
    return eager(site, node.type, strict(kernel), (node,))


def _floor_or_ceil(down: bool) -> FunctionRule:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        if t.is_decimal(vector.type):
            by = 10**vector.type.scale
            numbers = vector.values // by if down else -(-vector.values // by)
            return fitted(site, kind, np.asarray(numbers), vector.valid)
        if t.is_integral(vector.type):
            return Vector(kind, vector.values.astype(np.int64), vector.valid)
        rounded = np.floor(vector.values) if down else np.ceil(vector.values)
        inside = (rounded >= -(2.0**63)) & (rounded < 2.0**63)
        if site.settings.ansi:
            fail_where(~inside & ~np.isnan(rounded), vector.valid, overflow(site, kind))
        result = np.where(inside, rounded, 0.0).astype(np.int64)
        result = np.where(rounded >= 2.0**63, np.iinfo(np.int64).max, result)  # Java saturates; NaN is 0
        return Vector(kind, np.where(rounded < -(2.0**63), np.iinfo(np.int64).min, result), vector.valid)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        node = numeric(site, args[0])
        if not t.is_decimal(node.type):
            if node.type == t.FLOAT:
                node = implicit(node, t.DOUBLE, site.settings)
            return eager(site, t.INT64, strict(kernel), (node,))
        return eager(site, t.bounded(node.type.precision - node.type.scale + 1, 0), strict(kernel), (node,))

    return FunctionRule(1, 1, plan)


MAX_PLACES = 325
"""No double has a digit further from the decimal point."""


def _decimal_places(site: Site, args: Sequence[Typed]) -> int | None:
    """The second argument of ROUND, which has to be a constant; None if it is NULL."""
    if len(args) < 2:
        return 0
    node = implicit(args[1], t.INT32, site.settings) if t.is_integral(args[1].type) or args[1].type == t.NULL else None
    if node is None or node.constant is None:
        raise site.mismatch(f"the digits of {site.name} have to be a whole constant")
    return None if node.constant.valid is not None else int(node.constant.values[0])


def _rounding(half_even: bool) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        node, places = numeric(site, args[0]), _decimal_places(site, args)
        if places is None:
            return Typed(node.type, lambda frame: nulls_of(node.type), span=site.span)
        places = min(max(places, -MAX_PLACES), MAX_PLACES)
        if t.is_decimal(node.type):
            return _round_decimal(site, node, places, half_even)

        def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
            if t.is_integral(kind):
                return _round_integers(site, kind, vector, places, half_even)
            return Vector(kind, _round_floats(vector.values, places, half_even, kind == t.FLOAT), vector.valid)

        return eager(site, node.type, strict(kernel), (node,))

    return FunctionRule(1, 2, plan)


def _round_decimal(site: Site, node: Typed, places: int, half_even: bool) -> Typed:
    precision, scale = node.type.precision, node.type.scale
    whole_digits = precision - scale + 1
    if places < 0:
        kind = t.bounded(max(whole_digits, -places + 1), 0)
    else:
        kind = t.bounded(whole_digits + min(scale, places), min(scale, places))

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        drop = scale - places
        if drop <= 0:
            return fitted(site, kind, vector.values, vector.valid)
        numbers = _divided(vector.values.astype(object), 10**drop, half_even)
        return fitted(site, kind, numbers * 10 ** max(0, -places), vector.valid)

    return eager(site, kind, strict(kernel), (node,))


def _divided(numbers: Any, by: int, half_even: bool) -> Any:
    if not half_even:
        return divided_half_up(numbers, by)
    quotient = numbers // by
    rest = (numbers - quotient * by) * 2
    up = (rest > by) | ((rest == by) & (quotient % 2 == 1))
    return quotient + up.astype(quotient.dtype)


def _round_integers(site: Site, kind: pa.DataType, vector: Vector, places: int, half_even: bool) -> Vector:
    if places >= 0:
        return vector
    unit = 10 ** min(-places, 20)
    numbers = _divided(vector.values.astype(object), unit, half_even) * unit
    info = np.iinfo(vector.values.dtype)
    bad = np.asarray((numbers < info.min) | (numbers > info.max), bool)
    if site.settings.ansi:
        fail_where(bad, vector.valid, overflow(site, kind))
    wrapped = (numbers & 0xFFFFFFFFFFFFFFFF).astype(np.uint64).astype(info.dtype)
    return Vector(kind, wrapped, vector.valid)


def _round_floats(values: Any, places: int, half_even: bool, single: bool) -> Any:
    """Rounds the decimal digits that the number prints as, like Java's BigDecimal.valueOf."""
    mode = ROUND_HALF_EVEN if half_even else ROUND_HALF_UP
    unit = Decimal(1).scaleb(-places)
    result = values.copy()
    with localcontext() as context:
        context.prec = 700
        for row, value in enumerate(values):
            if math.isfinite(value):
                digits = Decimal(str(np.float32(value)) if single else repr(float(value)))
                result[row] = float(digits.quantize(unit, mode)) + 0.0
    return result


def _sign(values: Doubles) -> Doubles:
    return np.where(values == 0, values, np.sign(values))  # -0.0 keeps its sign


MATH: dict[str, FunctionRule] = {
    "abs": FunctionRule(1, 1, _abs),
    "round": _rounding(half_even=False),
    "bround": _rounding(half_even=True),
    "floor": _floor_or_ceil(down=True),
    "ceil": _floor_or_ceil(down=False),
    "ceiling": _floor_or_ceil(down=False),
    "sqrt": _of_doubles(np.sqrt),
    "cbrt": _of_doubles(np.cbrt),
    "exp": _of_doubles(np.exp),
    "expm1": _of_doubles(np.expm1),
    "ln": _logarithm(np.log),
    "log": FunctionRule(1, 2, _log),
    "log10": _logarithm(np.log10),
    "log2": _logarithm(lambda values: np.log(values) / np.log(2.0)),
    "log1p": _logarithm(np.log1p, least=-1.0),
    "pow": _of_doubles(_power, 2),
    "power": _of_doubles(_power, 2),
    "sign": _of_doubles(_sign),
    "signum": _of_doubles(_sign),
    "mod": ARITHMETIC["%"],
    "pmod": POSITIVE_REMAINDER,
    "negative": ARITHMETIC["neg"],
    "positive": ARITHMETIC["pos"],
    "sin": _of_doubles(np.sin),
    "cos": _of_doubles(np.cos),
    "tan": _of_doubles(np.tan),
    "asin": _of_doubles(np.arcsin),
    "acos": _of_doubles(np.arccos),
    "atan": _of_doubles(np.arctan),
    "atan2": _of_doubles(lambda y, x: np.arctan2(y + 0.0, x + 0.0), 2),
    "sinh": _of_doubles(np.sinh),
    "cosh": _of_doubles(np.cosh),
    "tanh": _of_doubles(np.tanh),
    "hypot": _of_doubles(np.hypot, 2),
    "radians": _of_doubles(np.radians),
    "degrees": _of_doubles(np.degrees),
    "pi": FunctionRule(0, 0, lambda site, args: Typed(t.DOUBLE, lambda frame: Vector(t.DOUBLE, np.array([math.pi])))),
    "e": FunctionRule(0, 0, lambda site, args: Typed(t.DOUBLE, lambda frame: Vector(t.DOUBLE, np.array([math.e])))),
    "shiftleft": ARITHMETIC["<<"],
    "shiftright": ARITHMETIC[">>"],
    "shiftrightunsigned": ARITHMETIC[">>>"],
}
