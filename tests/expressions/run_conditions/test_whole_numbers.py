"""Whole-number arithmetic of the kernels against Python's, at the edges of int64; compiled."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ostinato.expressions.run_conditions import kernel_arithmetic
from ostinato.kernels.kernel_cache import kernel

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
EDGES = sorted(
    {0, 1, -1, 2, -2, 3, -3, 10, 3037000499, 3037000500, -3037000500, 5 * 10**11, -(5 * 10**11), 2**62, -(2**62)}
    | {LARGEST, LARGEST - 1, SMALLEST, SMALLEST + 1, LARGEST // 2, SMALLEST // 2, LARGEST // 3, SMALLEST // 3}
)


def wrapped(value: int) -> int:
    return (value - SMALLEST) % 2**64 + SMALLEST


def towards_zero(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("name", "exact", "zero_divides"),
    [
        ("add_whole", lambda x, y: x + y, True),
        ("subtract_whole", lambda x, y: x - y, True),
        ("multiply_whole", lambda x, y: x * y, True),
        ("divide_whole", towards_zero, False),
        ("modulo_whole", lambda x, y: x - y * towards_zero(x, y), False),
    ],
)
def test_against_python(name: str, exact: object, zero_divides: bool) -> None:
    function = getattr(kernel_arithmetic, name)

    def over_all(left, right, value, bad):  # type: ignore[no-untyped-def]
        for i in range(len(left)):
            value[i], bad[i] = function(left[i], right[i])

    pairs = [(x, y) for x, y in product(EDGES, EDGES) if zero_divides or y != 0]
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    value, bad = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.bool_)
    kernel(over_all)(left, right, value, bad)
    for (x, y), result, overflow in zip(pairs, value.tolist(), bad.tolist(), strict=True):
        wanted = exact(x, y)  # type: ignore[operator]
        assert overflow == (not SMALLEST <= wanted <= LARGEST), (x, y)
        assert result == wrapped(wanted), (x, y)
