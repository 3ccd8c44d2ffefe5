"""+ - * / % div and the bitwise operators on numbers, with Spark's result types and overflow rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.functions.comparisons import fit_literals, type_list
from ostinato.expressions.nodes import FunctionRule, Kernel, Site, Typed, checked, eager, fail_where, strict
from ostinato.expressions.values.decimals import aligned, divided_half_up, fitted, rescaled
from ostinato.expressions.values.vectors import Bools, Vector, both_valid, nulls_of

Operation = Callable[[Any, Any], Any]


def numeric_operands(site: Site, args: Sequence[Typed]) -> tuple[Typed, Typed]:
    """Both operands as numbers of one type, or as two decimals."""
    left, right = fit_literals(args[0], args[1], site)
    left, right = _unstring(left, right, site), _unstring(right, left, site)
    if left.type == t.NULL and right.type == t.NULL:
        left = right = implicit(left, t.DOUBLE, site.settings)
    left = implicit(left, right.type, site.settings) if left.type == t.NULL else left
    right = implicit(right, left.type, site.settings) if right.type == t.NULL else right
    if not (t.is_numeric(left.type) and t.is_numeric(right.type)):
        raise site.mismatch(f"{site.name.upper()} doesn't take {type_list(args)}")
    left, right = fit_literals(left, right, site)
    if t.is_decimal(left.type) and t.is_decimal(right.type):
        return left, right
    kind = t.wider_numeric(left.type, right.type, site.settings.ansi)
    return implicit(left, kind, site.settings), implicit(right, kind, site.settings)


def _unstring(node: Typed, other: Typed, site: Site) -> Typed:
    """A string as a number: BIGINT beside an integer under ANSI, otherwise DOUBLE."""
    if node.type != t.STRING:
        return node
    kind = t.INT64 if site.settings.ansi and t.is_integral(other.type) else t.DOUBLE
    return implicit(node, kind, site.settings)


def overflow(site: Site, kind: pa.DataType) -> Callable[[], Any]:
    return lambda: site.fault(
        "ARITHMETIC_OVERFLOW", f"{site.name} left the range of {t.spark_name(kind)}", "cast an operand to a wider type"
    )


def _integers(op: Operation, overflowed: Callable[[Any, Any, Any], Bools]) -> Kernel:
    """Two's complement arithmetic; under ANSI, overflow is an error."""

    def kernel(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
        valid = both_valid(left, right)
        with np.errstate(over="ignore"):
            values = op(left.values, right.values)
            if site.settings.ansi and not _surely_fits(op, left.values, right.values):
                fail_where(overflowed(left.values, right.values, values), valid, overflow(site, kind))
        return Vector(kind, values, valid)

    return strict(kernel)


def _surely_fits(op: Operation, left: Any, right: Any) -> bool:
    """Whether the smallest and largest operands show that no row overflows: cheaper than a check of every row."""
    if not len(left) or not len(right):
        return True
    ends = [[int(side.min()), int(side.max())] for side in (left, right)]
    corners = [int(op(one, two)) for one in map(_exact, ends[0]) for two in map(_exact, ends[1])]
    info = np.iinfo(left.dtype)
    return min(corners) >= info.min and max(corners) <= info.max


def _exact(number: int) -> Any:
    return np.array(number, object)  # numpy's operators on Python integers, which don't overflow


def _product_overflow(left: Any, right: Any, product: Any) -> Bools:
    if product.dtype != np.int64:
        wide = left.astype(np.int64) * right.astype(np.int64)
        return np.asarray(wide != product)
    near = np.abs(left.astype(np.float64) * right.astype(np.float64)) > 2.0**62
    if not near.any():
        return np.zeros(1, bool)
    one, two = np.broadcast_to(left, near.shape)[near], np.broadcast_to(right, near.shape)[near]
    bad = near.copy()
    exact = one.astype(object) * two.astype(object)
    bad[near] = np.array([not -(2**63) <= number < 2**63 for number in exact], bool)
    return np.asarray(bad)


def _floats(op: Operation) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
        with np.errstate(all="ignore"):
            return Vector(kind, op(left.values, right.values), both_valid(left, right))

    return strict(kernel)


INTEGER_OPS = {
    "+": _integers(np.add, lambda a, b, c: ((a ^ c) & (b ^ c)) < 0),
    "-": _integers(np.subtract, lambda a, b, c: ((a ^ b) & (a ^ c)) < 0),
    "*": _integers(np.multiply, _product_overflow),
}
_FLOAT_OPS = {"+": _floats(np.add), "-": _floats(np.subtract), "*": _floats(np.multiply)}


def decimal_result(op: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of an operation on two decimals.

    >>> decimal_result("/", pa.decimal128(10, 2), pa.decimal128(5, 1))
    Decimal128Type(decimal128(17, 8))
    """
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    scale = max(s1, s2)
    if op in ("+", "-"):
        return t.adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if op == "*":
        return t.adjusted(p1 + p2 + 1, s1 + s2)
    if op == "/":
        scale = max(6, s1 + p2 + 1)
        return t.adjusted(p1 - s1 + s2 + scale, scale)
    return t.adjusted(min(p1 - s1, p2 - s2) + scale, scale)


def _decimal_sum(op: Operation) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
        one, two, scale = aligned(left, right)
        return fitted(site, kind, rescaled(op(one, two), 38, scale, kind.scale), both_valid(left, right))

    return strict(kernel)


def _decimal_product(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    small = left.type.precision + right.type.precision <= 18
    one, two = (left.values, right.values) if small else (left.values.astype(object), right.values.astype(object))
    numbers = rescaled(one * two, 77, left.type.scale + right.type.scale, kind.scale)
    return fitted(site, kind, numbers, both_valid(left, right))


def _decimal_quotient(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    valid, divisor = _divisor(site, left, right)
    numerator = left.values.astype(object) * 10 ** (38 + right.type.scale - left.type.scale)
    size, by = np.abs(numerator), np.abs(divisor.astype(object))
    quotient = size // by
    quotient = quotient + ((size - quotient * by) * 2 >= by)
    quotient = np.where((numerator < 0) != (divisor < 0), -quotient, quotient)
    return fitted(site, kind, divided_half_up(quotient, 10 ** (38 - kind.scale)), valid)


def _divisor(site: Site, left: Vector, right: Vector) -> tuple[Bools | None, Any]:
    """The validity, and the divisors with 1 in place of 0. Zero is an error, or NULL without ANSI."""
    zero = np.asarray(right.values == 0, bool)
    valid = checked(site, zero, both_valid(left, right), "DIVIDE_BY_ZERO", f"{site.name} by zero")
    return valid, np.where(zero, 1, right.values) if zero.any() else right.values


def _float_quotient(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    valid, divisor = _divisor(site, left, right)
    with np.errstate(all="ignore"):
        return Vector(kind, left.values / divisor, valid)


def _remainder(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    valid, divisor = _divisor(site, left, right)
    with np.errstate(all="ignore"):
        if not t.is_decimal(kind):
            if t.is_integral(kind):
                divisor = np.where(divisor == -1, 1, divisor).astype(divisor.dtype)  # MIN % -1 traps
            return Vector(kind, np.fmod(left.values, divisor).astype(kind.to_pandas_dtype(), copy=False), valid)
    one, two, scale = aligned(left, Vector(right.type, divisor))
    return fitted(site, kind, rescaled(_rest(one, two), 38, scale, kind.scale), valid)


def _rest(one: Any, two: Any) -> Any:
    """The remainder of whole numbers of any size, with the sign of the dividend."""
    size = np.abs(one) % np.abs(two)
    return np.where(one < 0, -size, size)


def _positive_remainder(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    """pmod: adds the divisor to a negative remainder, then takes the remainder again."""
    if not t.is_decimal(kind):
        rest = _remainder(site, kind, left, right)
        dtype = rest.values.dtype
        wide = np.promote_types(dtype, np.int32) if t.is_integral(kind) else dtype  # Java adds small numbers as int
        with np.errstate(all="ignore"):
            lifted = np.fmod(rest.values.astype(wide) + right.values, right.values)
        return Vector(kind, np.where(rest.values < 0, lifted, rest.values).astype(dtype), rest.valid)
    valid, divisor = _divisor(site, left, right)
    one, two, scale = aligned(left, Vector(right.type, divisor))
    remainder = _rest(one, two)
    lifted = np.where(remainder < 0, _rest(remainder + two, two), remainder)
    return fitted(site, kind, rescaled(lifted, 38, scale, kind.scale), valid)


def _whole_quotient(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    valid, divisor = _divisor(site, left, right)
    if t.is_decimal(left.type):
        one, two, _ = aligned(left, Vector(right.type, divisor))
        size = np.abs(one) // np.abs(two)
        quotient = np.where((one < 0) != (two < 0), -size, size)
        if quotient.dtype == object:  # Spark keeps the low 64 bits, with ANSI too
            quotient = (quotient & 0xFFFFFFFFFFFFFFFF).astype(np.uint64).astype(np.int64)
        return Vector(kind, quotient, valid)
    values = left.values
    least = (values == np.iinfo(np.int64).min) & (divisor == -1)
    if site.settings.ansi:
        fail_where(least, valid, overflow(site, kind))
    with np.errstate(all="ignore"):
        quotient = values // divisor
        quotient = quotient + ((quotient < 0) & (quotient * divisor != values))
    return Vector(kind, np.where(least, values, quotient), valid)


def _planned(op: str, integers: Kernel, floats: Kernel, decimals: Kernel) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        left, right = numeric_operands(site, args)
        if t.is_decimal(left.type):
            return eager(site, decimal_result(op, left.type, right.type), decimals, (left, right))
        return eager(site, left.type, integers if t.is_integral(left.type) else floats, (left, right))

    return FunctionRule(2, 2, plan)


def _plan_quotient(site: Site, args: Sequence[Typed]) -> Typed:
    left, right = numeric_operands(site, args)
    if t.is_decimal(left.type):
        kind = decimal_result("/", left.type, right.type)
        return eager(site, kind, strict(_decimal_quotient), (left, right))
    both = [implicit(side, t.DOUBLE, site.settings) for side in (left, right)]
    return eager(site, t.DOUBLE, strict(_float_quotient), both)


def _plan_whole_quotient(site: Site, args: Sequence[Typed]) -> Typed:
    left, right = numeric_operands(site, args)
    if t.is_float(left.type):
        raise site.mismatch(f"div doesn't take {type_list(args)}", "cast the operands to BIGINT")
    if not t.is_decimal(left.type):
        left, right = (implicit(side, t.INT64, site.settings) for side in (left, right))
    return eager(site, t.INT64, strict(_whole_quotient), (left, right))


# --- one operand ------------------------------------------------------------------------------------------------------


def negated(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    """-x. The smallest integer has no opposite: an error under ANSI."""
    values = vector.values
    if site.settings.ansi and (t.is_integral(kind) or kind in (t.DURATION, t.MONTHS)):
        fail_where(values == np.iinfo(values.dtype).min, vector.valid, overflow(site, kind))
    with np.errstate(over="ignore"):
        return Vector(kind, -values, vector.valid)


def _unary(kernel: Kernel) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        (arg,) = args
        if arg.type in (t.STRING, t.NULL):
            arg = implicit(arg, t.DOUBLE, site.settings)
        if not (t.is_numeric(arg.type) or arg.type in (t.DURATION, t.MONTHS)):
            raise site.mismatch(f"{site.name} doesn't take {t.spark_name(arg.type)}")
        return eager(site, arg.type, strict(kernel), (arg,))

    return FunctionRule(1, 1, plan)


# --- bits -------------------------------------------------------------------------------------------------------------


def _bits(op: Operation) -> FunctionRule:
    def kernel(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
        return Vector(kind, op(left.values, right.values), both_valid(left, right))

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        kinds = [arg.type for arg in args if arg.type != t.NULL] or [t.INT32]
        kind = max(kinds, key=lambda one: one.bit_width) if all(map(t.is_integral, kinds)) else None
        if kind is None:
            raise site.mismatch(f"{site.name} doesn't take {type_list(args)}")
        return eager(site, kind, strict(kernel), [implicit(arg, kind, site.settings) for arg in args])

    return FunctionRule(2, 2, plan)


def _invert_bits(site: Site, args: Sequence[Typed]) -> Typed:
    (arg,) = args
    if arg.type == t.NULL:
        return Typed(t.INT32, lambda frame: nulls_of(t.INT32))
    if not t.is_integral(arg.type):
        raise site.mismatch(f"~ doesn't take {t.spark_name(arg.type)}")
    return eager(site, arg.type, lambda site, kind, vector: Vector(kind, ~vector.values, vector.valid), args)


def _shift(direction: str) -> FunctionRule:
    def kernel(site: Site, kind: pa.DataType, value: Vector, by: Vector) -> Vector:
        bits = kind.bit_width
        count = (by.values % bits).astype(value.values.dtype)  # Java looks at the low bits of the count only
        if direction == "<<":
            shifted = value.values << count
        elif direction == ">>":
            shifted = value.values >> count
        else:
            shifted = (value.values.view(f"u{bits // 8}") >> count.view(f"u{bits // 8}")).view(f"i{bits // 8}")
        return Vector(kind, shifted, both_valid(value, by))

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        value, by = args
        if not all(t.is_integral(arg.type) or arg.type == t.NULL for arg in args):
            raise site.mismatch(f"{site.name} doesn't take {type_list(args)}")
        kind = t.INT64 if value.type == t.INT64 else t.INT32
        both = (implicit(value, kind, site.settings), implicit(by, t.INT32, site.settings))
        return eager(site, kind, strict(kernel), both)

    return FunctionRule(2, 2, plan)


ARITHMETIC: dict[str, FunctionRule] = {
    "+": _planned("+", INTEGER_OPS["+"], _FLOAT_OPS["+"], _decimal_sum(np.add)),
    "-": _planned("-", INTEGER_OPS["-"], _FLOAT_OPS["-"], _decimal_sum(np.subtract)),
    "*": _planned("*", INTEGER_OPS["*"], _FLOAT_OPS["*"], strict(_decimal_product)),
    "%": _planned("%", strict(_remainder), strict(_remainder), strict(_remainder)),
    "/": FunctionRule(2, 2, _plan_quotient),
    "div": FunctionRule(2, 2, _plan_whole_quotient),
    "neg": _unary(negated),
    "pos": _unary(lambda site, kind, vector: vector),
    "&": _bits(np.bitwise_and),
    "|": _bits(np.bitwise_or),
    "^": _bits(np.bitwise_xor),
    "~": FunctionRule(1, 1, _invert_bits),
    "<<": _shift("<<"),
    ">>": _shift(">>"),
    ">>>": _shift(">>>"),
}
POSITIVE_REMAINDER = _planned("%", *[strict(_positive_remainder)] * 3)
