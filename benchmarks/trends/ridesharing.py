"""Figure 9: ridesharing, all techniques, by events a minute and by queries. Workload 1, windows of a minute by driver.

The paper chose a setting in which all end. A trend must lie within one driver's minute here (20 to 40 events, every
fifth Travel), so that there are millions of trends, and not 2^1000 of them.
"""

from __future__ import annotations

import numpy as np

from benchmarks.experiment import Scale
from benchmarks.records import Record
from benchmarks.trends.figures import measured, setting_of
from benchmarks.trends.streams import MINUTE_US, TYPES, Stream, in_seconds, ridesharing
from benchmarks.trends.techniques import (
    FLATTENED,
    GRETA,
    PLAIN,
    SEPARATE,
    SHARED,
    SHARED_APPROXIMATE,
    TWO_STEP,
)
from benchmarks.trends.workloads import ChainQuery, alike

PER_MINUTE = {Scale.SMALL: (10_000, 15_000, 20_000), Scale.FULL: (10_000, 12_500, 15_000, 17_500, 20_000)}
QUERY_COUNTS = (5, 10, 15, 20, 25)
MOST_QUERIES = QUERY_COUNTS[-1]
LEAST_PER_MINUTE = 10_000
MINUTES = {Scale.SMALL: 1, Scale.FULL: 5}
DRIVERS = 500
SHARE = 0.2
MOST_TRENDS = 100_000_000
"""So many are built in some seconds."""
TECHNIQUES = (TWO_STEP, FLATTENED, GRETA, PLAIN, SEPARATE, SHARED, SHARED_APPROXIMATE)


def workload(per_minute: int, queries: int, scale: Scale) -> tuple[list[ChainQuery], Stream]:
    """Also for the memory of figure 10."""
    stream = ridesharing(per_minute * MINUTES[scale], per_minute=per_minute, drivers=DRIVERS, shared=SHARE)
    return alike(queries, TYPES, MINUTE_US), stream


def settings(scale: Scale) -> list[tuple[int, int]]:
    """(events a minute, queries): one varies, then the other."""
    rates = [(per_minute, MOST_QUERIES) for per_minute in PER_MINUTE[scale]]
    return list(dict.fromkeys([*rates, *((LEAST_PER_MINUTE, queries) for queries in QUERY_COUNTS)]))


def measure_ridesharing(scale: Scale) -> list[Record]:
    """The baseline is GRETA, as in the paper; at the end once more with times in seconds, where many are equal."""
    records = []
    for per_minute, count in settings(scale):
        queries, stream = workload(per_minute, count, scale)
        records += _measure(setting_of(per_minute, count), queries, stream)
    queries, stream = workload(LEAST_PER_MINUTE, MOST_QUERIES, scale)
    setting = f"{setting_of(LEAST_PER_MINUTE, MOST_QUERIES)}, times in seconds"
    return records + _measure(setting, queries, in_seconds(stream))


def _measure(setting: str, queries: list[ChainQuery], stream: Stream) -> list[Record]:
    """Without the two-step way where there are too many trends to build."""
    trends = trend_count(queries, stream)
    techniques = [technique for technique in TECHNIQUES if technique is not TWO_STEP or trends <= MOST_TRENDS]
    records, _ = measured("figure 9", setting, queries, stream, techniques, GRETA)
    return [*records, Record("trends", "figure 9", setting, "trends of all queries", trends, "trends")]


def trend_count(queries: list[ChainQuery], stream: Stream) -> int:
    found = PLAIN.run([query.program() for query in queries], stream.events())
    return sum(int(count) for results in found for count in np.asarray(results.count))
