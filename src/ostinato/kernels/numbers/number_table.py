"""Big numbers as rows of a table, for kernels: exact integers that grow, or doubles with an extended exponent.

Exact: limbs of 60 bits, the lowest first; all but the highest in [0, 2**60), the highest in [-2**60, 2**60) with the
sign of the number. `length[row]` limbs are in use, as few as possible. Approximate: column 0 is a double m, column 1 an
exponent e that is a multiple of 500; the number is m * 2**e with |m| in [2**-500, 2**500), or 0.

Functions that make a number larger return False when the row may be too short for the result, before they change
anything: the driver then takes `grown(table)` and calls the kernel again. Approximate numbers always fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel, interpreted
from ostinato.kernels.numbers.limbs import (
    BASE,
    BITS,
    STEP,
    add_limbs,
    add_product_limbs,
    add_scaled_limbs,
    add_small_limbs,
    as_real,
    bit_length,
    int_of_limbs,
    limbs_of_int,
    scale_limbs,
    shift_limbs,
)
from ostinato.kernels.numbers.python_numbers import Extended

FEW = 1 << 30
"""A product of two numbers below this is a limb."""
LARGE = 2.0**STEP
SMALL = 2.0**-STEP


class Table(NamedTuple):
    """Numbers by row. `floats` is the same memory as `limbs`, read as doubles; approximate numbers use it."""

    limbs: NDArray[np.int64]
    floats: NDArray[np.float64]
    length: NDArray[np.int64]
    exact: bool


def new_table(rows: int, exact: bool, columns: int = 2) -> Table:
    """All zero. Exact numbers below 2**(60 * columns) fit; approximate ones have two columns whatever is asked for."""
    limbs = np.zeros((rows, columns if exact else 2), np.int64)
    return Table(limbs, limbs.view(np.float64), np.ones(rows, np.int64), exact)


def grown(table: Table, columns: int = 0, rows: int = 0) -> Table:
    """The same numbers with twice the columns, or at least as many `columns` and `rows` as asked for."""
    have_rows, have = table.limbs.shape
    if not table.exact:
        columns = have
    elif not columns and not rows:
        columns = 2 * have
    wider = new_table(max(rows, have_rows), table.exact, max(columns, have))
    wider.limbs[:have_rows, :have] = table.limbs
    wider.length[:have_rows] = table.length
    return wider


# --- approximate numbers ----------------------------------------------------------------------------------------------


@inline_kernel
def _in_range(mantissa, exponent):  # type: ignore[no-untyped-def]
    """The same number with a mantissa as it should be; the exponent of 0, infinity and NaN means nothing."""
    if mantissa == 0.0 or not math.isfinite(mantissa):
        return mantissa, exponent * 0
    while abs(mantissa) >= LARGE:
        mantissa *= SMALL
        exponent += STEP
    while abs(mantissa) < SMALL:
        mantissa *= LARGE
        exponent -= STEP
    return mantissa, exponent


@called_kernel
def _put(limbs, floats, row, mantissa, exponent):  # type: ignore[no-untyped-def]
    """Any mantissa; infinity and NaN stay what they are."""
    if not SMALL <= abs(mantissa) < LARGE:
        mantissa, exponent = _in_range(mantissa, exponent)
    floats[row, 0] = mantissa
    limbs[row, 1] = exponent


@called_kernel
def _add_real(limbs, floats, row, mantissa, exponent):  # type: ignore[no-untyped-def]
    """The addend is in range, as `_put` leaves numbers, or 2**64 beyond it."""
    if mantissa == 0.0:
        return
    present, height = floats[row, 0], limbs[row, 1]
    apart = exponent - height
    if present == 0.0:
        pass
    elif apart == 0 or not math.isfinite(present + mantissa):
        mantissa += present
    elif apart > 0:
        mantissa += present * _lowered(apart)
    else:
        mantissa = present + mantissa * _lowered(-apart)
        exponent = height
    if not SMALL <= abs(mantissa) < LARGE:
        mantissa, exponent = _in_range(mantissa, exponent)
    floats[row, 0] = mantissa
    limbs[row, 1] = exponent


@inline_kernel
def _lowered(steps):  # type: ignore[no-untyped-def]
    """2**-steps for a multiple of STEP; 0 where the number is too small to be seen beside the other one."""
    return SMALL if steps == STEP else SMALL * SMALL if steps == 2 * STEP else 0.0


# --- what kernels call ------------------------------------------------------------------------------------------------


@inline_kernel
def set_zero(table, row):  # type: ignore[no-untyped-def]
    table.limbs[row, 0] = 0  # 0.0 has the same bits
    table.length[row] = 1
    if not table.exact:
        table.limbs[row, 1] = 0


@inline_kernel
def set_small(table, row, value):  # type: ignore[no-untyped-def]
    """|value| < 2**60."""
    if table.exact:
        table.limbs[row, 0] = value
        table.length[row] = 1
    else:
        table.floats[row, 0] = float(value)
        table.limbs[row, 1] = 0


@inline_kernel
def copy(table, into, what):  # type: ignore[no-untyped-def]
    """Rows are equally wide: a copy always fits."""
    used = table.length[what] if table.exact else 2
    for place in range(used):
        table.limbs[into, place] = table.limbs[what, place]
    table.length[into] = table.length[what]


@inline_kernel
def add(table, into, what):  # type: ignore[no-untyped-def]
    """into += what."""
    if not table.exact:
        _add_real(table.limbs, table.floats, into, table.floats[what, 0], table.limbs[what, 1])
        return True
    if table.length[into] == 1 and table.length[what] == 1:
        total = table.limbs[into, 0] + table.limbs[what, 0]
        if -BASE <= total < BASE:
            table.limbs[into, 0] = total
            return True
    return add_limbs(table.limbs, table.length, into, what, False)


@inline_kernel
def subtract(table, into, what):  # type: ignore[no-untyped-def]
    """into -= what."""
    if not table.exact:
        _add_real(table.limbs, table.floats, into, -table.floats[what, 0], table.limbs[what, 1])
        return True
    return add_limbs(table.limbs, table.length, into, what, True)


@inline_kernel
def add_small(table, row, value):  # type: ignore[no-untyped-def]
    """row += value, any int64."""
    if not table.exact:
        _add_real(table.limbs, table.floats, row, float(value), np.int64(0))
        return True
    if table.length[row] == 1 and -BASE <= value < BASE:
        total = table.limbs[row, 0] + value
        if -BASE <= total < BASE:
            table.limbs[row, 0] = total
            return True
    return add_small_limbs(table.limbs, table.length, row, value)


@inline_kernel
def add_scaled(table, into, what, factor):  # type: ignore[no-untyped-def]
    """into += what * factor, any int64. `into` isn't `what`."""
    if not table.exact:
        _add_real(table.limbs, table.floats, into, table.floats[what, 0] * float(factor), table.limbs[what, 1])
        return True
    if table.length[what] == 1 and table.length[into] == 1 and -FEW < factor < FEW:
        once = table.limbs[what, 0]
        if -FEW < once < FEW:
            total = table.limbs[into, 0] + once * factor
            if -BASE <= total < BASE:
                table.limbs[into, 0] = total
                return True
    return add_scaled_limbs(table.limbs, table.length, into, what, factor)


@inline_kernel
def add_scaled_float(real, into, table, what, factor):  # type: ignore[no-untyped-def]
    """into += what * factor, where `into` is a row of the approximate table `real` and `what` one of any table."""
    if table.exact:
        mantissa, exponent = as_real(table.limbs, table.length, what)
    else:
        mantissa, exponent = table.floats[what, 0], table.limbs[what, 1]
    if mantissa == 0.0:
        return
    # Each into its range first: the product of two doubles can be infinite.
    mantissa, exponent = _in_range(mantissa, exponent)
    factor, above = _in_range(factor, exponent * 0)
    mantissa, exponent = _in_range(mantissa * factor, exponent + above)
    _add_real(real.limbs, real.floats, into, mantissa, exponent)


@inline_kernel
def scale(table, row, factor):  # type: ignore[no-untyped-def]
    """row *= factor, any int64."""
    if not table.exact:
        _put(table.limbs, table.floats, row, table.floats[row, 0] * float(factor), table.limbs[row, 1])
        return True
    if table.length[row] == 1 and -FEW < factor < FEW and -FEW < table.limbs[row, 0] < FEW:
        table.limbs[row, 0] *= factor
        return True
    return scale_limbs(table.limbs, table.length, row, factor)


@inline_kernel
def shift_left(table, row, bits):  # type: ignore[no-untyped-def]
    """row *= 2**bits, bits >= 0."""
    if not table.exact:
        if table.floats[row, 0] != 0.0:
            whole = bits // STEP * STEP
            _put(
                table.limbs,
                table.floats,
                row,
                math.ldexp(table.floats[row, 0], int(bits - whole)),
                table.limbs[row, 1] + whole,
            )
        return True
    if table.limbs[row, 0] == 0 and table.length[row] == 1:
        return True
    return shift_limbs(table.limbs, table.length, row, bits)


@inline_kernel
def add_product(table, into, left, right):  # type: ignore[no-untyped-def]
    """into += left * right; `into` is neither of them."""
    if not table.exact:
        exponent = table.limbs[left, 1] + table.limbs[right, 1]
        mantissa, exponent = _in_range(table.floats[left, 0] * table.floats[right, 0], exponent)
        _add_real(table.limbs, table.floats, into, mantissa, exponent)
        return True
    if table.length[left] == 1 and table.limbs[left, 0] == 0:
        return True
    return add_product_limbs(table.limbs, table.length, into, left, right)


@inline_kernel
def sign(table, row):  # type: ignore[no-untyped-def]
    """-1, 0 or 1."""
    if table.exact:
        top = table.limbs[row, table.length[row] - 1]
        return (1 if top > 0 else 0) - (1 if top < 0 else 0)
    real = table.floats[row, 0]
    return (1 if real > 0 else 0) - (1 if real < 0 else 0)


@inline_kernel
def is_zero(table, row):  # type: ignore[no-untyped-def]
    if table.exact:
        return table.length[row] == 1 and table.limbs[row, 0] == 0
    return table.floats[row, 0] == 0.0


@inline_kernel
def compare(table, left, right):  # type: ignore[no-untyped-def]
    """-1, 0 or 1: whether left is smaller, equal or larger. Exact tables only."""
    many = table.length[left]
    if many != table.length[right]:
        # A number with more limbs is larger in absolute terms, so its sign decides.
        longer = left if many > table.length[right] else right
        larger = table.limbs[longer, table.length[longer] - 1] > 0
        return 1 if larger == (longer == left) else -1
    for place in range(many - 1, -1, -1):
        one, other = table.limbs[left, place], table.limbs[right, place]
        if one != other:
            return 1 if one > other else -1
    return 0


@inline_kernel
def bits_of(table, row):  # type: ignore[no-untyped-def]
    """Of an exact number: it is in [-2**n, 2**n)."""
    used = table.length[row]
    return BITS * (used - 1) + bit_length(table.limbs[row, used - 1])


# --- from and to Python's numbers -------------------------------------------------------------------------------------


def to_ints(table: Table, rows: NDArray[np.int64] | Sequence[int]) -> NDArray[np.object_]:
    """Rows of an exact table as Python ints."""
    rows = np.asarray(rows, np.int64)
    numbers: NDArray[np.object_] = np.empty(len(rows), object)
    short = table.length[rows] == 1
    numbers[short] = table.limbs[rows[short], 0].tolist()
    for place in np.flatnonzero(~short):
        row = rows[place]
        numbers[place] = int_of_limbs(table.limbs[row, : table.length[row]])
    return numbers


def from_ints(numbers: Sequence[int], columns: int = 2) -> Table:
    """An exact table of these numbers with one column to spare, or as many columns as asked for."""
    limbs = [limbs_of_int(number) for number in numbers]
    table = new_table(len(limbs), True, max([columns, *(len(part) + 1 for part in limbs)]))
    for row, part in enumerate(limbs):
        table.limbs[row, : len(part)] = part
        table.length[row] = len(part)
    return table


def to_extended(table: Table, rows: NDArray[np.int64] | Sequence[int]) -> Extended:
    """Rows of any table as doubles with an exponent."""
    rows = np.asarray(rows, np.int64)
    if not table.exact:
        return Extended(table.floats[rows, 0], table.limbs[rows, 1])
    parts = [interpreted(as_real)(table.limbs, table.length, row) for row in rows]
    return Extended(np.array([m for m, _ in parts], np.float64), np.array([e for _, e in parts], np.int64))
