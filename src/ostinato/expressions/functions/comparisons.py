"""= <> < <= > >= <=> IN BETWEEN. NaN equals itself and is greatest, -0.0 equals 0.0, NULL gives NULL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.expressions import types as t
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.nodes import FunctionRule, Kernel, Site, Typed, eager
from ostinato.expressions.values.decimals import aligned
from ostinato.expressions.values.value_order import comparable, group_numbers
from ostinato.expressions.values.vectors import Bools, Vector, both_valid, broadcast_length, to_arrow

_NUMPY = {"=": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
_ARROW = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
_PYTHON = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


DIFFERENCE_HINT = (
    "a difference of dates or times is an interval: compare it with INTERVAL '3' DAY, or take datediff(end, start)"
)

FEW_VALUES = 16
"""IN compares up to this many values one by one, and looks up more values together."""


def unify(site: Site, args: Sequence[Typed]) -> tuple[Typed, Typed]:
    """Both operands cast to the type in which Spark compares them."""
    left, right = fit_literals(args[0], args[1], site)
    kind = t.common_type(left.type, right.type, site.settings, comparing=True)
    if kind is None:
        raise site.mismatch(
            f"{t.spark_name(left.type)} and {t.spark_name(right.type)} don't compare with {site.name.upper()}",
            DIFFERENCE_HINT
            if _is_interval_with_number(left.type, right.type)
            else "cast one side to the type of the other",
        )
    if t.is_map(kind):
        raise site.mismatch("maps don't compare")
    if t.is_decimal(kind) and t.is_decimal(left.type) and t.is_decimal(right.type):
        return left, right  # compared exactly at any scale
    return implicit(left, kind, site.settings), implicit(right, kind, site.settings)


def _is_interval_with_number(*kinds: pa.DataType) -> bool:
    return any(kind in (t.DURATION, t.MONTHS) for kind in kinds) and any(map(t.is_numeric, kinds))


def fit_literals(left: Typed, right: Typed, site: Site) -> tuple[Typed, Typed]:
    """Beside a decimal, an integer becomes a decimal: a literal with its own digits, others with their type's."""

    def fit(node: Typed, other: Typed) -> Typed:
        if not (t.is_integral(node.type) and t.is_decimal(other.type)):
            return node
        if node.constant is not None and node.constant.valid is None:
            digits = len(str(abs(int(node.constant.values[0]))))
            return implicit(node, pa.decimal128(digits, 0), site.settings)
        return implicit(node, t.decimal_of(node.type), site.settings)

    return fit(left, right), fit(right, left)


def compare_values(op: str, left: Vector, right: Vector) -> Bools:
    """Compares the values. Results in rows with NULL mean nothing."""
    kind = left.type
    if t.is_float(kind):
        return _compare_floats(op, left.values, right.values)
    if t.is_decimal(kind):
        return _compare_decimals(op, left, right)
    if isinstance(left.values, np.ndarray):
        return np.asarray(_NUMPY[op](left.values, right.values))
    if t.is_nested(kind):
        return _compare_nested(op, left, right)
    return _compare_text(op, left, right)


def _compare_floats(op: str, left: Any, right: Any) -> Bools:
    result = np.asarray(_NUMPY[op](left, right))
    if op == "<":  # IEEE differs from Spark only where the right side is NaN and the left isn't
        return _or_where(result, right, lambda nan: nan & ~np.isnan(left))
    if op == ">":
        return _or_where(result, left, lambda nan: nan & ~np.isnan(right))
    if op == "<=":
        return _or_where(result, right, lambda nan: nan | result)
    if op == ">=":
        return _or_where(result, left, lambda nan: nan | result)
    return _or_where(result, left, lambda nan: nan & np.isnan(right))


def _or_where(result: Bools, side: Any, amend: Callable[[Bools], Bools]) -> Bools:
    """The result, corrected where the side is NaN. A cheap check says whether it has any NaN."""
    if len(side) == 1:
        return result | amend(np.isnan(side)) if side[0] != side[0] else result
    # np.dot would be a little faster, but its library has its own threads, which wait for one another when we slice.
    least = side.min(initial=0.0)
    if least == least:
        return result
    nan = np.isnan(side)
    return np.asarray(result | amend(nan)) if nan.any() else result


def _compare_decimals(op: str, left: Vector, right: Vector) -> Bools:
    one, two, _ = aligned(left, right)
    return np.asarray(_NUMPY[op](one, two), bool)


def _compare_text(op: str, left: Vector, right: Vector) -> Bools:
    one = left.values[0] if len(left) == 1 else left.values
    two = right.values[0] if len(right) == 1 else right.values
    result = _ARROW[op](one, two)
    if isinstance(result, pa.Scalar):
        return np.array([bool(result.as_py())])
    return np.asarray(pc.fill_null(result, False).to_numpy(zero_copy_only=False))


def _compare_nested(op: str, left: Vector, right: Vector) -> Bools:
    length = broadcast_length((left, right))
    one, two = left.expanded(length).to_list(), right.expanded(length).to_list()
    return np.array([_PYTHON[op](comparable(a), comparable(b)) for a, b in zip(one, two, strict=True)], bool)


# --- kernels and the table --------------------------------------------------------------------------------------------


def _comparison(op: str) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
        if left.type == t.NULL:
            return Vector(t.BOOL, np.zeros(1, bool), np.zeros(1, bool))
        valid = both_valid(left, right)
        if op == "<>":
            return _at_length(~compare_values("=", left, right), valid)
        return _at_length(compare_values(op, left, right), valid)

    return kernel


def _at_length(values: Bools, valid: Bools | None) -> Vector:
    if valid is not None and len(valid) != len(values):
        length = len(values) if len(valid) == 1 else len(valid)
        return Vector(t.BOOL, np.broadcast_to(values, length), np.broadcast_to(valid, length))
    return Vector(t.BOOL, values, valid)


def null_safe_equal(left: Vector, right: Vector) -> Bools:
    """<=>: NULL equals NULL and nothing else."""
    if left.type == t.NULL:
        return np.ones(1, bool)
    same = compare_values("=", left, right)
    if left.valid is None and right.valid is None:
        return same
    one, two = left.nulls(), right.nulls()
    return np.asarray(np.where(one | two, one & two, same))


def _null_safe(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    return Vector(t.BOOL, null_safe_equal(left, right))


def _distinct(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    return Vector(t.BOOL, ~null_safe_equal(left, right))


def _binary(kernel: Kernel) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return eager(site, t.BOOL, kernel, unify(site, args))

    return FunctionRule(2, 2, plan)


def any_of(terms: Sequence[Vector]) -> Vector:
    """Three-valued OR."""
    true, unknown = np.zeros(1, bool), None
    for term in terms:
        true = true | (term.values if term.valid is None else term.values & term.valid)
        if term.valid is not None:
            unknown = ~term.valid if unknown is None else unknown | ~term.valid
    if unknown is None:
        return Vector(t.BOOL, true)
    return _at_length(true, true | ~unknown)


def _in(site: Site, args: Sequence[Typed]) -> Typed:
    kind = t.common_of_all([arg.type for arg in args], site.settings)
    if kind is None or t.is_map(kind):
        raise site.mismatch("the values of IN have types that don't compare: " + type_list(args))
    cast = [implicit(arg, kind, site.settings) for arg in args]
    constants = [arg.constant for arg in cast[1:] if arg.constant is not None]
    if kind in (t.NULL, t.MONTHS) or len(constants) <= FEW_VALUES:
        listed, computed = None, cast[1:]
    else:
        listed = pa.concat_arrays([to_arrow(vector) for vector in constants])
        computed = [arg for arg in cast[1:] if arg.constant is None]

    def kernel(site: Site, kind: pa.DataType, value: Vector, *options: Vector) -> Vector:
        same = _comparison("=")
        terms = [same(site, t.BOOL, value, option) for option in options]
        return any_of(terms if listed is None else [_is_listed(value, listed), *terms])

    return eager(site, t.BOOL, kernel, (cast[0], *computed))


def _is_listed(value: Vector, listed: pa.Array) -> Vector:
    """Whether each value is one of many constants. NULL for a NULL value, or if none is equal and one is NULL."""
    numbers = group_numbers(len(listed) + len(value), [pa.concat_arrays([listed, to_arrow(value)])])
    constants, values = numbers[: len(listed)], numbers[len(listed) :]
    not_null = constants[np.asarray(listed.is_valid())] if listed.null_count else constants
    is_in = np.isin(values, not_null)
    valid = value.valid
    if listed.null_count:
        valid = is_in if valid is None else is_in & valid
    return Vector(t.BOOL, is_in, valid)


def _between(site: Site, args: Sequence[Typed]) -> Typed:
    value, low, high = args
    above = COMPARISONS[">="].plan(Site(">=", site.settings, site.span), (value, low))
    below = COMPARISONS["<="].plan(Site("<=", site.settings, site.span), (value, high))

    def kernel(site: Site, kind: pa.DataType, one: Vector, two: Vector) -> Vector:
        return invert(any_of([invert(one), invert(two)]))

    return eager(site, t.BOOL, kernel, (above, below))


def invert(vector: Vector) -> Vector:
    """Three-valued NOT."""
    return Vector(t.BOOL, ~vector.values, vector.valid)


def type_list(args: Sequence[Typed]) -> str:
    return ", ".join(t.spark_name(arg.type) for arg in args)


COMPARISONS: dict[str, FunctionRule] = {
    **{op: _binary(_comparison(op)) for op in ("=", "<>", "<", "<=", ">", ">=")},
    "<=>": _binary(_null_safe),
    "is distinct from": _binary(_distinct),
    "in": FunctionRule(2, None, _in),
    "between": FunctionRule(3, 3, _between),
}
