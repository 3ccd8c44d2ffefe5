"""Real streams, where they are: NYC taxi trips and smart-home measurements in the folder that OSTINATO_DATA names.

Types are what the data has to tell: a trip's zone of departure, of which the most frequent is the shared one; a plug's
load above zero, or else its house. As in the paper the rate is set by speeding the stream up or slowing it down.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.trends.streams import MINUTE_US, SECOND_US, START_US, TYPES, Stream

FOLDER_VARIABLE = "OSTINATO_DATA"
TAXI = Path("nyc_taxi", "green_2023_12.parquet")
SMART_HOME = Path("debs14_smart_home", "all_plugs_first_7s.parquet")


def taxi_trips(events: int, per_minute: float) -> Stream | None:
    """Green taxis by the 20 zones of most departures; times in seconds, some of them equal. None without the file."""
    table = _table(TAXI, ["event_id", "ts", "pickup_zone_id", "passenger_count", "distance_mi"])
    if table is None:
        return None
    zone = table["pickup_zone_id"].to_numpy()
    zones, trips = np.unique(zone, return_counts=True)
    rank = {int(zones[place]): number for number, place in enumerate(np.argsort(-trips)[:TYPES])}
    kind = np.array([rank.get(int(number), -1) for number in zone])
    at = np.flatnonzero(kind >= 0)
    at = at[np.argsort(table["ts"].to_numpy()[at], kind="stable")]
    names = tuple(f"Zone{number}" for number in rank)
    miles = np.round(table["distance_mi"].to_numpy()[at] * 100).astype(np.int64)
    return _at_rate(names, kind[at], _microseconds(table)[at], {"hundredths_mi": miles}, events, per_minute)


def plug_loads(events: int, per_minute: float) -> Stream | None:
    """All plugs of 40 houses. Within a second events come in the order of the file, evenly spread."""
    table = _table(SMART_HOME, ["event_id", "ts", "event_type", "value", "house_id"])
    if table is None:
        return None
    is_load = np.array(table["event_type"].to_pylist()) == "LOAD"
    value = table["value"].to_numpy()
    kind = np.where(is_load & (value > 0), 0, 1 + table["house_id"].to_numpy() % (TYPES - 1))
    names = ("Load", *(f"House{number}" for number in range(TYPES - 1)))
    values = {"milliwatts": np.round(value * 1_000).astype(np.int64)}
    return _at_rate(names, kind, _spread(_microseconds(table)), values, events, per_minute)


def _table(path: Path, columns: list[str]) -> pa.Table | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or not (Path(folder) / path).is_file():
        return None
    return pq.read_table(Path(folder) / path, columns=columns).sort_by("event_id")


def _microseconds(table: pa.Table) -> NDArray[np.int64]:
    return np.asarray(table["ts"].cast(pa.timestamp("us")).to_numpy(), "datetime64[us]").astype(np.int64)


def _spread(time_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Events of one second at even distances within it."""
    seconds, place, number = np.unique(time_us // SECOND_US, return_inverse=True, return_counts=True)
    first = np.cumsum(number) - number
    within = (np.arange(len(time_us)) - first[place]) / number[place]
    return seconds[place] * SECOND_US + (within * SECOND_US).astype(np.int64)


def _at_rate(
    types: tuple[str, ...],
    kind: NDArray[np.int64],
    time_us: NDArray[np.int64],
    values: dict[str, NDArray[np.int64]],
    events: int,
    per_minute: float,
) -> Stream:
    """The first so many events, over and over if there are fewer, with so many a minute on average."""
    taken = min(events, len(kind))
    lasts = (time_us[taken - 1] - time_us[0]) * taken // max(taken - 1, 1)
    times = -(-events // taken)
    repeated = np.concatenate([time_us[:taken] - time_us[0] + turn * lasts for turn in range(times)])[:events]
    speed_up = (lasts / taken) / (MINUTE_US / per_minute)
    return Stream(
        types=types,
        kind=np.resize(kind[:taken], events),
        time_us=START_US + (repeated / speed_up).astype(np.int64),
        key=np.zeros(events, np.int64),
        values={name: np.resize(column[:taken], events) for name, column in values.items()},
    )
