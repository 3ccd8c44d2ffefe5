"""Ledger -> what it grew by: since the keeper last looked, across calls, and across chunks.

A matcher's ledger begins at zero in every call. Chunks are cut by rows of the stream, so one may begin in one call and
end in the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.sharing.clock import Work
from ostinato.techniques.bounded_latency.ledger import Ledger

_NO_BIRTHS = np.zeros((0, 2), np.int64)
BIRTHS_A_CHUNK, MOST_BIRTHS = 1024, 8192
"""So many, evenly spread, are looked at; each of them stands for the others."""


@dataclass(slots=True)
class ChunkSoFar:
    """The chunk that is being taken."""

    rows: int = 0
    spent_ns: int = 0
    visits: int = 0
    checks: int = 0
    births: int = 0
    step_work: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def work(self) -> Work:
        return Work(self.rows, self.visits, self.checks, self.births)

    def add(self, work: Work, spent_ns: int, step_work: NDArray[np.int64]) -> None:
        self.rows += work.events
        self.spent_ns += spent_ns
        self.visits += work.visits
        self.checks += work.checks
        self.births += work.births
        self.step_work = self.step_work + step_work


@dataclass(slots=True)
class Accounts:
    """`carried` is what earlier calls counted since the keeper last looked."""

    carried: Ledger
    """Its births are those of the chunk that is being taken."""
    base: Ledger
    """The ledger of this call when it was last looked at."""
    rows: int = 0
    """Events since the keeper last looked."""
    births: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """(class of the parent, class of the child, how many such births it stands for), since the keeper last looked."""

    def drain(self, ledger: Ledger) -> None:
        """At the end of a chunk: a part of its births is kept, and the log is empty again."""
        logged = self._log(ledger)
        every = -(-len(logged) // BIRTHS_A_CHUNK) or 1
        some = logged[::every]
        self.births = np.concatenate([self.births, np.column_stack([some, np.full(len(some), every)])])
        if len(self.births) > MOST_BIRTHS:
            self.births = self.births[::2] * (1, 1, 2)
        ledger.births[0, 0] = 0
        self.carried = self.carried._replace(births=_NO_BIRTHS)

    def _log(self, ledger: Ledger) -> NDArray[np.int64]:
        return np.concatenate([self.carried.births, ledger.births[1 : 1 + ledger.births[0, 0]]])

    def counted(self, ledger: Ledger) -> Ledger:
        """All but births."""
        counts = zip(ledger[1:-1], self.base[1:-1], self.carried[1:-1], strict=True)
        return Ledger._make([ledger.live, *(now - then + before for now, then, before in counts), _NO_BIRTHS])

    def looked(self, ledger: Ledger) -> None:
        """From here on counts are anew."""
        self.base = Ledger._make([*(array.copy() for array in ledger[:-1]), _NO_BIRTHS])
        self.carried = zeroed(ledger)
        self.rows, self.births = 0, np.zeros((0, 3), np.int64)

    def closed(self, ledger: Ledger) -> None:
        """At the end of a call."""
        self.carried = self.counted(ledger)._replace(births=self._log(ledger))
        self.base = zeroed(ledger)


def new_accounts(ledger: Ledger) -> Accounts:
    return Accounts(zeroed(ledger), zeroed(ledger))


def zeroed(ledger: Ledger) -> Ledger:
    return Ledger._make([*(np.zeros_like(array) for array in ledger[:-1]), _NO_BIRTHS])
