"""Two kinds of numbers for one kernel: doubles, and doubles with an extended exponent where those overflow.

A wide number m * 2**(512 e) is stored as the complex number m + ei, with |m| in [2**-256, 2**256), or as 0 + 0i. numba
passes complex numbers in registers and stores them in arrays. Scaling by powers of two loses nothing, so both kinds
give the same bits as long as no double overflows or underflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

STEP = 512
LARGE, SMALL, SHRINK, GROW = 2.0**256, 2.0**-256, 2.0**-512, 2.0**512
LARGEST_DOUBLE = np.finfo(np.float64).max
LARGEST = 2.0**900
"""A double from here on may overflow at the next event."""

# --- wide numbers -----------------------------------------------------------------------------------------------------


@register_jitable
def _in_range(mantissa, exponent):  # type: ignore[no-untyped-def]
    if mantissa == 0.0:
        return complex(0.0, 0.0)
    while abs(mantissa) >= LARGE and abs(mantissa) <= LARGEST_DOUBLE:  # twice for the largest doubles
        mantissa *= SHRINK
        exponent += 1.0
    while abs(mantissa) < SMALL:
        mantissa *= GROW
        exponent -= 1.0
    return complex(mantissa, exponent)


@register_jitable
def _wide_plus(a, b):  # type: ignore[no-untyped-def]
    if a.real == 0.0:
        return b
    if b.real == 0.0:
        return a
    if a.imag == b.imag:
        return _in_range(a.real + b.real, a.imag)
    if a.imag - b.imag == 1.0:
        return _in_range(a.real + b.real * SHRINK, a.imag)
    if b.imag - a.imag == 1.0:
        return _in_range(b.real + a.real * SHRINK, b.imag)
    return a if a.imag > b.imag else b


@register_jitable
def _wide_times(a, b):  # type: ignore[no-untyped-def]
    return _in_range(a.real * b.real, a.imag + b.imag)


@register_jitable
def _wide_scaled(a, b):  # type: ignore[no-untyped-def]
    """Brings the factor, any finite double, into range before it multiplies."""
    factor = _in_range(b, 0.0)
    return _in_range(a.real * factor.real, a.imag + factor.imag)


@register_jitable
def _wide_below(a, b):  # type: ignore[no-untyped-def]
    return _wide_plus(a, complex(-b.real, b.imag)).real < 0.0


# --- either kind: the function for uncompiled kernels, then its overload for compiled ones ----------------------------


def plus(a: Any, b: Any) -> Any:
    return _wide_plus(a, b) if isinstance(a, complex) else a + b


@overload(plus)
def _plus(a, b):  # type: ignore[no-untyped-def]
    return _wide_plus if isinstance(a, types.Complex) else lambda a, b: a + b


def times(a: Any, b: Any) -> Any:
    return _wide_times(a, b) if isinstance(a, complex) else a * b


@overload(times)
def _times(a, b):  # type: ignore[no-untyped-def]
    return _wide_times if isinstance(a, types.Complex) else lambda a, b: a * b


def scaled(a: Any, b: float) -> Any:
    """The number times a double."""
    return _wide_scaled(a, b) if isinstance(a, complex) else a * b


@overload(scaled)
def _scaled(a, b):  # type: ignore[no-untyped-def]
    return _wide_scaled if isinstance(a, types.Complex) else lambda a, b: a * b


def below(a: Any, b: Any) -> bool:
    """a < b."""
    return bool(_wide_below(a, b)) if isinstance(a, complex) else bool(a < b)


@overload(below)
def _below(a, b):  # type: ignore[no-untyped-def]
    return _wide_below if isinstance(a, types.Complex) else lambda a, b: a < b


def is_sound(a: Any) -> bool:
    """Whether the number isn't NaN and leaves room for the next event."""
    return bool(abs(a.real) < LARGEST)


@overload(is_sound)
def _is_sound(a):  # type: ignore[no-untyped-def]
    return lambda a: abs(a.real) < LARGEST


# --- arrays -----------------------------------------------------------------------------------------------------------


def widened(numbers: NDArray[np.float64] | NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Doubles as wide numbers, exactly."""
    wide = np.zeros(numbers.shape, np.complex128)
    for index, number in np.ndenumerate(numbers):
        wide[index] = _in_range(float(number.real), float(number.imag))
    return wide
