"""How much a walk may use up: time by a clock, memory by the bytes of partial paths.

Time is told from outside as a function of the work done so far (edges looked at and partial paths made), so that the
same walk can be repeated: a virtual clock charges for work, the real one looks at the machine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Elapsed = Callable[[int], int]
"""Work done since the start -> nanoseconds since the start."""
VIRTUAL_NS = 10
"""What the virtual clock charges for a unit of work."""
UNLIMITED = 1 << 62


def real_clock() -> Elapsed:
    """Starts now."""
    start = time.perf_counter_ns()
    return lambda work: time.perf_counter_ns() - start


def virtual_clock(ns_per_unit: int = VIRTUAL_NS) -> Callable[[], Elapsed]:
    """A clock that every walk starts anew, and that goes by its work alone."""
    return lambda: lambda work: work * ns_per_unit


@dataclass(frozen=True, slots=True)
class Budget:
    """None: without a bound."""

    latency_ns: int | None = None
    memory_bytes: int | None = None
    clock: Callable[[], Elapsed] = real_clock

    @property
    def is_none(self) -> bool:
        return self.latency_ns is None and self.memory_bytes is None


NO_BUDGET = Budget()


class Meter:
    """The time left, in units of work. Learns what one costs."""

    def __init__(self, budget: Budget) -> None:
        self.limit = budget.latency_ns
        self.elapsed = budget.clock()
        self._ns_per_unit = float(VIRTUAL_NS)

    def left(self, work: int) -> int:
        """How much more work is allowed."""
        if self.limit is None:
            return UNLIMITED
        now = self.elapsed(work)
        if work:
            self._ns_per_unit = max(0.1, now / work)
        return max(0, int((self.limit - now) / self._ns_per_unit))
