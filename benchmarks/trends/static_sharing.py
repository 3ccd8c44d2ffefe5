"""Figures 12 and 13: sharing decided for each burst against sharing always or never. Stocks, workload 2.

Bursts of 120 events on average, 2K to 4K events a minute, 20 to 100 queries with windows of 5 to 20 minutes, half of
them with a condition between neighbours that holds for some pairs only. Such a condition makes every event ask for its
predecessors, so the windows are cut down to a part of the paper's: `MINUTE_PART`, told with every case.
"""

from __future__ import annotations

from benchmarks.experiment import Scale
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.trends.figures import measured, setting_of
from benchmarks.trends.streams import MINUTE_US, SECOND_US, TYPES, Stream, stocks
from benchmarks.trends.techniques import ALWAYS, GRETA, NEVER, SEPARATE, SHARED, Technique, Timed
from benchmarks.trends.workloads import ChainQuery, diverse

FIGURE = "figure 12"
PER_MINUTE = {Scale.SMALL: (2_000, 3_000), Scale.FULL: (2_000, 2_500, 3_000, 3_500, 4_000)}
QUERY_COUNTS = {Scale.SMALL: (20,), Scale.FULL: (20, 40, 60, 80, 100)}
USUAL_QUERIES = 50
USUAL_PER_MINUTE = 2_000
MINUTE_PART = {Scale.SMALL: 10, Scale.FULL: 4}
"""Windows last 5 to 20 such parts of a minute, and the stream as long as the longest of them."""
MINUTES = 20
LESS_LATENCY = Goal(Sense.AT_MOST, 0.79, of_ratio=True)
"""The paper's smallest gain: 21 % less latency than static sharing."""
VALUES = ("price", "volume", "most", "least")
TECHNIQUES: tuple[Technique, ...] = (ALWAYS, NEVER, SEPARATE, SHARED, GRETA)


def settings(scale: Scale) -> list[tuple[int, int]]:
    """(events a minute, queries): one varies, then the other."""
    rates = [(per_minute, USUAL_QUERIES) for per_minute in PER_MINUTE[scale]]
    return list(dict.fromkeys([*rates, *((USUAL_PER_MINUTE, queries) for queries in QUERY_COUNTS[scale])]))


def workload(per_minute: int, queries: int, scale: Scale) -> tuple[list[ChainQuery], Stream]:
    """Also for the memory of figure 13, and for the time of decisions."""
    part = MINUTE_PART[scale]
    asked = diverse(queries, TYPES, VALUES, minute_us=MINUTE_US // part)
    return asked, stocks(per_minute * MINUTES // part, per_minute=per_minute)


def measure_static_sharing(scale: Scale) -> list[Record]:
    records = []
    for per_minute, count in settings(scale):
        queries, stream = workload(per_minute, count, scale)
        setting = setting_of(per_minute, count)
        found, times = measured(FIGURE, setting, queries, stream, TECHNIQUES, ALWAYS)
        longest = max(query.window_us for query in queries) / SECOND_US
        note = f"windows of up to {longest:.0f} s, {len(stream):,} events; the paper's last 20 minutes"
        records += [*found, *(_latency(setting, times, static, note) for static in (ALWAYS, NEVER))]
    return records


def _latency(setting: str, times: Timed, static: Technique, note: str) -> Record:
    """The paper's figure is beside sharing always; beside never it is only reported."""
    beside = Baseline(static.name, times.seconds[static.name])
    goal = LESS_LATENCY if static is ALWAYS else None
    case = f"{setting}: dynamic over {static.name}"
    return Record("trends", FIGURE, case, "time", times.seconds[SHARED.name], "s", beside, goal, (note,))
