"""Counts and sums of any size: those of several sequences made one, and as Arrow columns.

Exact numbers are object arrays of Python integers; those of decimals are unscaled, with their `scale` apart.
Extended ones are mantissa * 2 ** exponent, both as arrays. No engine and no plan here: plain arrays in and out.
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
from ostinato.kernels.numbers.python_numbers import Extended, extended

MAX_DIGITS = 38
_LIMIT = 10**MAX_DIGITS
_LOG10_OF_2 = math.log10(2)

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class NumberForm(enum.Enum):
    """How counts and sums are given."""

    DECIMAL = "decimal"
    """DECIMAL(38, s), an error where one doesn't fit; approximate ones as DOUBLE."""
    TEXT = "text"
    """All digits, as text; sums of doubles as DOUBLE."""
    LOG10 = "log10"
    """Their logarithm, as DOUBLE; a count of 0 is -Infinity, a sum of 0 is NULL, a negative sum is an error."""


Place = Callable[[int], str]
"""The words that say where row i of a result belongs: its query, group and window."""


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
    """The same for approximate numbers: all of a group are brought to its largest exponent first."""
    mantissa, exponent = np.frexp(numbers.mantissa)
    exponent = np.where(mantissa == 0, np.iinfo(np.int64).min // 2, exponent + numbers.exponent)
    largest = np.full(groups, np.iinfo(np.int64).min // 2, np.int64)
    np.maximum.at(largest, group, exponent)
    sums = np.zeros(groups)
    shift = np.maximum(exponent - largest[group], -2_000)  # further below, nothing is left of a double
    np.add.at(sums, group, np.ldexp(mantissa, shift.astype(np.int32)))
    return Extended(sums, np.where(sums == 0, 0, largest))


def extremes(
    values: NDArray[Any], present: Bools, group: Ints, groups: int, *, largest: bool
) -> tuple[NDArray[Any], Bools]:
    """The smallest or largest value of each group, and whether it has any. NaN is larger than every number."""
    found = np.zeros(groups, values.dtype)
    has_any = np.zeros(groups, np.bool_)
    values, group = values[present], group[present]
    order = np.lexsort((values, group))  # NaN sorts last
    group = group[order]
    edge = (
        np.concatenate((group[1:] != group[:-1], [True]))
        if largest
        else np.concatenate(([True], group[1:] != group[:-1]))
    )
    edge = edge[: len(group)]
    found[group[edge]] = values[order][edge]
    has_any[group] = True
    return found, has_any


def any_present(present: Bools, group: Ints, groups: int) -> Bools:
    """Whether a group has any row in which a value is present."""
    found = np.zeros(groups, np.bool_)
    found[group[present]] = True
    return found


def conjunction_counts(
    one: NDArray[np.object_], other: NDArray[np.object_], both: NDArray[np.object_]
) -> NDArray[np.object_]:
    """The unordered pairs of distinct matches, one of each part, where `both` are matches of both parts.

    >>> conjunction_counts(np.array([4], object), np.array([5], object), np.array([2], object)).tolist()
    [17]
    """
    only_one, only_other = one - both, other - both
    pairs: NDArray[np.object_] = only_one * only_other + (only_one + only_other) * both + both * (both - 1) // 2
    return pairs


def approximate_conjunction_counts(one: Extended, other: Extended, both: Extended) -> Extended:
    """The same for approximate counts."""
    group = np.arange(len(one.mantissa))

    def total(*parts: Extended) -> Extended:
        together = Extended(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return approximate_sums(together, np.tile(group, len(parts)), len(group))

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
    place: Place,
    *,
    scale: int = 0,
    is_count: bool = False,
) -> pa.Array:
    """Exact counts or sums as a column. `present` False: NULL. Raises NUMBER_TOO_LARGE and NEGATIVE_LOGARITHM."""
    match form:
        case NumberForm.DECIMAL:
            return _decimals(numbers, present, scale, place)
        case NumberForm.TEXT:
            texts = [_digits(int(number), scale) for number in numbers]
            return pa.array(texts, pa.string(), mask=None if present is None else ~present)
        case NumberForm.LOG10:
            _refuse_negative((numbers < 0).astype(np.bool_), present, place)
            sizes = [math.log10(int(number)) - scale if number > 0 else -math.inf for number in numbers]
            return _log_column(np.array(sizes, np.float64), present, is_count)


def approximate_column(
    numbers: Extended,
    present: Bools | None,
    form: NumberForm,
    place: Place,
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
            _refuse_negative(mantissa < 0, present, place)
        with np.errstate(divide="ignore"):
            return _log_column(np.log10(np.abs(mantissa)) + exponent * _LOG10_OF_2 - scale, present, is_count)
    with np.errstate(over="ignore"):
        values = np.ldexp(mantissa, np.clip(exponent, -3_000, 3_000).astype(np.int32))
    lost = np.isinf(values) & np.isfinite(mantissa)
    if present is not None:
        lost &= present
    if lost.any():
        raise _too_large(place(int(np.flatnonzero(lost)[0])), 'numbers="log10" gives their logarithms')
    return pa.array(values / 10.0**scale if scale else values, mask=None if present is None else ~present)


def _refuse_negative(negative: Bools, present: Bools | None, place: Place) -> None:
    """A logarithm can't say that a sum is below 0, and NULL would look like a sum of nothing."""
    if present is not None:
        negative = negative & present
    if negative.any():
        raise MatchError(
            "NEGATIVE_LOGARITHM",
            f'a sum of {place(int(np.flatnonzero(negative)[0]))} is negative, and numbers="log10" can\'t show that',
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
        words = np.where(present, values, 0).astype(np.int64)
        return _decimal_array(words, words >> 63, present, kind)
    if pa.types.is_date32(kind):
        return pa.array(values.astype(np.int32), mask=mask).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array(values.astype(kind.to_pandas_dtype()), mask=mask)
    return pa.array(values.astype(np.int64), mask=mask).cast(kind)


def _decimals(numbers: NDArray[np.object_], present: Bools | None, scale: int, place: Place) -> pa.Array:
    kind = pa.decimal128(MAX_DIGITS, scale)
    kept = numbers if present is None else np.where(present, numbers, 0)
    try:
        low = kept.astype(np.int64)
        return _decimal_array(low, low >> 63, present, kind)
    except OverflowError:
        pass
    for i, number in enumerate(kept):
        if not -_LIMIT < number < _LIMIT:
            raise _too_large(
                place(i), 'numbers="text" gives all digits, numbers="log10" the logarithm, approximate=True doubles'
            )
    low = np.array([int(number) & 0xFFFF_FFFF_FFFF_FFFF for number in kept], np.uint64).view(np.int64)
    return _decimal_array(low, np.array([int(number) >> 64 for number in kept], np.int64), present, kind)


def _decimal_array(low: Ints, high: Ints, present: Bools | None, kind: pa.DataType) -> pa.Array:
    """Decimals from the two halves of their unscaled integers."""
    words = np.column_stack((low, high)).astype("<i8")
    valid = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little").tobytes())
    return pa.Array.from_buffers(kind, len(low), [valid, pa.py_buffer(words.tobytes())])


def _digits(number: int, scale: int) -> str:
    """All digits of an unscaled integer, with its decimal point."""
    text = _all_digits(abs(number)).rjust(scale + 1, "0")
    whole = text if not scale else f"{text[:-scale]}.{text[-scale:]}"
    return f"-{whole}" if number < 0 else whole


def _all_digits(number: int) -> str:
    """Python refuses texts of very long integers (a guard against hostile input); halves keep it quick, too."""
    if number.bit_length() < 10_000:
        return str(number)
    digits = int(number.bit_length() * _LOG10_OF_2) // 2
    high, low = divmod(number, 10**digits)
    return _all_digits(high) + _all_digits(low).rjust(digits, "0")


def _too_large(where: str, hint: str) -> MatchError:
    return MatchError("NUMBER_TOO_LARGE", f"a number of {where} doesn't fit its column", hint=hint)
