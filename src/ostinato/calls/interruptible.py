"""A public call in this process: its work can be interrupted at any time, and may have a deadline.

Python handles Ctrl-C on the main thread only, and not before a compiled kernel or a sort has returned. So the work of a
call runs in a thread of its own, while the calling thread waits for it. The caller gets its KeyboardInterrupt, or the
error of a passed deadline, at once. The work is told to stop (`kernels/stopping.py`) and ends where it next looks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

from ostinato.calls.bounds import Duration, read_duration
from ostinato.errors import MatchError, QueryError, held_warnings, warn
from ostinato.kernels.stopping import check_stopped, follow, new_stop_flag

T = TypeVar("T")

THREAD_NAME = "ostinato-call"
_LOOK_SECONDS = 0.1
"""A waiting caller checks the clock and the call around it this often. Then it also handles a signal that the system
gave to another thread."""
_WIND_DOWN_SECONDS = 0.2
"""The time that a caller waits for work that it stopped. Almost always the work has ended by then."""


def interruptible(
    work: Callable[[], T], deadline: Duration | None = None, *, now_ns: Callable[[], int] = time.monotonic_ns
) -> T:
    """The result of the work. Raises DEADLINE_PASSED when it takes longer than `deadline`, INVALID_BOUND for a deadline
    that can't mean anything, and what the work raises.

    Ctrl-C reaches the main thread only. Elsewhere, work without a deadline runs in the thread of its caller.
    """
    limit_ns = None if deadline is None else read_duration("deadline", deadline)
    if limit_ns is None and threading.current_thread() is not threading.main_thread():
        return work()
    return _CallThread(work).result(limit_ns, deadline, now_ns)


class _CallThread(Generic[T]):
    """Work in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._flag = new_stop_flag()
        self._ended = threading.Event()
        self._results: list[T] = []
        self._warnings: list[str] = []
        self._error: BaseException | None = None

    def result(self, limit_ns: float | None, deadline: Duration | None, now_ns: Callable[[], int]) -> T:
        began = now_ns()
        thread = threading.Thread(target=copy_context().run, args=(self._run,), name=THREAD_NAME)
        try:
            thread.start()
            while not self._ended.wait(_seconds_left(limit_ns, now_ns() - began)):
                check_stopped()
                if limit_ns is not None and now_ns() - began >= limit_ns:
                    raise _deadline_passed(deadline)
        except BaseException:
            self._flag[0] = 1
            self._ended.wait(_WIND_DOWN_SECONDS)
            raise
        for message in self._warnings:
            warn(message)
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # or error, traceback and frame would keep one another, and all arrays, alive
        return self._results[0]

    def _run(self) -> None:
        follow(self._flag)
        try:
            with held_warnings() as self._warnings:
                self._results.append(self._work())
        except BaseException as error:  # the caller's thread raises it
            self._error = error
        finally:
            self._ended.set()


def _seconds_left(limit_ns: float | None, spent_ns: int) -> float:
    return _LOOK_SECONDS if limit_ns is None else min(_LOOK_SECONDS, max(limit_ns - spent_ns, 0) / 1e9)


def _deadline_passed(deadline: object) -> MatchError:
    return MatchError(
        "DEADLINE_PASSED",
        f"the call took longer than its deadline, {deadline}; it was stopped and has no result",
        hint="raise deadline=, or bound the query: WITHIN, MAXLENGTH, max_hops, fewer rows",
    )


def refuse_deadline(deadline: object) -> None:
    """Raises INVALID_OPTION for a deadline of a call that only describes a Spark job."""
    if deadline is not None:
        raise QueryError(
            "INVALID_OPTION",
            "deadline= is for calls that run in this process; on Spark nothing runs before the result is used",
            hint="cancel the job with Spark: spark.interruptTag(...), or stop the streaming query",
        )
