"""A flag that stops the work of a call. Kernels and their drivers check it while they run.

Every call has a flag of its own, so stopping one call doesn't stop others. `calls/interruptible.py` makes the flag and
sets it. A kernel gets the flag as its argument `stopped`, reads `stopped[0]` every few steps and returns early when it
is set. Its driver then calls `check_stopped`, which ends the work. A Spark task belongs to no call: nobody sets its
flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
StopFlag = NDArray[np.int64]
"""An array of one number: 0, or 1 once the work has to stop."""
_ITEMS_PER_CHECK = 256


class Stopped(BaseException):
    """Ends the work of a stopped call. The user never sees it: the call has already raised its own exception."""


def new_stop_flag() -> StopFlag:
    return np.zeros(1, np.int64)


_NEVER_SET = new_stop_flag()
_FLAG: ContextVar[StopFlag | None] = ContextVar("stop_flag", default=None)


def stop_flag() -> StopFlag:
    """The flag of the present call."""
    flag = _FLAG.get()
    return _NEVER_SET if flag is None else flag


def follow(flag: StopFlag) -> None:
    """Makes this thread stop when the flag is set."""
    _FLAG.set(flag)


def check_stopped() -> None:
    """Raises Stopped if the call was stopped. Loops in Python call it in every round that may take long."""
    flag = _FLAG.get()
    if flag is not None and flag[0]:
        raise Stopped


def until_stopped(items: Iterable[T]) -> Iterator[T]:
    """The items, with a check of the flag every 256 items: for loops with short rounds."""
    for number, item in enumerate(items):
        if number % _ITEMS_PER_CHECK == 0:
            check_stopped()
        yield item


def call_threads(workers: int) -> ThreadPoolExecutor:
    """Threads that stop with the present call."""
    return ThreadPoolExecutor(workers, initializer=follow, initargs=(stop_flag(),))
