"""Ledger -> what it grew by: since the keeper last looked, across calls, and across chunks.

A matcher's ledger begins at zero in every call. Chunks are cut by rows of the stream, so one may begin in one call and
end in the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.techniques.bounded_latency.ledger import BIRTHS, Ledger

_NO_BIRTHS = np.zeros((1, 2), np.int64)


@dataclass(slots=True)
class ChunkSoFar:
    """The chunk that is being taken."""

    rows: int = 0
    spent_ns: int = 0
    step_work: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(slots=True)
class Accounts:
    """`carried` is what earlier calls counted since the keeper last looked."""

    carried: Ledger
    base: Ledger
    """The ledger of this call when it was last looked at."""
    rows: int = 0
    """Events since the keeper last looked."""

    def counted(self, ledger: Ledger) -> Ledger:
        counts = zip(ledger[1:-1], self.base[1:-1], self.carried[1:-1], strict=True)
        grown = [now - then + before for now, then, before in counts]
        logged = ledger.births[1 : 1 + ledger.births[0, 0]]
        births = np.concatenate([_NO_BIRTHS, self.carried.births[1:], logged])[: BIRTHS + 1]
        births[0, 0] = len(births) - 1
        return Ledger._make([ledger.live.copy(), *grown, births])

    def looked(self, ledger: Ledger) -> None:
        """From here on counts are anew."""
        ledger.births[0, 0] = 0
        self.base = _copied(ledger)
        self.carried = zeroed(ledger)
        self.rows = 0

    def closed(self, ledger: Ledger) -> None:
        """At the end of a call."""
        self.carried = self.counted(ledger)
        self.base = zeroed(ledger)


def new_accounts(ledger: Ledger) -> Accounts:
    return Accounts(zeroed(ledger), zeroed(ledger))


def zeroed(ledger: Ledger) -> Ledger:
    return Ledger._make([*(np.zeros_like(array) for array in ledger[:-1]), _NO_BIRTHS.copy()])


def _copied(ledger: Ledger) -> Ledger:
    return Ledger._make([*(array.copy() for array in ledger[:-1]), _NO_BIRTHS])
