"""Task -> the same task behind a check of the Python that runs it: this package is there, in the driver's version.

The check needs no job: it runs while a worker reads the task. It travels as code, because this package may be missing
where it runs. What it raises reads like any error of ours that comes through Spark (`ost.unwrap`).
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
"""As `__reduce__` returns it: a function, and its arguments."""

NEEDED = ("ostinato", "numba", "pyarrow")
_MISSING, _FOUND = "<missing>", "<version>"


class Checked:
    """A task on its way to the workers. They get the task itself."""

    def __init__(self, task: ArrowTask) -> None:
        self.task = task
        self.__name__ = getattr(task, "__name__", type(task).__name__)  # Spark shows it in its plans

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.task(batches)

    def __reduce__(self) -> Reduced:
        return after_check(self.task)


def after_check(value: Any) -> Reduced:
    """How a value is read behind the check. Functions of this package would be looked up before it."""
    return operator.getitem, ([_Check(), value], 1)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A call whose result is what a worker reads."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __reduce__(self) -> Reduced:
        return self.function, self.arguments


class _Check:
    """Checks where it is read."""

    def __reduce__(self) -> Reduced:
        missing = carried(workers_differ(f"the workers' Python has no module '{_MISSING}'"))
        other = carried(workers_differ(f"the driver runs ostinato {ostinato.__version__}, the workers {_FOUND}"))
        return _check_as_code(), (NEEDED, ostinato.__version__, missing, other, _MISSING, _FOUND)


def _check_as_code() -> Callable[..., None]:
    """A function inside a function: pickle can't look it up by name, so Spark sends its code."""

    def check(needed: tuple[str, ...], version: str, missing: str, other: str, module: str, found: str) -> None:
        from importlib import import_module
        from importlib.util import find_spec

        for name in needed:
            try:
                is_there = find_spec(name) is not None
            except ImportError:
                is_there = False
            if not is_there:
                raise RuntimeError(missing.replace(module, name))
        runs = import_module("ostinato").__version__
        if runs != version:
            raise RuntimeError(other.replace(found, runs))

    return check
