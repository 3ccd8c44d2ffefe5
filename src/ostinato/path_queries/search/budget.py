"""The budget of a walk: time by a clock, memory by the bytes of partial paths."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.kernels.clock import Clock, RealClock, Work

UNLIMITED = 1 << 62
DEFAULT_MAX_HOPS = 8
DEFAULT_MAX_PARTIAL_PATHS = 2_000_000
"""About 1 GB, together with their results."""
_PROBE = 1_000_000_000
_FIRST_GUESS_NS = 25.0
"""Time of a unit of work, before the first measurement."""
_FIRST_GUESS_WEIGHING_NS = 250.0
"""Time to weigh a partial path for a query, before the first measurement."""
_LEAST_MEASURED = 1_000
"""Smallest number of units to learn from. With fewer, the call itself takes most of the time."""
_SHARE_OF_WEIGHING = 0.25
"""Fraction of the remaining time that weighing may use."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of a walk; None: no bound."""

    latency_ns: float | None = None
    memory_bytes: int | None = None
    clock: Clock = field(default_factory=RealClock)

    @property
    def is_none(self) -> bool:
        return self.latency_ns is None and self.memory_bytes is None


NO_BUDGET = Budget()


class Meter:
    """The remaining time in units of work: edges read and partial paths made.

    A virtual clock fixes the cost of a unit, and weighing is free. With a real clock, the meter learns both costs.
    """

    def __init__(self, budget: Budget) -> None:
        self._limit = budget.latency_ns
        self._clock = budget.clock
        tariff = self._clock.spent_ns(self._clock.now_ns(), Work(events=0, visits=_PROBE, checks=0)) / _PROBE
        self._is_real = tariff < 0.5
        self._unit = _Rate(_FIRST_GUESS_NS if self._is_real else tariff)
        self._weighing = _Rate(_FIRST_GUESS_WEIGHING_NS)
        self._began = self._clock.now_ns()

    def elapsed_ns(self, work: int) -> int:
        return self._clock.spent_ns(self._began, Work(events=0, visits=work, checks=0))

    def left(self, work: int) -> int:
        """Units of work that are still allowed after `work` units."""
        if self._limit is None:
            return UNLIMITED
        return max(0, int((self._limit - self.elapsed_ns(work)) / self._unit.ns))

    def weighable(self, work: int) -> int:
        """Number of (partial path, query) pairs that there is time to weigh after `work` units."""
        if self._limit is None or not self._is_real:
            return UNLIMITED
        return max(1, int(_SHARE_OF_WEIGHING * (self._limit - self.elapsed_ns(work)) / self._weighing.ns))

    def walked(self, ns: int, work: int) -> None:
        """Learns from a measurement: `work` units took `ns`."""
        if self._is_real:
            self._unit.learn(ns, work)

    def weighed(self, ns: int, pairs: int) -> None:
        if self._is_real:
            self._weighing.learn(ns, pairs)


class _Rate:
    """Mean time of one unit."""

    def __init__(self, guess_ns: float) -> None:
        self.ns = guess_ns
        self._spent = self._count = 0

    def learn(self, ns: int, count: int) -> None:
        if count >= _LEAST_MEASURED:
            self._spent, self._count = self._spent + ns, self._count + count
            self.ns = max(0.1, self._spent / self._count)
