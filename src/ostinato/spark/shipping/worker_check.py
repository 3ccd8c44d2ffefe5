"""Task -> a task that checks its worker first: Ostinato must be installed there, in the driver's version.

The check needs no job: it runs while a worker unpickles the task. It is sent as code, because this package may be
missing there. `ost.unwrap` reads its error like any other error that comes through Spark.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import ostinato
from ostinato.errors import carried, workers_differ

ArrowTask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Reduced = tuple[Any, ...]
"""The result of `__reduce__`: a function and its arguments."""

NEEDED = ("ostinato", "numba", "pyarrow")
_MISSING, _VERSION = "<missing>", "<version>"


class Checked:
    """A task that is checked while it is unpickled. Workers get the task itself."""

    def __init__(self, task: ArrowTask) -> None:
        self.task = task
        self.__name__ = getattr(task, "__name__", type(task).__name__)  # Spark shows it in its plans

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.task(batches)

    def __reduce__(self) -> Reduced:
        return after_check(self.task)


def after_check(value: Any) -> Reduced:
    """Unpickles the check, then the value. (Functions of this package would be looked up before the check.)"""
    return operator.getitem, ([_Check(), value], 1)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A call. Unpickling it gives the call's result."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __reduce__(self) -> Reduced:
        return self.function, self.arguments


class _Check:
    """Checks the worker while it is unpickled."""

    def __reduce__(self) -> Reduced:
        missing = carried(workers_differ(f"the workers' Python has no module '{_MISSING}'"))
        other = carried(workers_differ(f"the driver runs ostinato {ostinato.__version__}, the workers {_VERSION}"))
        return _check_as_code(), (NEEDED, ostinato.__version__, missing, other, _MISSING, _VERSION)


def _check_as_code() -> Callable[..., None]:
    """A function inside a function: pickle can't look it up by name, so Spark sends its code."""

    def check(needed: tuple[str, ...], version: str, missing: str, other: str, module: str, installed: str) -> None:
        from importlib import import_module
        from importlib.util import find_spec

        for name in needed:
            try:
                is_there = find_spec(name) is not None
            except ImportError:
                is_there = False
            if not is_there:
                raise RuntimeError(missing.replace(module, name))
        version_here = import_module("ostinato").__version__
        if version_here != version:
            raise RuntimeError(other.replace(installed, version_here))

    return check
