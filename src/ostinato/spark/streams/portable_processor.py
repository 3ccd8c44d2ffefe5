"""A stream's processor -> the same, sent so that a worker without Ostinato can declare its state.

Before the first batch, Spark starts one more Python worker beside the driver. It only asks the processor which state it
keeps. Spark doesn't give this worker the files of `addPyFile`, `addArtifacts` and `spark.archives`, so it often lacks
Ostinato. There the processor becomes a stand-in, which is sent as code: it declares the state, and nothing else. If
such a stand-in gets rows, it runs on an executor that lacks Ostinato, and it raises that error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ostinato.spark.shipping.worker_check import CheckAsCode, Reduced, check_as_code

Declared = tuple[str, tuple[Any, ...]]
"""A method of Spark's handle that declares state, and its arguments."""


class RecordingHandle:
    """Stands for Spark's handle, and records the calls that declare state."""

    def __init__(self) -> None:
        self.declared: list[Declared] = []

    def __getattr__(self, method: str) -> Callable[..., None]:
        return lambda *arguments: self.declared.append((method, arguments))


def processor_or_stand_in(pickled: bytes, declared: list[Declared]) -> Reduced:
    """For `__reduce__` of a processor: its pickle, which is read only where the check succeeds."""
    return _read_as_code(), (check_as_code(), pickled, declared)


def _read_as_code() -> Callable[[CheckAsCode, bytes, list[Declared]], Any]:
    """A function inside a function, as in `worker_check.py`: Spark sends its code."""

    def read(check: CheckAsCode, pickled: bytes, declared: list[Declared]) -> Any:
        from pickle import loads

        try:
            check()
        except RuntimeError as error:
            problem = error
        else:
            return loads(pickled)

        class StandIn:
            def init(self, handle: Any) -> None:
                for method, arguments in declared:
                    getattr(handle, method)(*arguments)

            def handleInitialState(self, *arguments: Any, **named: Any) -> Any:
                raise problem

            def handleInputRows(self, *arguments: Any, **named: Any) -> Any:
                raise problem

            def handleExpiredTimer(self, *arguments: Any, **named: Any) -> Any:
                raise problem

            def close(self) -> None:
                pass

        return StandIn()

    return read
