"""How much a walk may use up: time by a clock, memory by the bytes of partial paths."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.kernels.clock import Clock, RealClock, Work

UNLIMITED = 1 << 62
_PROBE = 1_000_000_000
_FIRST_GUESS_NS = 25.0
"""Of a unit of work, before anything was measured."""
_FIRST_GUESS_WEIGHING_NS = 250.0
"""Of a partial path that is weighed for a query."""
_LEAST_MEASURED = 1_000
"""Units; less is mostly the call itself."""
_SHARE_OF_WEIGHING = 0.25
"""Of the time that is left."""


@dataclass(frozen=True, slots=True)
class Budget:
    """None: without a bound."""

    latency_ns: float | None = None
    memory_bytes: int | None = None
    clock: Clock = field(default_factory=RealClock)

    @property
    def is_none(self) -> bool:
        return self.latency_ns is None and self.memory_bytes is None


NO_BUDGET = Budget()


class Meter:
    """The time left, in units of work: edges looked at and partial paths made.

    A tariff says what a unit costs, and that weighing costs nothing. With a real clock both are learnt on the way.
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
        """How much more work is allowed, after so much."""
        if self._limit is None:
            return UNLIMITED
        return max(0, int((self._limit - self.elapsed_ns(work)) / self._unit.ns))

    def weighable(self, work: int) -> int:
        """For how many pairs of partial path and query there is time to weigh them, after so much work."""
        if self._limit is None or not self._is_real:
            return UNLIMITED
        return max(1, int(_SHARE_OF_WEIGHING * (self._limit - self.elapsed_ns(work)) / self._weighing.ns))

    def walked(self, ns: int, work: int) -> None:
        """So much work took so long."""
        if self._is_real:
            self._unit.learn(ns, work)

    def weighed(self, ns: int, pairs: int) -> None:
        if self._is_real:
            self._weighing.learn(ns, pairs)


class _Rate:
    """What one of something costs, on average."""

    def __init__(self, guess_ns: float) -> None:
        self.ns = guess_ns
        self._spent = self._count = 0

    def learn(self, ns: int, count: int) -> None:
        if count >= _LEAST_MEASURED:
            self._spent, self._count = self._spent + ns, self._count + count
            self.ns = max(0.1, self._spent / self._count)
