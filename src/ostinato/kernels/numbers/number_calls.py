"""The functions of `number_table.py` as separate calls. Inlined, they made large kernels compile for minutes.

A call costs a few nanoseconds, and the shared trend kernel makes only a few calls for an event.
"""

from __future__ import annotations

import numba

from ostinato.kernels.kernel_cache import AnyFunction, called_kernel
from ostinato.kernels.numbers import number_table as numbers


def woven(function: AnyFunction) -> AnyFunction:
    """A function whose code numba copies into every kernel that calls it, before it compiles the kernel.

    Compiled by itself, each function would be optimized again with each caller. A dozen levels of calls took minutes.
    """
    compiled: AnyFunction = numba.njit(inline="always", error_model="numpy", _nrt=False)(function)
    return compiled


@called_kernel
def add(table, into, addend):  # type: ignore[no-untyped-def]
    return numbers.add(table, into, addend)


@called_kernel
def subtract(table, into, addend):  # type: ignore[no-untyped-def]
    return numbers.subtract(table, into, addend)


@called_kernel
def add_small(table, row, value):  # type: ignore[no-untyped-def]
    return numbers.add_small(table, row, value)


@called_kernel
def add_scaled(table, into, addend, factor):  # type: ignore[no-untyped-def]
    return numbers.add_scaled(table, into, addend, factor)


@called_kernel
def add_scaled_float(real, into, table, addend, factor):  # type: ignore[no-untyped-def]
    numbers.add_scaled_float(real, into, table, addend, factor)


@called_kernel
def scale(table, row, factor):  # type: ignore[no-untyped-def]
    return numbers.scale(table, row, factor)


@called_kernel
def shift_left(table, row, bits):  # type: ignore[no-untyped-def]
    return numbers.shift_left(table, row, bits)


@called_kernel
def copy(table, into, source):  # type: ignore[no-untyped-def]
    numbers.copy(table, into, source)


@called_kernel
def set_zero(table, row):  # type: ignore[no-untyped-def]
    numbers.set_zero(table, row)


@called_kernel
def set_small(table, row, value):  # type: ignore[no-untyped-def]
    numbers.set_small(table, row, value)
