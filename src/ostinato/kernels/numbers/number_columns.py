"""Counts and sums of any size: arrays by sequence -> arrays by group -> Arrow columns.

Exact numbers are object arrays of Python integers. Those of decimals are unscaled; callers pass their `scale`.
Approximate numbers are `Extended`: arrays of mantissas and exponents.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.kernels.numbers.python_numbers import LOG10_OF_2, Extended, decimal_text, extended

MAX_DIGITS = 38
_LIMIT = 10**MAX_DIGITS

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class NumberForm(enum.Enum):
    """The form of counts and sums in results."""

    DECIMAL = "decimal"
    """DECIMAL(38, s), an error where a number doesn't fit; approximate numbers as DOUBLE."""
    TEXT = "text"
    """All digits, as text; sums of doubles as DOUBLE."""
    LOG10 = "log10"
    """Their logarithm, as DOUBLE; a count of 0 is -Infinity, a sum of 0 is NULL, a negative sum is an error."""


DescribeRow = Callable[[int], str]
"""Describes row i of a result for error messages: its query, group and window."""


# --- several sequences -> one group -----------------------------------------------------------------------------------


def exact_sums(numbers: NDArray[np.object_], group: Ints, groups: int) -> NDArray[np.object_]:
    """The sum of the numbers of each group; 0 where it has none.

    >>> exact_sums(np.array([1, 10**40, 3], object), np.array([1, 0, 1]), 3).tolist()
    [10000000000000000000000000000000000000000, 4, 0]
    """
    sums = np.zeros(groups, object)
    np.add.at(sums, group, numbers)
    return sums


def approximate_sums(numbers: Extended, group: Ints, groups: int) -> Extended:
    """The same for approximate numbers. All numbers of a group get its largest exponent before they are added."""
    mantissa, exponent = np.frexp(numbers.mantissa)
    exponent = np.where(mantissa == 0, np.iinfo(np.int64).min // 2, exponent + numbers.exponent)
    largest = np.full(groups, np.iinfo(np.int64).min // 2, np.int64)
    np.maximum.at(largest, group, exponent)
    sums = np.zeros(groups)
    shift = np.maximum(exponent - largest[group], -2_000)  # the smallest double is 2**-1074
    np.add.at(sums, group, np.ldexp(mantissa, shift.astype(np.int32)))
    return Extended(sums, np.where(sums == 0, 0, largest))


def extremes(
    values: NDArray[Any], present: Bools, group: Ints, groups: int, *, largest: bool
) -> tuple[NDArray[Any], Bools]:
    """The smallest or largest value of each group, and whether it has any. NaN is larger than every number."""
    extreme = np.zeros(groups, values.dtype)
    has_any = np.zeros(groups, np.bool_)
    values, group = values[present], group[present]
    order = np.lexsort((values, group))  # NaN sorts last
    group = group[order]
    differs = group[1:] != group[:-1]
    edge = np.concatenate((differs, [True]) if largest else ([True], differs))[: len(group)]
    extreme[group[edge]] = values[order][edge]
    has_any[group] = True
    return extreme, has_any


def any_present(present: Bools, group: Ints, groups: int) -> Bools:
    """Whether a group has any row in which a value is present."""
    has_any = np.zeros(groups, np.bool_)
    has_any[group[present]] = True
    return has_any


def conjunction_counts(
    one: NDArray[np.object_], other: NDArray[np.object_], both: NDArray[np.object_]
) -> NDArray[np.object_]:
    """Counts unordered pairs of distinct matches: one match of each pattern, where `both` counts matches of both.

    >>> conjunction_counts(np.array([4], object), np.array([5], object), np.array([2], object)).tolist()
    [17]
    """
    only_one, only_other = one - both, other - both
    pairs: NDArray[np.object_] = only_one * only_other + (only_one + only_other) * both + both * (both - 1) // 2
    return pairs


def approximate_conjunction_counts(one: Extended, other: Extended, both: Extended) -> Extended:
    """The same for approximate counts."""
    group = np.arange(len(one.mantissa))

    def total(*terms: Extended) -> Extended:
        together = Extended(*(np.concatenate(column) for column in zip(*terms, strict=True)))
        return approximate_sums(together, np.tile(group, len(terms)), len(group))

    def times(left: Extended, right: Extended, factor: float = 1.0) -> Extended:
        (left_mantissa, left_exponent), (right_mantissa, right_exponent) = _normal(left), _normal(right)
        return Extended(factor * left_mantissa * right_mantissa, left_exponent + right_exponent)

    less = Extended(-both.mantissa, both.exponent)
    only_one, only_other = total(one, less), total(other, less)
    pairs = total(times(both, both, 0.5), Extended(-0.5 * both.mantissa, both.exponent))
    return total(times(only_one, only_other), times(total(only_one, only_other), both), pairs)


def _normal(numbers: Extended) -> Extended:
    mantissa, exponent = np.frexp(numbers.mantissa)
    return Extended(mantissa, exponent + numbers.exponent)


# --- numbers -> Arrow -------------------------------------------------------------------------------------------------


def exact_column(
    numbers: NDArray[np.object_],
    present: Bools | None,
    form: NumberForm,
    describe_row: DescribeRow,
    *,
    scale: int = 0,
    is_count: bool = False,
) -> pa.Array:
    """Exact counts or sums as a column. `present` False: NULL. Raises NUMBER_TOO_LARGE and NEGATIVE_LOGARITHM."""
    match form:
        case NumberForm.DECIMAL:
            return _decimals(numbers, present, scale, describe_row)
        case NumberForm.TEXT:
            texts = [decimal_text(int(number), scale) for number in numbers]
            return pa.array(texts, pa.string(), mask=None if present is None else ~present)
        case NumberForm.LOG10:
            _refuse_negative((numbers < 0).astype(np.bool_), present, describe_row)
            sizes = [math.log10(int(number)) - scale if number > 0 else -math.inf for number in numbers]
            return _log_column(np.array(sizes, np.float64), present, is_count)


def approximate_column(
    numbers: Extended,
    present: Bools | None,
    form: NumberForm,
    describe_row: DescribeRow,
    *,
    scale: int = 0,
    is_count: bool = False,
) -> pa.Array:
    """Extended counts or sums, or sums of doubles, as a column of DOUBLE.

    Raises NUMBER_TOO_LARGE and NEGATIVE_LOGARITHM.
    """
    mantissa, exponent = _normal(numbers)
    if form is NumberForm.LOG10:
        if not is_count:  # a rounded difference of counts may lie below 0
            _refuse_negative(mantissa < 0, present, describe_row)
        with np.errstate(divide="ignore"):
            return _log_column(np.log10(np.abs(mantissa)) + exponent * LOG10_OF_2 - scale, present, is_count)
    with np.errstate(over="ignore"):
        values = np.ldexp(mantissa, np.clip(exponent, -3_000, 3_000).astype(np.int32))
    lost = np.isinf(values) & np.isfinite(mantissa)
    if present is not None:
        lost &= present
    if lost.any():
        raise _too_large(describe_row(int(np.flatnonzero(lost)[0])), 'numbers="log10" gives their logarithms')
    return pa.array(values / 10.0**scale if scale else values, mask=None if present is None else ~present)


def _refuse_negative(negative: Bools, present: Bools | None, describe_row: DescribeRow) -> None:
    """Raises an error for a negative sum: it has no logarithm, and NULL would look like an empty sum."""
    if present is not None:
        negative = negative & present
    if negative.any():
        where = describe_row(int(np.flatnonzero(negative)[0]))
        raise MatchError(
            "NEGATIVE_LOGARITHM",
            f'a sum of {where} is negative, and numbers="log10" can\'t show that',
            hint='numbers="text" and numbers="decimal" give sums with their sign',
        )


def _log_column(sizes: Floats, present: Bools | None, is_count: bool) -> pa.Array:
    missing = np.zeros(len(sizes), np.bool_) if present is None else ~present
    if not is_count:
        missing = missing | np.isneginf(sizes)
    return pa.array(sizes, mask=missing)


def average_column(total: NDArray[np.object_], number: NDArray[np.object_], *, scale: int = 0) -> pa.Array:
    """AVG of exact sums as DOUBLE, rounded once; NULL where nothing was counted."""
    unit = 10**scale
    return pa.array([int(t) / (int(n) * unit) if n else None for t, n in zip(total, number, strict=True)], pa.float64())


def approximate_average_column(total: Extended, number: Extended, *, scale: int = 0) -> pa.Array:
    """AVG of approximate sums, or of sums of doubles, as DOUBLE."""
    (above, above_exponent), (below, below_exponent) = _normal(total), _normal(number)
    missing = below == 0
    quotient = above / np.where(missing, 1.0, below)
    shift = np.clip(above_exponent - below_exponent, -3_000, 3_000).astype(np.int32)
    with np.errstate(over="ignore"):
        return pa.array(np.ldexp(quotient, shift) / 10.0**scale, mask=missing)


def approximate_of(numbers: NDArray[Any]) -> Extended:
    """Exact integers or doubles as approximate numbers."""
    if numbers.dtype == object:
        return extended(numbers)
    return Extended(numbers.astype(np.float64), np.zeros(len(numbers), np.int64))


def value_column(values: NDArray[Any], present: Bools, kind: pa.DataType) -> pa.Array:
    """MIN or MAX as a column of the value's own type; decimals come unscaled, dates as days."""
    mask = ~present
    if pa.types.is_decimal(kind):
        return decimal_array(np.where(present, values, 0).astype(np.int64), present, kind)
    if pa.types.is_date32(kind):
        return pa.array(values.astype(np.int32), mask=mask).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array(values.astype(kind.to_pandas_dtype()), mask=mask)
    return pa.array(values.astype(np.int64), mask=mask).cast(kind)


def _decimals(numbers: NDArray[np.object_], present: Bools | None, scale: int, describe_row: DescribeRow) -> pa.Array:
    present_numbers: NDArray[Any] = numbers if present is None else np.where(present, numbers, 0)
    try:
        present_numbers = present_numbers.astype(np.int64)
    except OverflowError:
        for i, number in enumerate(present_numbers):
            if not -_LIMIT < number < _LIMIT:
                hint = 'numbers="text" gives all digits, numbers="log10" the logarithm, approximate=True doubles'
                raise _too_large(describe_row(i), hint) from None
    return decimal_array(present_numbers, present, pa.decimal128(MAX_DIGITS, scale))


def decimal_array(unscaled: NDArray[Any], valid: Bools | None, kind: pa.DataType) -> pa.Array:
    """Decimals from their unscaled integers, which are int64 or Python integers; NULL where not `valid`."""
    words = np.empty((len(unscaled), 2), np.uint64)
    if unscaled.dtype == np.int64:
        words[:, 0], words[:, 1] = unscaled.view(np.uint64), (unscaled >> 63).view(np.uint64)
    elif len(unscaled):
        words[:, 0] = (unscaled & 0xFFFF_FFFF_FFFF_FFFF).astype(np.uint64)
        words[:, 1] = (unscaled >> 64).astype(np.int64).view(np.uint64)
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(unscaled), [bitmap, pa.py_buffer(words)])


def _too_large(where: str, hint: str) -> MatchError:
    return MatchError("NUMBER_TOO_LARGE", f"a number of {where} doesn't fit its column", hint=hint)
