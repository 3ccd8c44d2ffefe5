"""Arithmetic of conditions over the run, by Spark's rules: whole numbers that notice overflow, NaN that is greatest.

Functions check for overflow before they compute: compiled signed arithmetic may assume that there is none, and drop a
later check. Results that may have to wrap around are computed unsigned, where wrapping is defined.
"""

from __future__ import annotations

import math

import numpy as np

from ostinato.expressions.run_conditions.opcodes import MATH_FUNCTIONS
from ostinato.kernels.kernel_cache import inline_kernel

LARGEST = np.int64(2**63 - 1)
SMALLEST = np.int64(-(2**63))
LN, LOG10 = MATH_FUNCTIONS.index("ln"), MATH_FUNCTIONS.index("log10")


@inline_kernel
def real_less(left, right):  # type: ignore[no-untyped-def]
    return left < right or (right != right and left == left)


@inline_kernel
def real_equal(left, right):  # type: ignore[no-untyped-def]
    return left == right or (left != left and right != right)


@inline_kernel
def fits(value, bits):  # type: ignore[no-untyped-def]
    """Whether a whole number fits in a narrower type than int64."""
    if bits == 64:
        return True
    limit = np.int64(1) << np.int64(bits - 1)
    return -limit <= value < limit


@inline_kernel
def wrapped(value, bits):  # type: ignore[no-untyped-def]
    """The value as a type of so many bits keeps it without overflow checks."""
    if bits == 64:
        return value
    shift = np.int64(64 - bits)
    return (value << shift) >> shift


@inline_kernel
def math_function(number, value):  # type: ignore[no-untyped-def]
    """Function `number` of MATH_FUNCTIONS; NaN outside its domain, as in Spark. `run_code` makes ln and log10 NULL."""
    if number == 0:
        return math.sqrt(value) if value >= 0 else np.nan
    if number == 1:
        return math.exp(value)
    if number == 2:
        return math.log(value)
    if number == 3:
        return math.log10(value)
    if number == 4:
        return math.sin(value)
    if number == 5:
        return math.cos(value)
    if number == 6:
        return math.tan(value)
    if number == 7:
        return math.asin(value) if -1 <= value <= 1 else np.nan
    if number == 8:
        return math.acos(value) if -1 <= value <= 1 else np.nan
    return math.atan(value)


@inline_kernel
def add_whole(left, right):  # type: ignore[no-untyped-def]
    """The sum (wrapped around if it must be), and whether it left int64."""
    bad = (right > 0 and left > LARGEST - right) or (right < 0 and left < SMALLEST - right)
    return np.int64(np.uint64(left) + np.uint64(right)), bad


@inline_kernel
def subtract_whole(left, right):  # type: ignore[no-untyped-def]
    """The difference (wrapped around if it must be), and whether it left int64."""
    bad = (right < 0 and left > LARGEST + right) or (right > 0 and left < SMALLEST + right)
    return np.int64(np.uint64(left) - np.uint64(right)), bad


@inline_kernel
def multiply_whole(left, right):  # type: ignore[no-untyped-def]
    """The product (wrapped around if it must be), and whether it left int64."""
    product = np.int64(np.uint64(left) * np.uint64(right))
    if left == 0 or right == 0:
        return product, False
    if left == SMALLEST or right == SMALLEST:
        return product, left != 1 and right != 1
    one, two = abs(left), abs(right)
    if (left < 0) == (right < 0):
        return product, one > LARGEST // two
    # A negative product may reach one further down than a positive one up.
    return product, one > LARGEST // two and not (one - 1 == LARGEST // two and LARGEST % two == two - 1)


@inline_kernel
def divide_whole(left, right):  # type: ignore[no-untyped-def]
    """The quotient towards zero, and whether it left int64; right isn't 0."""
    if right == -1:
        return np.int64(np.uint64(0) - np.uint64(left)), left == SMALLEST
    quotient = left // right
    if left % right != 0 and (left < 0) != (right < 0):
        quotient += 1
    return quotient, False


@inline_kernel
def modulo_whole(left, right):  # type: ignore[no-untyped-def]
    """The remainder of division towards zero; right isn't 0."""
    if right == -1:
        return np.int64(0), False
    rest = left % right
    if rest != 0 and (left < 0) != (right < 0):
        rest -= right
    return rest, False


@inline_kernel
def average_whole(total, count, factor):  # type: ignore[no-untyped-def]
    """total * factor / count, rounded half away from zero, and whether it left int64."""
    doubled, bad = multiply_whole(total, factor * 2)
    if bad or doubled == SMALLEST:
        return np.int64(0), True
    half = (abs(doubled) // count + 1) // 2
    return (half if total >= 0 else -half), False
