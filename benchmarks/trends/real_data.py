"""Figure 11: NYC taxi and smart home, by events a minute and by queries. Workload 1 on real streams.

Taxi windows last 30 minutes (the paper has 200 events a minute), smart-home windows a minute (20 K events a minute).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.experiment import Scale
from benchmarks.records import Record
from benchmarks.trends.figures import measured, setting_of
from benchmarks.trends.recorded import FOLDER_VARIABLE, plug_loads, taxi_trips
from benchmarks.trends.streams import MINUTE_US, TYPES, Stream
from benchmarks.trends.techniques import GRETA, PLAIN, SEPARATE, SHARED, SHARED_APPROXIMATE, sampled
from benchmarks.trends.workloads import alike

FIGURE = "figure 11"


@dataclass(frozen=True, slots=True)
class DataSet:
    name: str
    stream: Callable[[int, float], Stream | None]
    window_us: int
    per_minute: tuple[int, ...]
    usual: int
    """Events a minute while the number of queries varies."""


DATA_SETS = (
    DataSet("NYC taxi", taxi_trips, 30 * MINUTE_US, (100, 200, 300, 400), 200),
    DataSet("smart home", plug_loads, MINUTE_US, (10_000, 15_000, 20_000), 20_000),
)
USUAL_QUERIES = 50
QUERY_COUNTS = {Scale.SMALL: (10, 100), Scale.FULL: (10, 25, 75, 100)}
WINDOWS = {Scale.SMALL: 1, Scale.FULL: 5}
TECHNIQUES = (sampled(GRETA, 10), PLAIN, SEPARATE, SHARED, SHARED_APPROXIMATE)


def measure_real_data(scale: Scale) -> list[Record]:
    records = []
    for data in DATA_SETS:
        settings = [(per_minute, USUAL_QUERIES) for per_minute in data.per_minute]
        settings += [(data.usual, queries) for queries in QUERY_COUNTS[scale]]
        for per_minute, count in settings:
            events = per_minute * data.window_us // MINUTE_US * WINDOWS[scale]
            stream = data.stream(events, per_minute)
            if stream is None:
                note = f"not measured: {FOLDER_VARIABLE} names no folder with this data"
                records.append(Record("trends", FIGURE, data.name, "events", 0, "", notes=(note,)))
                break
            setting = f"{data.name}, {setting_of(per_minute, count)}"
            queries = alike(count, TYPES, data.window_us)
            records += measured(FIGURE, setting, queries, stream, TECHNIQUES, TECHNIQUES[0])[0]
    return records
