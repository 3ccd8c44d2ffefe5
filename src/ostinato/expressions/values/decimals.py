"""Arrays of decimals as unscaled integers: changing the scale, rounding half up, checking the number of digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.expressions.nodes import Site, checked
from ostinato.expressions.types import storage_dtype
from ostinato.expressions.values.vectors import Bools, Vector

Numbers = npt.NDArray[Any]
_SAFE_DIGITS = 18
"""Numbers of up to this many digits fit int64 with room to spare."""


def rescaled(numbers: Numbers, digits: int, old_scale: int, new_scale: int) -> Numbers:
    """The numbers at another scale, rounded half up. They have at most `digits` digits."""
    if new_scale == old_scale:
        return numbers
    if new_scale > old_scale:
        wide = numbers if digits + new_scale - old_scale <= _SAFE_DIGITS else numbers.astype(object)
        return np.asarray(wide * 10 ** (new_scale - old_scale))
    return divided_half_up(numbers, 10 ** (old_scale - new_scale))


def aligned(left: Vector, right: Vector) -> tuple[Numbers, Numbers, int]:
    """The numbers of both at the larger scale, and that scale. They are int64 where a sum of them surely fits."""
    scale = max(left.type.scale, right.type.scale)
    one, two = (rescaled(side.values, side.type.precision, side.type.scale, scale) for side in (left, right))
    return one, two, scale


def divided_half_up(numbers: Numbers, by: int) -> Numbers:
    """The numbers divided by a positive integer, rounded half away from zero."""
    if by >= 10**_SAFE_DIGITS:
        numbers = numbers.astype(object)
    size = np.abs(numbers)
    quotient = size // by
    quotient = quotient + ((size - quotient * by) * 2 >= by).astype(quotient.dtype)
    return np.asarray(np.where(numbers < 0, -quotient, quotient))


def fitted(site: Site, kind: pa.DataType, numbers: Numbers, valid: Bools | None) -> Vector:
    """A vector of the decimal type. A number with too many digits is an error, or NULL without ANSI."""
    limit = 10**kind.precision
    if numbers.dtype == object or kind.precision <= _SAFE_DIGITS:
        too_long = np.asarray(np.abs(numbers) >= limit, bool)
        valid = checked(site, too_long, valid, "NUMERIC_VALUE_OUT_OF_RANGE", f"a value needs more digits than {kind}")
        if too_long.any():
            numbers = np.where(too_long, 0, numbers)
    return Vector(kind, numbers.astype(storage_dtype(kind), copy=False), valid)


def as_double(vector: Vector) -> npt.NDArray[np.float64]:
    """The nearest doubles."""
    scale = vector.type.scale
    if vector.values.dtype == np.int64 and scale <= 22 and vector.type.precision <= 15:
        return np.asarray(vector.values / 10.0**scale)  # both exact, so one rounding
    return np.array([int(number) / 10**scale for number in vector.values], np.float64)


def truncated(vector: Vector) -> Numbers:
    """The integers, rounded towards zero."""
    size = np.abs(vector.values) // 10**vector.type.scale
    return np.asarray(np.where(vector.values < 0, -size, size))
