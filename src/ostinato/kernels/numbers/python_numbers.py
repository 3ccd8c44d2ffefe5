"""Python's integers as exact numbers: converted to text, and to doubles with an extended exponent. No kernels here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

REAL_BITS = 1074
"""Every finite double is a multiple of 2**-1074. Sums of such multiples are exact, so their order doesn't matter."""

NOTHING, SOME, INFINITE, MINUS_INFINITE, NOT_A_NUMBER = 0, 1, 2, 4, 8
"""Flags for the kinds of values in a sum."""

LOG10_OF_2 = math.log10(2)


class Extended(NamedTuple):
    """Approximate numbers, mantissa * 2 ** exponent: beyond the range of a double."""

    mantissa: NDArray[np.float64]
    exponent: NDArray[np.int64]


def as_objects(integers: Sequence[int]) -> NDArray[np.object_]:
    """Python integers as an array."""
    array = np.empty(len(integers), object)
    array[:] = integers
    return array


def extended(integers: Iterable[int], below: int = 0) -> Extended:
    """Integers times 2**-below, each rounded once to a double with an exponent."""
    mantissas, exponents = [], []
    for integer in integers:
        size = abs(int(integer))
        dropped_bits = max(size.bit_length() - 64, 0)
        # The last bit stands for all dropped bits, so that rounding to a double is right.
        leading = (size >> dropped_bits) | (1 if size & ((1 << dropped_bits) - 1) else 0)
        mantissas.append(float(leading) if integer >= 0 else -float(leading))
        exponents.append(dropped_bits - below if integer else 0)
    return Extended(np.array(mantissas, np.float64), np.array(exponents, np.int64))


def as_multiple(value: float) -> tuple[int, int]:
    """A double as a multiple of 2**-1074, and its flags. NaN and infinities have flags only."""
    if math.isnan(value):
        return 0, SOME | NOT_A_NUMBER
    if math.isinf(value):
        return 0, SOME | (INFINITE if value > 0 else MINUS_INFINITE)
    mantissa, exponent = math.frexp(value)
    shift = exponent - 53 + REAL_BITS
    integer = int(math.ldexp(mantissa, 53))
    return (integer << shift if shift >= 0 else integer >> -shift), SOME


def real_sums(multiples: Sequence[int], flags: Sequence[int]) -> Extended:
    """Sums of doubles, given as multiples of 2**-1074 and the flags of their values."""
    flag = np.array(flags, np.int64)
    special = (flag & NOT_A_NUMBER != 0, flag & INFINITE != 0, flag & MINUS_INFINITE != 0)
    return with_not_finite(extended(multiples, REAL_BITS), *special)


def decimal_text(unscaled: int, scale: int) -> str:
    """All digits of an unscaled integer, with its decimal point.

    >>> decimal_text(-5, 2), decimal_text(1234, 1)
    ('-0.05', '123.4')
    """
    digits = _digits(abs(unscaled)).rjust(scale + 1, "0")
    number = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{number}" if unscaled < 0 else number


def _digits(number: int) -> str:
    """Python refuses to write very long integers, a guard against hostile input. Halving them is also faster."""
    if number.bit_length() < 10_000:
        return str(number)
    digits = int(number.bit_length() * LOG10_OF_2) // 2
    high, low = divmod(number, 10**digits)
    return _digits(high) + _digits(low).rjust(digits, "0")


def with_not_finite(
    sums: Extended, nan: NDArray[np.bool_], infinite: NDArray[np.bool_], minus_infinite: NDArray[np.bool_]
) -> Extended:
    """Sums of finite doubles, replaced by NaN or an infinity in the rows where such a value was added."""
    value = np.where(nan | (infinite & minus_infinite), np.nan, np.where(infinite, np.inf, -np.inf))
    replaced = nan | infinite | minus_infinite
    return Extended(np.where(replaced, value, sums.mantissa), np.where(replaced, 0, sums.exponent))
