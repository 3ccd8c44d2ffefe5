"""A seed -> trades and card payments as Arrow tables, the same on every machine, with patterns to find."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

SYMBOLS = ("ARIA", "FUGA", "LIED", "OPUS", "REEL", "SOLO")
"""Invented names."""

MERCHANTS = ("bakery", "books", "cinema", "fuel", "groceries", "pharmacy", "restaurant", "shoes", "streaming", "train")
TARGETS = ("electronics", "gift cards", "jewellery", "travel")
"""Merchants of the large payment with a stolen card."""

FIRST_DAY = datetime(2025, 1, 6)
TRADES_PER_DAY = 390
"""One a minute, from 9:30 to 16:00."""

_PAYMENTS_PER_CARD = 40
_DAYS_OF_PAYMENTS = 60
_STOLEN_SHARE = 0.012


@dataclass(frozen=True, slots=True)
class Payments:
    """Card payments, and the frauds hidden in them: (card, time of the large payment)."""

    table: pa.Table
    planted: frozenset[tuple[str, datetime]]


def make_trades(rows: int, seed: int = 7) -> pa.Table:
    """Trades `(symbol, ts, price, volume)`, sorted by symbol and time. The symbols share the rows evenly.

    Price steps have momentum. Their strength and drift change with the regime (calm, trending, nervous). Without
    momentum, prices would turn at every second row and show no visible shape.

    >>> make_trades(6, seed=1).column("symbol").to_pylist()
    ['ARIA', 'FUGA', 'LIED', 'OPUS', 'REEL', 'SOLO']
    """
    rng = np.random.default_rng(seed)
    counts = [rows // len(SYMBOLS) + (i < rows % len(SYMBOLS)) for i in range(len(SYMBOLS))]
    tables = [_trades_of(symbol, count, rng) for symbol, count in zip(SYMBOLS, counts, strict=True)]
    return pa.concat_tables(tables).combine_chunks()


def _trades_of(symbol: str, count: int, rng: np.random.Generator) -> pa.Table:
    regime_starts = rng.random(count) < 1 / 400
    regime = np.cumsum(regime_starts)
    volatility = rng.choice([0.00022, 0.00038, 0.0006], regime.max(initial=0) + 1, p=[0.4, 0.4, 0.2])[regime]
    drift = rng.normal(0, 0.00003, regime.max(initial=0) + 1)[regime]
    shocks = rng.normal(0, 1, count) * volatility
    steps = np.empty(count)
    momentum = pull = 0.0
    for i in range(count):  # autoregression: each value depends on the one before
        momentum = 0.86 * momentum + float(shocks[i])
        steps[i] = momentum + float(drift[i]) - 0.0008 * pull
        pull += steps[i]  # a weak pull towards the first price keeps prices in range
    price = float(rng.uniform(40, 240)) * np.exp(np.cumsum(steps))
    return pa.table(
        {
            "symbol": pa.array([symbol] * count, pa.string()),
            "ts": pa.array(_trading_times(count, rng), pa.timestamp("us")),
            "price": pa.array(np.round(price, 2)),
            "volume": pa.array(np.round(rng.lognormal(5.5, 0.8, count)).astype(np.int64)),
        }
    )


def _trading_times(count: int, rng: np.random.Generator) -> np.ndarray:
    row = np.arange(count)
    days = np.busday_offset(np.datetime64(FIRST_DAY, "D"), row // TRADES_PER_DAY)
    seconds = (9 * 60 + 30 + row % TRADES_PER_DAY) * 60 + rng.integers(0, 60, count)
    times: np.ndarray = days.astype("datetime64[us]") + seconds.astype("timedelta64[s]")
    return times


def make_payments(rows: int, seed: int = 7) -> Payments:
    """About `rows` payments `(card, ts, merchant, amount)`, sorted by card and time.

    Some cards are stolen. A few tiny payments within minutes test the card, then a large payment follows.
    """
    rng = np.random.default_rng(seed + 1)
    cards = max(1, rows // _PAYMENTS_PER_CARD)
    stolen = set(rng.choice(cards, size=max(1, round(cards * _STOLEN_SHARE)), replace=False).tolist())
    columns: list[tuple[str, datetime, str, float]] = []
    planted: set[tuple[str, datetime]] = set()
    for card in range(cards):
        name = f"card-{card + 1:05d}"
        paid = [(name, *payment) for payment in _everyday(rng)]
        if card in stolen:
            fraud = [(name, *payment) for payment in _fraud(rng)]
            planted.add((name, fraud[-1][1]))
            # No other payment of the card falls into those minutes, so the sequence stays contiguous.
            paid = [row for row in paid if not fraud[0][1] <= row[1] <= fraud[-1][1]] + fraud
        columns += sorted(paid, key=lambda row: row[1])
    card_names, times, merchants, amounts = zip(*columns, strict=True)
    table = pa.table(
        {
            "card": pa.array(card_names, pa.string()),
            "ts": pa.array(times, pa.timestamp("us")),
            "merchant": pa.array(merchants, pa.string()),
            "amount": pa.array(amounts, pa.float64()),
        }
    )
    return Payments(table, frozenset(planted))


def _everyday(rng: np.random.Generator) -> list[tuple[datetime, str, float]]:
    count = int(rng.poisson(_PAYMENTS_PER_CARD - 1)) + 1
    days = rng.integers(0, _DAYS_OF_PAYMENTS, count)
    seconds = np.clip(rng.normal(14.5, 3.5, count), 6, 23.9) * 3600
    amounts = np.round(np.clip(rng.lognormal(3.1, 0.9, count), 1.2, 900), 2)
    shops = rng.integers(0, len(MERCHANTS), count)
    return [
        (FIRST_DAY + timedelta(days=int(day), seconds=int(second)), MERCHANTS[shop], float(amount))
        for day, second, shop, amount in zip(days, seconds, shops, amounts, strict=True)
    ]


def _fraud(rng: np.random.Generator) -> list[tuple[datetime, str, float]]:
    moment = FIRST_DAY + timedelta(
        days=int(rng.integers(3, _DAYS_OF_PAYMENTS - 3)), seconds=int(rng.integers(0, 80_000))
    )
    payments = []
    for _ in range(int(rng.integers(3, 7))):
        payments.append((moment, "streaming", float(np.round(rng.uniform(0.5, 3.0), 2))))
        moment += timedelta(seconds=int(rng.integers(12, 75)))
    payments.append((moment, TARGETS[int(rng.integers(len(TARGETS)))], float(np.round(rng.uniform(260, 1900), 2))))
    return payments
