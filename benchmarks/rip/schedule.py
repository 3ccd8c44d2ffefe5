"""Many workers, simulated: measured slice times handed out as RB+ does, and the speed-up that comes of it.

An idle worker takes the next slice. Beside it: each worker gets the same number of neighbouring slices beforehand.
Handing out costs nothing here, and workers don't slow each other down: it shows what the slices allow, no more.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks.experiment import Scale
from benchmarks.queries import Q, prices
from benchmarks.records import Baseline, Record
from benchmarks.rip.linear_query import linear_query
from benchmarks.rip.run_based import Prices, slice_seconds
from benchmarks.rip.variants import counted

ROWS = {Scale.SMALL: 4_000_000, Scale.FULL: 20_000_000}
SLICE_ROWS = 2_000
"""Small, so that 256 workers have several each."""
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ROUNDS = 5
TRENDING_SHARE = 0.1
RAMP_ROWS = 40


def idle_takes_next(times: Sequence[float], workers: int) -> float:
    """When the last slice is done.

    >>> idle_takes_next([3.0, 1.0, 1.0, 1.0], 2)
    3.0
    """
    free_at = [0.0] * workers
    for taken in times:
        heapq.heapreplace(free_at, free_at[0] + taken)
    return max(free_at)


def shared_out_before(times: Sequence[float], workers: int) -> float:
    """The same if each worker has its neighbouring slices from the start.

    >>> shared_out_before([3.0, 1.0, 1.0, 1.0], 2)
    4.0
    """
    return max(float(part.sum()) for part in np.array_split(np.asarray(times), workers))


STRATEGIES: dict[str, Callable[[Sequence[float], int], float]] = {
    "idle takes next": idle_takes_next,
    "shared out before": shared_out_before,
}


def trending_prices(count: int) -> Prices:
    """Prices with a stretch in the middle that rises and falls for long: runs stay open there, so slices cost more."""
    price = prices(count).copy()
    ramps = int(TRENDING_SHARE * count) // (2 * RAMP_ROWS)
    stretch = price[count // 2 :][: 2 * RAMP_ROWS * ramps].reshape(ramps, 2, RAMP_ROWS)
    stretch.sort(axis=2)
    stretch[:, 1] = stretch[:, 1, ::-1].copy()
    return price


def measure_schedule(scale: Scale) -> list[Record]:
    """Q1 over even slices and over skewed ones, up to 256 workers."""
    records = []
    for kind, price in (("even", prices(ROWS[scale])), ("skewed", trending_prices(ROWS[scale]))):
        times = _slice_times(price)
        median = Baseline("median slice", float(np.median(times)))
        record = partial(Record, "rip", "schedule", f"Q1, {kind} slices")
        records += [
            record("slices measured", len(times), "slices"),
            record("longest slice", max(times), "s", median),
        ]
        for strategy, last_done in STRATEGIES.items():
            for workers in WORKERS:
                speed_up = sum(times) / last_done(times, workers)
                case = case_of(kind, strategy, workers)
                records.append(Record("rip", "schedule", case, "speed-up, simulated", speed_up, "x"))
    return records


def case_of(kind: str, strategy: str, workers: int) -> str:
    return f"Q1, {kind} slices, {strategy}, {counted(workers, 'worker')}"


def _slice_times(price: Prices) -> list[float]:
    """The shortest of several rounds, slice by slice: what the slice costs, without what else the machine did."""
    rounds = slice_seconds(linear_query(Q["Q1"]), price, SLICE_ROWS, ROUNDS)
    return rounds.min(axis=0).tolist()
