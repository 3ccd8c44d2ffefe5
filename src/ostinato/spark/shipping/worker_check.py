"""Task -> a task that checks its worker first: Ostinato must be there, in the driver's version.

The check needs no job: it runs while a worker unpickles the task. It is sent as code, because this package may be
missing there. `ost.unwrap` reads its error like any other error that comes through Spark.

The check also finds a wheel that came through `addPyFile`. Spark copies it to a folder on the worker's path, but only
adds files to the path whose names end in .zip, .egg or .jar.
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
CheckAsCode = Callable[[], None]
"""Raises a RuntimeError that `ost.unwrap` reads if the worker lacks a package."""

NEEDED = ("ostinato", "numba", "pyarrow")


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
        return check_as_code(), ()


def check_as_code() -> CheckAsCode:
    """A function inside a function: pickle can't look it up by name, so Spark sends its code, with these values."""
    module, installed = "<missing>", "<version>"
    missing = carried(workers_differ(f"the workers' Python has no module '{module}'"))
    other = carried(workers_differ(f"the driver runs ostinato {ostinato.__version__}, the workers {installed}"))
    needed, version, wheel = NEEDED, ostinato.__version__, f"ostinato-{ostinato.__version__}-*.whl"

    def check() -> None:
        import sys
        from glob import escape, glob
        from importlib import import_module
        from importlib.util import find_spec
        from os.path import join

        def is_there(name: str) -> bool:
            try:
                return find_spec(name) is not None
            except ImportError:
                return False

        if not is_there("ostinato"):
            sys.path += [found for folder in sys.path for found in glob(join(escape(folder), wheel))]
        for name in needed:
            if not is_there(name):
                raise RuntimeError(missing.replace(module, name))
        version_here = import_module("ostinato").__version__
        if version_here != version:
            raise RuntimeError(other.replace(installed, version_here))

    return check
