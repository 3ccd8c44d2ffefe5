"""How the time grows: from 10 to 100 queries, and from windows of 1,000 events to windows of 100,000.

Queries grow in two ways. With 20 types whatever the number of queries, an event beside Travel is one of ten times as
many queries, and each has a number of its own to change. With two types for each query it is one of one query: what
grows then is only how many queries share Travel+.
"""

from __future__ import annotations

from benchmarks.experiment import Scale
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.trends.fifty_queries import GOAL_MIX, LEAST_EVENTS, PER_MINUTE, QUERIES, SHARES, setting_of, workload
from benchmarks.trends.figures import case_of
from benchmarks.trends.streams import MINUTE_US, Stream, ridesharing
from benchmarks.trends.techniques import SEPARATE, SHARED, SHARED_APPROXIMATE, Technique, timed
from benchmarks.trends.workloads import ChainQuery, apart

QUERY_COUNTS = (10, 25, 50, 100)
WINDOWS = (1_000, 10_000, 100_000)
WINDOW = 10_000
EVENTS = {Scale.SMALL: 300_000, Scale.FULL: 2_000_000}
"""While queries grow; fewer take a few milliseconds, which can't be told apart."""
OWN_TYPES = f"{GOAL_MIX}, two types for each query"
TECHNIQUES = (SEPARATE, SHARED, SHARED_APPROXIMATE)
MORE_QUERIES_GOAL = Goal(Sense.BELOW, 2.0, of_ratio=True)
LINEAR_GOAL = Goal(Sense.AT_MOST, 1.25, of_ratio=True)
"""Time for each event, in windows ten times as long: 1 is linear growth, the rest is what machines do."""


def measure_growth_with_queries(scale: Scale) -> list[Record]:
    return [record for own_types in (False, True) for record in _growth_with_queries(scale, own_types)]


def _growth_with_queries(scale: Scale, own_types: bool) -> list[Record]:
    """Seconds for the same number of events; the largest workload beside the smallest."""
    mix = OWN_TYPES if own_types else GOAL_MIX
    seconds: dict[tuple[str, int], float] = {}
    for count in QUERY_COUNTS:
        queries, stream = (_workload_apart if own_types else _workload)(count, EVENTS[scale])
        setting = setting_of(WINDOW, mix, count)
        times = timed(setting, [query.program() for query in queries], stream.events(), TECHNIQUES)
        seconds.update(((technique, count), taken) for technique, taken in times.seconds.items())
    return [
        Record(
            "trends",
            "growth with queries",
            case_of(setting_of(WINDOW, mix, count), technique.name),
            "time",
            seconds[technique.name, count],
            "s",
            *_beside_fewest(seconds, technique, count),
        )
        for technique in TECHNIQUES
        for count in QUERY_COUNTS
    ]


def _workload(count: int, events: int) -> tuple[list[ChainQuery], Stream]:
    return workload(WINDOW, SHARES[GOAL_MIX], events, count)


def _workload_apart(count: int, events: int) -> tuple[list[ChainQuery], Stream]:
    stream = ridesharing(events, per_minute=PER_MINUTE, shared=SHARES[GOAL_MIX], types=2 * count + 1)
    return apart(count, WINDOW * MINUTE_US // PER_MINUTE), stream


def _beside_fewest(
    seconds: dict[tuple[str, int], float], technique: Technique, count: int
) -> tuple[Baseline | None, Goal | None]:
    if count == QUERY_COUNTS[0]:
        return None, None
    beside = Baseline(f"{QUERY_COUNTS[0]} queries", seconds[technique.name, QUERY_COUNTS[0]])
    asked = count == QUERY_COUNTS[-1] and technique is not SEPARATE
    return beside, MORE_QUERIES_GOAL if asked else None


def measure_growth_with_windows(scale: Scale) -> list[Record]:
    """Nanoseconds for an event; each window beside one of a tenth of its length."""
    records = []
    each: dict[tuple[str, int], float] = {}
    for window in WINDOWS:
        queries, stream = workload(window, SHARES[GOAL_MIX], LEAST_EVENTS[scale])
        setting = setting_of(window, GOAL_MIX, QUERIES)
        times = timed(setting, [query.program() for query in queries], stream.events(), TECHNIQUES)
        for technique in TECHNIQUES:
            each[technique.name, window] = 1e9 * times.seconds[technique.name] / len(stream)
            shorter = each.get((technique.name, window // 10))
            beside = None if shorter is None else Baseline(f"windows of {window // 10:,}", shorter)
            asked = beside is not None and technique is not SEPARATE
            records.append(
                Record(
                    "trends",
                    "growth with windows",
                    case_of(setting, technique.name),
                    "time for an event",
                    each[technique.name, window],
                    "ns",
                    beside,
                    LINEAR_GOAL if asked else None,
                )
            )
    return records
