"""Big numbers in kernels equal Python's integers: compiled and as Python, with rows of any width."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.kernels.kernel_cache import interpreted, kernel
from ostinato.kernels.numbers import limbs
from ostinato.kernels.numbers import number_table as numbers
from ostinato.kernels.numbers.number_table import Table, grown, new_table, to_extended, to_ints

INTO, LEFT = 0, 1
FACTOR = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 3)


def big_ints() -> st.SearchStrategy[int]:
    """Near powers of 2**60, where carries run, and anything."""
    edges = st.builds(
        lambda p, d, s: s * ((1 << p) + d), st.integers(0, 260), st.integers(-2, 2), st.sampled_from([1, -1])
    )
    return st.integers(-5, 5) | edges | st.integers(-(1 << 250), 1 << 250)


def from_ints(integers: list[int], columns: int = 2) -> Table:
    """An exact table of these numbers with one column to spare, or with more columns."""
    rows = [limbs_of_int(integer) for integer in integers]
    table = new_table(len(rows), exact=True, columns=max([columns, *(len(row) + 1 for row in rows)]))
    for i, row in enumerate(rows):
        table.limbs[i, : len(row)] = row
        table.length[i] = len(row)
    return table


def limbs_of_int(integer: int) -> list[int]:
    lower = []
    while not -limbs.BASE <= integer < limbs.BASE:
        lower.append(integer & limbs.MASK)
        integer >>= limbs.BITS
    return [*lower, integer]


@kernel
def add(table, value):
    return numbers.add(table, INTO, LEFT)


@kernel
def double(table, value):
    return numbers.add(table, INTO, INTO)


@kernel
def subtract(table, value):
    return numbers.subtract(table, INTO, LEFT)


@kernel
def add_small(table, value):
    return numbers.add_small(table, INTO, value)


@kernel
def add_scaled(table, value):
    return numbers.add_scaled(table, INTO, LEFT, value)


@kernel
def scale(table, value):
    return numbers.scale(table, INTO, value)


@kernel
def shift_left(table, value):
    return numbers.shift_left(table, INTO, value)


@kernel
def copy(table, value):
    numbers.copy(table, INTO, LEFT)
    return True


@kernel
def set_zero(table, value):
    numbers.set_zero(table, INTO)
    return True


OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[[int, int, int, int], int]]] = {
    "add": (add, lambda a, b, c, v: a + b),
    "double": (double, lambda a, b, c, v: a + a),
    "subtract": (subtract, lambda a, b, c, v: a - b),
    "add_small": (add_small, lambda a, b, c, v: a + v),
    "add_scaled": (add_scaled, lambda a, b, c, v: a + b * v),
    "scale": (scale, lambda a, b, c, v: a * v),
    "shift_left": (shift_left, lambda a, b, c, v: a << (v & 255)),
    "copy": (copy, lambda a, b, c, v: b),
    "set_zero": (set_zero, lambda a, b, c, v: 0),
}


@kernel
def is_zero(table):
    return numbers.is_zero(table, INTO)


def is_tidy(table: Table, row: int) -> bool:
    used = table.length[row]
    *lower, top = table.limbs[row, :used].tolist()
    is_shortest = not lower or top not in (0, -1)
    return all(0 <= limb < limbs.BASE for limb in lower) and -limbs.BASE <= top < limbs.BASE and is_shortest


@pytest.mark.kernel
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "python"])
@given(a=big_ints(), b=big_ints(), c=big_ints(), v=FACTOR)
@settings(max_examples=60, deadline=None)
def test_exact_numbers_equal_pythons(name: str, compiled: bool, a: int, b: int, c: int, v: int) -> None:
    operation, expected = OPERATIONS[name]
    if name == "shift_left":
        v &= 255
    table = from_ints([a, b, c])
    for _ in range(6):
        before = to_ints(table, [0, 1, 2]).tolist()
        if run(operation, compiled, table, v):
            break
        assert to_ints(table, [0, 1, 2]).tolist() == before  # nothing has changed yet
        table = grown(table)
    assert to_ints(table, [0, 1, 2]).tolist() == [expected(a, b, c, v), b, c]
    assert all(is_tidy(table, row) for row in range(3))


def run(operation: Callable[..., Any], compiled: bool, *args: Any) -> Any:
    return operation(*args) if compiled else interpreted(operation)(*args)


ONES = st.sampled_from([1, 60, 120, 1139, 1140, 1500, 2400, 3000]).map(lambda n: (1 << n) - 1)


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["add", "double", "subtract", "add_scaled", "scale", "shift_left"])
@given(a=ONES | st.integers(0, 1 << 3000), b=ONES | st.integers(-(1 << 3000), 1 << 3000), v=FACTOR)
@settings(max_examples=40, deadline=None)
def test_long_numbers_and_long_carries(name: str, a: int, b: int, v: int) -> None:
    """Limbs that are added several at a time, and bits that are all set, so that a carry runs through."""
    operation, expected = OPERATIONS[name]
    v = v & 255 if name == "shift_left" else v
    for left, right in ((a, b), (a, 1), (-a, -1), (-a, b)):
        table = from_ints([left, right, b], columns=120)
        assert operation(table, v)
        assert to_ints(table, [0])[0] == expected(left, right, b, v)
        assert is_tidy(table, 0)


@pytest.mark.kernel
@pytest.mark.parametrize("number", [0, 1, -1, limbs.BASE, -limbs.BASE, 1 << 120])
def test_only_zero_is_zero(number: int) -> None:
    assert is_zero(from_ints([number])) == (number == 0)


@given(st.lists(big_ints(), max_size=5))
def test_python_ints_there_and_back(values: list[int]) -> None:
    table = from_ints(values)
    assert to_ints(table, range(len(values))).tolist() == values
    assert all(is_tidy(table, row) for row in range(len(values)))


@kernel
def fibonacci(table, todo):
    while todo[0] > 0:
        if not numbers.add(table, todo[0] % 2, 1 - todo[0] % 2):
            return False
        todo[0] -= 1
    return True


@pytest.mark.kernel
def test_a_kernel_goes_on_where_the_table_was_too_narrow() -> None:
    table, todo, growths = from_ints([1, 0]), np.array([5000]), 0
    while not fibonacci(table, todo):
        table, growths = grown(table), growths + 1
    a, b = 1, 0
    for n in range(5000, 0, -1):
        a, b = (a, b + a) if n % 2 else (a + b, b)
    assert to_ints(table, [0, 1]).tolist() == [a, b]
    assert growths == 5


# --- approximate ------------------------------------------------------------------------------------------------------


def reals() -> st.SearchStrategy[tuple[float, int]]:
    return st.tuples(st.floats(-1e150, 1e150).filter(lambda x: x == 0 or abs(x) > 1e-150), st.integers(-4, 4))


def real_table(*values: tuple[float, int]) -> Table:
    table = new_table(len(values), exact=False)
    for row, (mantissa, steps) in enumerate(values):
        table.floats[row, 0] = mantissa
        table.limbs[row, 1] = steps * limbs.STEP if mantissa else 0
    return table


def fraction(table: Table, row: int) -> Fraction:
    return Fraction(table.floats[row, 0]) * Fraction(2) ** int(table.limbs[row, 1])


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["add", "subtract", "add_small", "add_scaled", "scale", "shift_left"])
@given(a=reals(), b=reals(), c=reals(), v=FACTOR)
@settings(max_examples=60, deadline=None)
def test_approximate_numbers_are_close(name: str, a: tuple[float, int], b: Any, c: Any, v: int) -> None:
    operation, expected = OPERATIONS[name]
    if name == "shift_left":
        v &= 255
    table = real_table(a, b, c)
    x, y, z = (fraction(table, row) for row in range(3))
    assert operation(table, v)
    wanted = x * 2**v if name == "shift_left" else expected(x, y, z, v)  # type: ignore[arg-type]
    # Where two numbers of opposite sign meet, the error is relative to the operands.
    scale_of_error = max(abs(wanted), abs(x), abs(wanted - x))
    assert abs(fraction(table, INTO) - wanted) <= scale_of_error * Fraction(2) ** -50
    assert table.floats[0, 0] == 0 or 2.0**-500 <= abs(table.floats[0, 0]) < 2.0**500
    assert table.limbs[0, 1] % limbs.STEP == 0


@kernel
def add_scaled_float(real, table, value):
    numbers.add_scaled_float(real, INTO, table, LEFT, value)


@pytest.mark.kernel
@given(a=reals(), b=big_ints(), v=st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=100, deadline=None)
def test_sums_of_doubles_beside_exact_counts(a: tuple[float, int], b: int, v: float) -> None:
    real, exact = real_table(a), from_ints([0, b])
    before = fraction(real, 0)
    add_scaled_float(real, exact, v)
    wanted = before + b * Fraction(v)
    assert abs(fraction(real, 0) - wanted) <= max(abs(before), abs(wanted)) * Fraction(2) ** -48


@pytest.mark.kernel
def test_infinity_and_nan_stay() -> None:
    real, exact = real_table((1.0, 3)), from_ints([0, 2])
    add_scaled_float(real, exact, math.inf)
    assert real.floats[0, 0] == math.inf
    add_scaled_float(real, exact, 5.0)
    assert real.floats[0, 0] == math.inf
    add_scaled_float(real, exact, -math.inf)
    assert math.isnan(real.floats[0, 0])


@given(big_ints())
def test_exact_numbers_as_doubles(value: int) -> None:
    extended = to_extended(from_ints([value]), [0])
    got = Fraction(extended.mantissa[0]) * Fraction(2) ** int(extended.exponent[0])
    assert abs(got - value) <= abs(value) * Fraction(2) ** -51
