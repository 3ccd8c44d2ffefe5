"""A seed and a clock -> trades as they might come: the rows of `ostinato console --demo`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

SYMBOLS = ("ARIA", "FUGA", "LIED", "OPUS", "REEL", "SOLO")
"""Invented names."""
SCHEMA = pa.schema(
    [
        pa.field("symbol", pa.string()),
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("price", pa.float64()),
        pa.field("volume", pa.int64()),
    ]
)
TRADES_PER_SECOND = 24
_STEP_US = 1_000_000 // TRADES_PER_SECOND
_MOST_AT_ONCE = 20_000


class DemoTrades:
    """Trades without end. The same seed gives the same prices, whatever the clock says.

    >>> trades = DemoTrades(seed=7, since_us=0)
    >>> trades.until(1_000_000).num_rows, trades.until(1_000_000).num_rows
    (24, 0)
    """

    def __init__(self, *, seed: int, since_us: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._next_us = since_us
        self._price = self._rng.uniform(40, 240, len(SYMBOLS))
        self._first = self._price.copy()
        self._momentum = np.zeros(len(SYMBOLS))

    def until(self, now_us: int) -> pa.Table:
        """The trades since the last call, up to this time. After a long pause, only the last ones."""
        count = max(0, (now_us - self._next_us) // _STEP_US)
        if count > _MOST_AT_ONCE:
            self._next_us += (count - _MOST_AT_ONCE) * _STEP_US
            count = _MOST_AT_ONCE
        names, times, prices, volumes = [], [], [], []
        for _ in range(count):
            which = int(self._rng.integers(len(SYMBOLS)))
            names.append(SYMBOLS[which])
            times.append(self._next_us)
            prices.append(self._step(which))
            volumes.append(round(self._rng.lognormal(5.5, 0.8)))
            self._next_us += _STEP_US
        columns = [pa.array(names, pa.string()), pa.array(times, pa.int64()).cast(SCHEMA.field("ts").type)]
        columns += [pa.array(prices, pa.float64()), pa.array(volumes, pa.int64())]
        return pa.Table.from_arrays(columns, schema=SCHEMA)

    def _step(self, which: int) -> float:
        """The next price of a symbol. Steps have momentum: without it, no shape would be seen."""
        shock = self._rng.normal(0, 0.0006)
        pull = 0.0006 * float(np.log(self._price[which] / self._first[which]))
        self._momentum[which] = 0.86 * self._momentum[which] + shock - pull
        self._price[which] *= np.exp(self._momentum[which])
        return float(round(self._price[which], 2))
