"""How the work of a call is stopped: a flag that kernels and their drivers look at while they run.

Every call has a flag of its own (`calls/interruptible.py` makes it and sets it), so stopping one call leaves all others
alone. A kernel gets the flag as its argument `stopped`, reads `stopped[0]` every few steps and returns early when
it is set. Its driver then calls `check_stopped`, which ends the work. Work that no call guards, such as a Spark task,
has a flag that nobody sets.
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
_ITEMS_PER_LOOK = 256


class Stopped(BaseException):
    """Ends the work of a call that was stopped. Callers never see it: they have got their own exception by then."""


def new_stop_flag() -> StopFlag:
    return np.zeros(1, np.int64)


_NEVER_SET = new_stop_flag()
_FLAG: ContextVar[StopFlag | None] = ContextVar("stop_flag", default=None)


def stop_flag() -> StopFlag:
    """The flag of the call that this work belongs to."""
    flag = _FLAG.get()
    return _NEVER_SET if flag is None else flag


def follow(flag: StopFlag) -> None:
    """From now on the work of this thread stops when the flag is set."""
    _FLAG.set(flag)


def check_stopped() -> None:
    """Raises Stopped once the call was stopped. Loops in Python call it in every round that may take long."""
    flag = _FLAG.get()
    if flag is not None and flag[0]:
        raise Stopped


def until_stopped(items: Iterable[T]) -> Iterator[T]:
    """The items one by one, with a look at the flag now and then: for loops of which one round is short."""
    for number, item in enumerate(items):
        if number % _ITEMS_PER_LOOK == 0:
            check_stopped()
        yield item


def call_threads(workers: int) -> ThreadPoolExecutor:
    """Threads that belong to the present call: they stop with it."""
    return ThreadPoolExecutor(workers, initializer=follow, initargs=(stop_flag(),))
