"""The shared kernel, compiled and as the Python functions that it is compiled from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ostinato.event_queries.trends.shared import (
    blocks,
    event_symbols,
    lane,
    logs,
    lookups,
    same_time,
    shared_kernel,
    windows,
)
from ostinato.kernels.kernel_cache import AnyFunction, interpreted
from ostinato.kernels.numbers import limbs, number_calls, number_table

TREND_MODULES = (blocks, event_symbols, lane, logs, lookups, same_time, shared_kernel, windows)
NUMBER_MODULES = (limbs, number_calls, number_table)


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replaces every function of the kernel by its Python function, also where another function calls it."""
    for module in (*TREND_MODULES, *NUMBER_MODULES):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, interpreted(value))
    with np.errstate(over="ignore"):  # hashes wrap around
        yield


@pytest.fixture(params=["compiled", "interpreted"])
def both_ways(request: pytest.FixtureRequest) -> Callable[[AnyFunction], AnyFunction]:
    """Runs a test twice. The test calls kernels by their modules, as `shared_kernel.walk`.

    The test passes a kernel of its own through this function.
    """
    if request.param == "compiled":
        return lambda kernel: kernel
    request.getfixturevalue("in_python")
    return interpreted
