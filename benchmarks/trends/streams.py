"""Streams of typed events, made from a seed -> `Events` as the engines take them. Real ones are in recorded.py.

Ridesharing has the paper's 20 types at 10K to 20K events a minute, stocks the paper's bursts of 120 events of one type.
What the paper leaves open (how often a type occurs, how events fall on drivers) is a parameter here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import Events

Numbers = NDArray[np.int64]

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
START_US = 28_333_320 * MINUTE_US
"""A day of 2023 at a full hour, so that all windows of the workloads start there."""
SHARED = "Travel"
RIDE_TYPES = (
    SHARED,
    *("Request", "Pool", "Accept", "Pickup", "Dropoff", "Cancel", "Wait", "Move", "Idle", "Surge"),
    *("Reroute", "Break", "Share", "Tip", "Rating", "Refund", "Login", "Logout", "Report"),
)
TYPES = len(RIDE_TYPES)
STOCK_BURST = 120


@dataclass(frozen=True, slots=True)
class Stream:
    """Events in the order of time: `kind` numbers `types`; `key` is what queries group by; `values` by name."""

    types: tuple[str, ...]
    kind: Numbers
    time_us: Numbers
    key: Numbers
    values: Mapping[str, Numbers]

    def __len__(self) -> int:
        return len(self.kind)

    def events(self, values: Sequence[str] = ()) -> Events:
        """One sequence for each key; condition i: of type i; the values in the order in which they are named."""
        order = np.argsort(self.key, kind="stable")
        kind, key = self.kind[order], self.key[order]
        starts = np.append(np.flatnonzero(np.diff(key, prepend=-1)), len(key))
        return Events(
            starts=starts,
            time=self.time_us[order],
            place=np.arange(len(key)) - np.repeat(starts[:-1], np.diff(starts)),
            conditions=tuple(kind == number for number in range(len(self.types))),
            values=tuple(self.values[name][order] for name in values),
            valid=(None,) * len(values),
        )

    def table(self) -> pa.Table:
        """(ts, kind, key, values...) as users have it."""
        return pa.table(
            {
                "ts": pa.array(self.time_us, pa.timestamp("us", tz="UTC")),
                "kind": pa.array(self.types).take(pa.array(self.kind)),
                "key": self.key,
                **self.values,
            }
        )


def ridesharing(
    events: int,
    *,
    per_minute: int,
    drivers: int = 1,
    burst: float = 1.0,
    shared: float = 1 / TYPES,
    types: int = TYPES,
    seed: int = 7,
) -> Stream:
    """Events of 20 types at an even rate, no two at the same time; a driver's types come in bursts.

    `shared` is the part of the events that is of the type under Kleene plus; the other types are equally frequent.
    """
    rng = np.random.default_rng(seed)
    key = rng.integers(0, drivers, events)
    kind = np.empty(events, np.int64)
    order = np.argsort(key, kind="stable")
    kind[order] = _bursts(rng, events, burst, _shares(shared, types))
    return Stream(
        types=(*RIDE_TYPES, *(f"Other{number}" for number in range(TYPES, types)))[:types],
        kind=kind,
        time_us=_even_times(events, per_minute),
        key=key,
        values={
            "speed": rng.integers(1, 60, events),
            "duration": rng.integers(1, 100, events),
            "most": rng.integers(30, 60, events),
            "least": rng.integers(1, 30, events),
        },
    )


def in_seconds(stream: Stream) -> Stream:
    """The same with times cut to seconds, as the paper's data has them: most events share theirs with others."""
    time_us = stream.time_us // SECOND_US * SECOND_US
    return Stream(stream.types, stream.kind, time_us, stream.key, stream.values)


def stocks(
    events: int,
    *,
    per_minute: int,
    burst: float = STOCK_BURST,
    types: int = TYPES,
    wild: float = 0.1,
    seed: int = 7,
) -> Stream:
    """Trades of some companies in bursts, every other one of the first company. Each trade says between which prices
    it may be followed (least, most).

    In quiet bursts every price is among them. In wild ones (`wild` of them) it may lie outside of what some trades say:
    then conditions between neighbours fail for some pairs, and queries differ in who may follow whom.
    """
    rng = np.random.default_rng(seed)
    runs = np.where(np.arange(events) % 2 == 0, 0, rng.integers(1, types, events))
    kind = np.repeat(runs, rng.geometric(1 / burst, events))[:events]
    number = np.cumsum(np.diff(kind, prepend=kind[:1]) != 0)
    reach = np.where((number // 2 + 6) % round(1 / wild) == 0, 60, 10)
    return Stream(
        types=tuple(f"S{company:02d}" for company in range(types)),
        kind=kind,
        time_us=_even_times(events, per_minute),
        key=np.zeros(events, np.int64),
        values={
            "price": 1_000 + rng.integers(-reach, reach + 1),
            "volume": rng.integers(1, 1_000, events),
            "most": 1_030 + rng.integers(0, 21, events),
            "least": 970 - rng.integers(0, 21, events),
        },
    )


def _even_times(events: int, per_minute: int) -> Numbers:
    return START_US + np.arange(events) * MINUTE_US // per_minute


def _shares(shared: float, types: int) -> NDArray[np.float64]:
    """How often each type occurs: the shared one so often, the others alike."""
    return np.array([shared, *[(1 - shared) / (types - 1)] * (types - 1)])


def _bursts(rng: np.random.Generator, events: int, mean: float, share: NDArray[np.float64]) -> Numbers:
    """Types in runs whose lengths are geometric; `mean` 1: each event's type is drawn by itself."""
    runs = rng.choice(len(share), events, p=share)
    if mean == 1:
        return runs
    return np.repeat(runs, rng.geometric(1 / mean, events))[:events]
