"""The functions of `number_table.py` as calls of their own.

Taken into the shared kernel's loops, they made it compile for many minutes. A call costs a few nanoseconds, and a lane
makes only some of them for an event.
"""

from __future__ import annotations

import numba

from ostinato.kernels.kernel_cache import Function, called_kernel
from ostinato.kernels.numbers import number_table as numbers


def woven(function: Function) -> Function:
    """Becomes part of every kernel that calls it before that is compiled; never compiled by itself.

    numba compiles what a kernel calls, then optimizes it again with each caller: a dozen levels took minutes.
    """
    compiled: Function = numba.njit(inline="always", error_model="numpy", _nrt=False)(function)
    return compiled


@called_kernel
def add(table, into, what):  # type: ignore[no-untyped-def]
    return numbers.add(table, into, what)


@called_kernel
def subtract(table, into, what):  # type: ignore[no-untyped-def]
    return numbers.subtract(table, into, what)


@called_kernel
def add_small(table, row, value):  # type: ignore[no-untyped-def]
    return numbers.add_small(table, row, value)


@called_kernel
def add_scaled(table, into, what, factor):  # type: ignore[no-untyped-def]
    return numbers.add_scaled(table, into, what, factor)


@called_kernel
def add_scaled_float(real, into, table, what, factor):  # type: ignore[no-untyped-def]
    numbers.add_scaled_float(real, into, table, what, factor)


@called_kernel
def scale(table, row, factor):  # type: ignore[no-untyped-def]
    return numbers.scale(table, row, factor)


@called_kernel
def shift_left(table, row, bits):  # type: ignore[no-untyped-def]
    return numbers.shift_left(table, row, bits)


@called_kernel
def copy(table, into, what):  # type: ignore[no-untyped-def]
    numbers.copy(table, into, what)


@called_kernel
def set_zero(table, row):  # type: ignore[no-untyped-def]
    numbers.set_zero(table, row)


@called_kernel
def set_small(table, row, value):  # type: ignore[no-untyped-def]
    numbers.set_small(table, row, value)
