"""How much a walk may use up: time by a clock, memory by the bytes of partial paths."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.sharing.clock import Clock, RealClock, Work

UNLIMITED = 1 << 62
_FIRST_GUESS_NS = 10.0
"""Of a unit of work, before anything was measured."""


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
    """The time left, in units of work: edges looked at and partial paths made. Learns what one costs."""

    def __init__(self, budget: Budget) -> None:
        self._limit = budget.latency_ns
        self._clock = budget.clock
        self._began = self._clock.now_ns()
        self._ns_per_unit = _FIRST_GUESS_NS

    def elapsed_ns(self, work: int) -> int:
        return self._clock.spent_ns(self._began, Work(events=0, visits=work, checks=0))

    def left(self, work: int) -> int:
        """How much more work is allowed, after so much."""
        if self._limit is None:
            return UNLIMITED
        now = self.elapsed_ns(work)
        if work:
            self._ns_per_unit = max(0.1, now / work)
        return max(0, int((self._limit - now) / self._ns_per_unit))
