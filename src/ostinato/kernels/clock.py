"""Injected time: the duration of a piece of work, by the machine's clock or by a tariff.

A tariff makes a run reproducible: the same input costs the same, whatever the machine does meanwhile.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Protocol

from ostinato.errors import QueryError


@dataclass(frozen=True, slots=True)
class Work:
    """Work of a matcher: events read, partial matches visited, conditions checked, partial matches created."""

    events: int
    visits: int
    checks: int
    births: int = 0
    """Includes partial matches that were refused: the matcher computes them first."""


class Clock(Protocol):
    """Measures work. A clock has no state: callers read it before and after."""

    def now_ns(self) -> int:
        """The present time."""
        ...

    def spent_ns(self, began_ns: int, work: Work) -> int:
        """Duration of the work that began at `began_ns` and has just ended."""
        ...


@dataclass(frozen=True, slots=True)
class RealClock:
    """The machine's monotonic clock."""

    def now_ns(self) -> int:
        return time.perf_counter_ns()

    def spent_ns(self, began_ns: int, work: Work) -> int:
        return time.perf_counter_ns() - began_ns


@dataclass(frozen=True, slots=True)
class ThreadClock:
    """Processor time of the calling thread: work of other threads and waiting don't count."""

    def now_ns(self) -> int:
        return time.thread_time_ns()

    def spent_ns(self, began_ns: int, work: Work) -> int:
        return time.thread_time_ns() - began_ns


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """Charges by the amount of work. Choosing which partial matches to keep costs nothing.

    The default tariff is about the time of the kernel (two patterns of seven events, one core).

    >>> VirtualClock().spent_ns(0, Work(events=2, visits=10, checks=5, births=1))
    500
    """

    ns_per_event: int = 60
    ns_per_visit: int = 25
    ns_per_check: int = 10
    ns_per_birth: int = 80

    def __post_init__(self) -> None:
        for name, price_ns in asdict(self).items():
            if not isinstance(price_ns, int) or isinstance(price_ns, bool) or price_ns < 0:
                raise QueryError("INVALID_OPTION", f"{name} is a whole number from 0 on, not {price_ns!r}")

    def now_ns(self) -> int:
        """Always 0: only work takes time."""
        return 0

    def spent_ns(self, began_ns: int, work: Work) -> int:
        """The time that the counted work is charged."""
        reading = self.ns_per_event * work.events + self.ns_per_visit * work.visits
        return reading + self.ns_per_check * work.checks + self.ns_per_birth * work.births

    def to_values(self) -> dict[str, int]:
        """The constructor's arguments by name."""
        return asdict(self)


def check_clock(clock: object | None) -> None:
    """Raises INVALID_OPTION for a value that is no clock; None stands for the real one."""
    if clock is not None and not all(hasattr(clock, name) for name in ("now_ns", "spent_ns")):
        hint = "ost.VirtualClock(), or leave it out for the real one"
        raise QueryError("INVALID_OPTION", f"clock= is no clock: {clock!r}", hint=hint)
