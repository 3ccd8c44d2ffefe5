"""Time and counts of chunks -> what an event, a visit, a check and a birth cost: least squares with faded sums.

The paper takes predicates and bytes for the cost of a partial match. What costs how much depends on the machine and on
the conditions: making a partial match may cost several times as much as looking at one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.clock import Work
from ostinato.kernels.kernel_cache import borrowing_kernel

Reals = NDArray[np.float64]
EVENT, VISIT, CHECK, BIRTH = range(4)
_KINDS = 4
_ROUNDS = 200
_USUAL = np.array([2.0, 1.0, 0.5, 3.0])
"""How prices usually are to one another."""
_PRIOR = 0.01
"""How much, beside what was measured, is believed in that: chunks of one kind can't tell prices apart."""


@dataclass(slots=True)
class Tariff:
    squares: Reals = field(default_factory=lambda: np.zeros((_KINDS, _KINDS)))
    products: Reals = field(default_factory=lambda: np.zeros(_KINDS))
    known: Reals | None = field(default=None, init=False)
    """The prices, where nothing was observed since they were worked out."""

    def observe(self, work: Work, spent_ns: int, fade: float) -> None:
        counts = np.array([work.events, work.visits, work.checks, work.births], np.float64)
        size = max(float(np.sqrt((counts**2).sum())), 1.0)  # a long chunk says as much as a short one
        counts, spent = counts / size, spent_ns / size
        self.squares = self.squares * fade + np.outer(counts, counts)
        self.products = self.products * fade + counts * spent
        self.known = None

    def prices(self) -> Reals:
        """[kind] in nanoseconds, none below zero; all 1 before anything was measured."""
        if self.known is None:
            self.known = self._worked_out()
        return self.known

    def _worked_out(self) -> Reals:
        """Multiplicative updates: they stay positive, and a problem of this size is solved in microseconds."""
        total = float(np.trace(self.squares))
        scale = float(self.products @ _USUAL / (_USUAL @ self.squares @ _USUAL)) if total else 1.0
        if not total or not scale > 0:
            return np.ones(_KINDS)
        squares = self.squares + _PRIOR * total / _KINDS * np.eye(_KINDS)
        products = self.products + _PRIOR * total / _KINDS * scale * _USUAL
        prices, asked = scale * _USUAL, np.empty(_KINDS)
        _solve(squares, products, prices, asked)
        return prices


@borrowing_kernel
def _solve(squares, products, prices, asked):  # type: ignore[no-untyped-def]
    """Changes `prices`; `asked` is room to work in."""
    for _ in range(_ROUNDS):
        for kind in range(_KINDS):
            asked[kind] = 0.0
            for other in range(_KINDS):
                asked[kind] += squares[kind, other] * prices[other]
        for kind in range(_KINDS):
            prices[kind] *= products[kind] / max(asked[kind], 1e-12)
