"""Doubles with an extended exponent: correct beyond the range of doubles, and the same bits within it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.kernels.kernel_cache import borrowing_kernel, interpreted
from ostinato.kernels.numbers.wide_numbers import below, is_sound, plus, scaled, times, widened


def wide(mantissa: float, exponent: int = 0) -> complex:
    return complex(widened(np.array([mantissa]))[0]) + exponent * 1j


def exact(number: complex) -> Fraction:
    return Fraction(number.real) * Fraction(2) ** (512 * int(number.imag))


@borrowing_kernel
def compute(numbers, results):  # type: ignore[no-untyped-def]
    results[0] = plus(numbers[0], numbers[1])
    results[1] = times(numbers[0], numbers[1])
    results[2] = scaled(numbers[0], 3.0)
    results[3] = numbers[0] if below(numbers[0], numbers[1]) else numbers[1]
    return is_sound(numbers[0])


doubles = st.floats(allow_nan=False, allow_infinity=False, min_value=0)
wides = st.builds(wide, doubles, st.integers(-2, 2)).filter(lambda number: number.real != 0)


@pytest.mark.kernel
@given(wides, wides)
def test_wide_numbers_are_right_to_the_last_digits(a: complex, b: complex) -> None:
    results = np.zeros(4, np.complex128)
    assert compute(np.array([a, b]), results)
    wanted = [exact(a) + exact(b), exact(a) * exact(b), exact(a) * 3, min(exact(a), exact(b))]
    for result, right in zip(results, wanted, strict=True):
        assert abs(exact(complex(result)) - right) <= right * Fraction(1, 1 << 52)


@pytest.mark.kernel
@given(*[st.floats(2.0**-400, 2.0**400)] * 2)
def test_both_kinds_give_the_same_bits(a: float, b: float) -> None:
    narrow, broad = np.zeros(4), np.zeros(4, np.complex128)
    compute(np.array([a, b]), narrow)
    compute(widened(np.array([a, b])), broad)
    assert (widened(narrow) == broad).all()
    assert interpreted(compute)(widened(np.array([a, b])), broad)
    assert (widened(narrow) == broad).all()


def test_a_double_that_may_overflow_is_not_sound() -> None:
    assert is_sound(2.0**800)
    assert not is_sound(2.0**900)
    assert not is_sound(float("nan"))
    assert is_sound(wide(1.0, 9))
