"""The goals: 50 queries that share Travel+, one core, windows of 10,000 and 100,000 events.

Half of the events are Travel: with that the plain way is about as fast as the issue has it (143 K and 57 K events/s),
so that is what the goals are about. Beside it all 20 types equally frequent, where few events are shared by queries.
"""

from __future__ import annotations

from benchmarks.experiment import Scale
from benchmarks.records import Goal, Record, Sense
from benchmarks.trends.figures import measured, over
from benchmarks.trends.streams import MINUTE_US, TYPES, Stream, ridesharing
from benchmarks.trends.techniques import (
    GRETA,
    GRETA_EXACT,
    PLAIN,
    SEPARATE,
    SEPARATE_APPROXIMATE,
    SHARED,
    SHARED_APPROXIMATE,
    Technique,
    sampled,
)
from benchmarks.trends.workloads import ChainQuery, alike

FIGURE = "50 queries"
QUERIES = 50
PER_MINUTE = 10_000
WINDOWS = (10_000, 100_000)
LEAST_EVENTS = {Scale.SMALL: 100_000, Scale.FULL: 500_000}
GOAL_MIX = "half Travel"
SHARES = {GOAL_MIX: 1 / 2, "types alike": 1 / TYPES}
OVER_PLAIN = {10_000: 5.0, 100_000: 3.0}
APPROXIMATE_GOAL = Goal(Sense.AT_LEAST, 2e6)
OVER_GRETA = Goal(Sense.AT_LEAST, 1_000.0, of_ratio=True)
GRETA_EVERY = {10_000: 10, 100_000: 50}
EXACT_GRETA_WINDOW = 10_000
"""In windows of 100,000 events one query visits a billion events, and each is a number of thousands of digits."""


def setting_of(window: int, mix: str, queries: int = QUERIES) -> str:
    """
    >>> setting_of(10_000, "types alike")
    '50 queries, 10,000 events a window, types alike'
    """
    return f"{queries} queries, {window:,} events a window, {mix}"


def workload(window: int, share: float, events: int, queries: int = QUERIES) -> tuple[list[ChainQuery], Stream]:
    """Windows of so many events, at least one of them."""
    stream = ridesharing(max(events, window), per_minute=PER_MINUTE, shared=share)
    return alike(queries, TYPES, window * MINUTE_US // PER_MINUTE), stream


def measure_fifty_queries(scale: Scale) -> list[Record]:
    records = []
    for mix, share in SHARES.items():
        for window in WINDOWS:
            queries, stream = workload(window, share, LEAST_EVENTS[scale])
            records += _measure(window, mix, queries, stream)
    return records


def _measure(window: int, mix: str, queries: list[ChainQuery], stream: Stream) -> list[Record]:
    """GRETA on doubles beside our doubles, and on exact numbers beside our exact ones."""
    visiting, visiting_exact = sampled(GRETA, GRETA_EVERY[window]), sampled(GRETA_EXACT, QUERIES)
    over_plain = Goal(Sense.AT_LEAST, OVER_PLAIN[window], of_ratio=True)
    goals = {SHARED.name: over_plain, SHARED_APPROXIMATE.name: APPROXIMATE_GOAL} if mix == GOAL_MIX else {}
    over_greta = OVER_GRETA if mix == GOAL_MIX else None
    techniques = [PLAIN, visiting, SEPARATE, SEPARATE_APPROXIMATE, SHARED, SHARED_APPROXIMATE]
    pairs: list[tuple[Technique, Technique, Goal | None]] = [
        (SHARED, SEPARATE, None),
        (SHARED_APPROXIMATE, SEPARATE_APPROXIMATE, None),
    ]
    pairs.append((SHARED_APPROXIMATE, visiting, over_greta))
    if window <= EXACT_GRETA_WINDOW:
        techniques.append(visiting_exact)
        pairs.append((SHARED, visiting_exact, over_greta))
    setting = setting_of(window, mix)
    records, times = measured(FIGURE, setting, queries, stream, techniques, PLAIN, goals)
    records = [record for record in records if record.metric == "throughput"]
    return records + [over(FIGURE, setting, *pair[:2], times, len(stream), pair[2]) for pair in pairs]
