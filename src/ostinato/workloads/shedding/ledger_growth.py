"""Ledger -> its growth since the last update of the sketch, across calls and chunks.

A matcher's ledger starts at zero in every call. Chunks are cut by rows of the stream, so a chunk may begin in one call
and end in the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.clock import Work
from ostinato.workloads.matcher.ledger import Ledger


@dataclass(slots=True)
class ChunkCounts:
    """Counts of the present chunk."""

    rows: int = 0
    spent_ns: int = 0
    calling_ns: int = 0
    """Part of `spent_ns`: the time for calling the kernel."""
    visits: int = 0
    checks: int = 0
    births: int = 0
    step_work: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def work(self) -> Work:
        return Work(self.rows, self.visits, self.checks, self.births)

    def add(self, work: Work, spent_ns: int, calling_ns: int, step_work: NDArray[np.int64]) -> None:
        self.rows += work.events
        self.spent_ns += spent_ns
        self.calling_ns += min(calling_ns, spent_ns)
        self.visits += work.visits
        self.checks += work.checks
        self.births += work.births
        self.step_work = self.step_work + step_work


@dataclass(slots=True)
class LedgerGrowth:
    """The state for computing the growth."""

    carried: Ledger
    """Counts of earlier calls since the last update."""
    base: Ledger
    """The ledger of this call at the last update, or zeros."""
    rows: int = 0
    """Events since the last update."""

    def since_update(self, ledger: Ledger) -> Ledger:
        """Growth since the last update; `live` is as it is now."""
        counts = zip(ledger[1:], self.base[1:], self.carried[1:], strict=True)
        return Ledger._make([ledger.live, *(count - base + carried for count, base, carried in counts)])

    def restart(self, ledger: Ledger) -> None:
        """Starts counting anew, after an update."""
        self.base = Ledger._make(array.copy() for array in ledger)
        self.carried = zeroed(ledger)
        self.rows = 0

    def carry_over(self, ledger: Ledger) -> None:
        """Carries the counts over to the next call."""
        self.carried = self.since_update(ledger)
        self.base = zeroed(ledger)


def new_growth(ledger: Ledger) -> LedgerGrowth:
    return LedgerGrowth(zeroed(ledger), zeroed(ledger))


def zeroed(ledger: Ledger) -> Ledger:
    return Ledger._make(np.zeros_like(array) for array in ledger)
