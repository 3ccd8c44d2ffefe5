"""Big numbers as rows of a table, for kernels: exact integers that grow, or doubles with an extended exponent.

An exact number has limbs of 60 bits, as `limbs.py` describes. In an approximate number column 0 is a double m and
column 1 an exponent e, a multiple of 500. The number is m * 2**e with |m| in [2**-500, 2**500), or 0.

A function that makes a number larger returns False if the row may be too short for the result. It has changed nothing
then: the driver takes `grown(table)` and calls the kernel again. Approximate numbers always fit.
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
    STEP,
    add_limbs,
    add_scaled_limbs,
    add_small_limbs,
    as_real,
    int_of_limbs,
    scale_limbs,
    shift_limbs,
)
from ostinato.kernels.numbers.python_numbers import Extended

FEW = 1 << 30
"""The product of two numbers below this fits a limb."""
LARGE = 2.0**STEP
SMALL = 2.0**-STEP


class Table(NamedTuple):
    """Numbers by row. `floats` is the same memory as `limbs`, read as doubles; approximate numbers use it."""

    limbs: NDArray[np.int64]
    floats: NDArray[np.float64]
    length: NDArray[np.int64]
    exact: bool


def new_table(rows: int, exact: bool, columns: int = 2) -> Table:
    """All zero. Exact numbers below 2**(60 * columns) fit; approximate numbers always have two columns."""
    limbs = np.zeros((rows, columns if exact else 2), np.int64)
    return Table(limbs, limbs.view(np.float64), np.ones(rows, np.int64), exact)


def grown(table: Table, columns: int = 0, rows: int = 0) -> Table:
    """The same numbers with at least as many `columns` and `rows`; without arguments, with twice the columns."""
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
    """The same number with its mantissa in range; the exponent of 0, infinity and NaN is 0."""
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
    """Stores a number whose mantissa may be out of range. Infinity and NaN stay."""
    if not SMALL <= abs(mantissa) < LARGE:
        mantissa, exponent = _in_range(mantissa, exponent)
    floats[row, 0] = mantissa
    limbs[row, 1] = exponent


@called_kernel
def _add_real(limbs, floats, row, mantissa, exponent):  # type: ignore[no-untyped-def]
    """Adds a number whose mantissa is in range, or at most 2**64 times too large."""
    if mantissa == 0.0:
        return
    present, present_exponent = floats[row, 0], limbs[row, 1]
    apart = exponent - present_exponent
    if present == 0.0:
        pass
    elif apart == 0 or not math.isfinite(present + mantissa):
        mantissa += present
    elif apart > 0:
        mantissa += present * _lowered(apart)
    else:
        mantissa = present + mantissa * _lowered(-apart)
        exponent = present_exponent
    if not SMALL <= abs(mantissa) < LARGE:
        mantissa, exponent = _in_range(mantissa, exponent)
    floats[row, 0] = mantissa
    limbs[row, 1] = exponent


@inline_kernel
def _lowered(steps):  # type: ignore[no-untyped-def]
    """2**-steps, for a multiple of STEP; 0 where the product would be too small to change a sum."""
    return SMALL if steps == STEP else SMALL * SMALL if steps == 2 * STEP else 0.0


# --- operations that kernels call -------------------------------------------------------------------------------------


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
def copy(table, into, source):  # type: ignore[no-untyped-def]
    """into = source. Rows are equally wide: a copy always fits."""
    used = table.length[source] if table.exact else 2
    for i in range(used):
        table.limbs[into, i] = table.limbs[source, i]
    table.length[into] = table.length[source]


@inline_kernel
def add(table, into, addend):  # type: ignore[no-untyped-def]
    """into += addend."""
    if not table.exact:
        _add_real(table.limbs, table.floats, into, table.floats[addend, 0], table.limbs[addend, 1])
        return True
    if table.length[into] == 1 and table.length[addend] == 1:
        total = table.limbs[into, 0] + table.limbs[addend, 0]
        if -BASE <= total < BASE:
            table.limbs[into, 0] = total
            return True
    return add_limbs(table.limbs, table.length, into, addend, False)


@inline_kernel
def subtract(table, into, addend):  # type: ignore[no-untyped-def]
    """into -= addend."""
    if not table.exact:
        _add_real(table.limbs, table.floats, into, -table.floats[addend, 0], table.limbs[addend, 1])
        return True
    return add_limbs(table.limbs, table.length, into, addend, True)


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
def add_scaled(table, into, addend, factor):  # type: ignore[no-untyped-def]
    """into += addend * factor, any int64. `into` isn't `addend`."""
    if not table.exact:
        _add_real(table.limbs, table.floats, into, table.floats[addend, 0] * float(factor), table.limbs[addend, 1])
        return True
    if table.length[addend] == 1 and table.length[into] == 1 and -FEW < factor < FEW:
        once = table.limbs[addend, 0]
        if -FEW < once < FEW:
            total = table.limbs[into, 0] + once * factor
            if -BASE <= total < BASE:
                table.limbs[into, 0] = total
                return True
    return add_scaled_limbs(table.limbs, table.length, into, addend, factor)


@inline_kernel
def add_scaled_float(real, into, table, addend, factor):  # type: ignore[no-untyped-def]
    """into += addend * factor, where `into` is a row of the approximate table `real` and `addend` one of any table."""
    if table.exact:
        mantissa, exponent = as_real(table.limbs, table.length, addend)
    else:
        mantissa, exponent = table.floats[addend, 0], table.limbs[addend, 1]
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
            steps = bits // STEP * STEP
            _put(
                table.limbs,
                table.floats,
                row,
                math.ldexp(table.floats[row, 0], int(bits - steps)),
                table.limbs[row, 1] + steps,
            )
        return True
    if table.limbs[row, 0] == 0 and table.length[row] == 1:
        return True
    return shift_limbs(table.limbs, table.length, row, bits)


@inline_kernel
def is_zero(table, row):  # type: ignore[no-untyped-def]
    if table.exact:
        return table.length[row] == 1 and table.limbs[row, 0] == 0
    return table.floats[row, 0] == 0.0


# --- to Python's numbers ----------------------------------------------------------------------------------------------


def to_ints(table: Table, rows: NDArray[np.int64] | Sequence[int]) -> NDArray[np.object_]:
    """Rows of an exact table as Python ints."""
    rows = np.asarray(rows, np.int64)
    numbers: NDArray[np.object_] = np.empty(len(rows), object)
    short = table.length[rows] == 1
    numbers[short] = table.limbs[rows[short], 0].tolist()
    for i in np.flatnonzero(~short):
        row = rows[i]
        numbers[i] = int_of_limbs(table.limbs[row, : table.length[row]])
    return numbers


def to_extended(table: Table, rows: NDArray[np.int64] | Sequence[int]) -> Extended:
    """Rows of any table as doubles with an exponent."""
    rows = np.asarray(rows, np.int64)
    if not table.exact:
        return Extended(table.floats[rows, 0], table.limbs[rows, 1])
    reals = [interpreted(as_real)(table.limbs, table.length, row) for row in rows]
    return Extended(np.array([m for m, _ in reals], np.float64), np.array([e for _, e in reals], np.int64))
