"""Times and counts of chunks -> the prices of an event, a visit, a check and a birth, by least squares with faded sums.

The paper counts predicates and bytes as the cost of a partial match. Real prices depend on the machine and on the
conditions: making a partial match may cost several times as much as visiting one.
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
"""Usual ratios of the prices."""
_PRIOR = 0.01
"""Weight of the usual ratios beside the measurements. Chunks of one kind can't tell the prices apart."""


@dataclass(slots=True)
class Tariff:
    """Sums for the least squares, faded from chunk to chunk."""

    squares: Reals = field(default_factory=lambda: np.zeros((_KINDS, _KINDS)))
    products: Reals = field(default_factory=lambda: np.zeros(_KINDS))
    cached_prices: Reals | None = field(default=None, init=False)
    """None: chunks were observed since the prices were computed."""

    def observe(self, work: Work, spent_ns: int, fade: float) -> None:
        counts = np.array([work.events, work.visits, work.checks, work.births], np.float64)
        size = max(float(np.sqrt((counts**2).sum())), 1.0)  # long and short chunks have equal weight
        counts, spent = counts / size, spent_ns / size
        self.squares = self.squares * fade + np.outer(counts, counts)
        self.products = self.products * fade + counts * spent
        self.cached_prices = None

    def prices(self) -> Reals:
        """[kind] nanoseconds, never negative; all 1 before the first measurement."""
        if self.cached_prices is None:
            self.cached_prices = self._solved_prices()
        return self.cached_prices

    def _solved_prices(self) -> Reals:
        """Multiplicative updates keep prices positive, and solve a problem of this size in microseconds."""
        total = float(np.trace(self.squares))
        scale = float(self.products @ _USUAL / (_USUAL @ self.squares @ _USUAL)) if total else 1.0
        if not total or not scale > 0:
            return np.ones(_KINDS)
        squares = self.squares + _PRIOR * total / _KINDS * np.eye(_KINDS)
        products = self.products + _PRIOR * total / _KINDS * scale * _USUAL
        prices, predicted = scale * _USUAL, np.empty(_KINDS)
        _solve(squares, products, prices, predicted)
        return prices


@borrowing_kernel
def _solve(squares, products, prices, predicted):  # type: ignore[no-untyped-def]
    """Changes `prices`; `predicted` is scratch space."""
    for _ in range(_ROUNDS):
        for kind in range(_KINDS):
            predicted[kind] = 0.0
            for other in range(_KINDS):
                predicted[kind] += squares[kind, other] * prices[other]
        for kind in range(_KINDS):
            prices[kind] *= products[kind] / max(predicted[kind], 1e-12)
