"""Real streams, where they are: Citi Bike trips and NASDAQ minute bars in the folder that OSTINATO_DATA names.

Letters follow the rules that the authors publish with their code: the first that holds. One event a microsecond, as in
their streams. Their month of New York trips and their day of bars aren't at hand: these are three months of Jersey
City's trips, and forty minutes of bars. So shares of letters differ; probabilities are those of the stream itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.summary.streams import Letters, kind_of

FOLDER_VARIABLE = "OSTINATO_DATA"
TRIPS = Path("citibike", "jc_trips_2021_newschema.parquet")
BARS = Path("nasdaq_minute", "nasdaq_1514tickers_40min.parquet")
BUSIEST, MOST_CENTRAL, MOST_FREQUENT = 20, 20, 50
Mask = NDArray[np.bool_]


def bike_trips() -> Letters | None:
    """None without the file."""
    columns = ["duration_s", "start_station_id", "end_station_id", "start_lat", "start_lng", "user_type"]
    table = _table(TRIPS, columns)
    if table is None:
        return None
    start, end = (np.array(table[name].to_pylist(), dtype=object).astype(str) for name in columns[1:3])
    seconds, member = table["duration_s"].to_numpy(), np.array(table["user_type"].to_pylist()) == "member"
    mean = seconds.mean()
    busy = _most_frequent(np.concatenate((start, end)), BUSIEST)
    central = _most_central(start, table["start_lat"].to_numpy(), table["start_lng"].to_numpy())
    route = np.char.add(np.char.add(start, ">"), end)
    frequent = np.isin(route, _most_frequent(route, MOST_FREQUENT))
    at_busy = np.isin(start, busy) | np.isin(end, busy)
    at_central = np.isin(start, central) | np.isin(end, central)
    rules: list[tuple[str, Mask]] = [
        ("A", frequent & member),
        ("B", frequent),
        ("C", at_busy & (seconds < mean / 2)),
        ("D", at_busy & (seconds < mean)),
        ("E", at_busy),
        ("F", at_central & (seconds > mean)),
        ("G", np.isin(start, central) & ~member),
        ("H", at_central),
        ("I", ~member & (seconds < mean)),
        ("J", member),
        ("K", np.ones(len(start), np.bool_)),
    ]
    return _letters("Citi Bike trips", rules)


def minute_bars() -> Letters | None:
    """None without the file. Bars without a rule are left out, as by the authors."""
    table = _table(BARS, ["open", "high", "low", "close", "volume"])
    if table is None:
        return None
    first, high, low, last, volume = (table[name].to_numpy() for name in ("open", "high", "low", "close", "volume"))
    rules: list[tuple[str, Mask]] = [
        ("A", last > first * 1.005),
        ("B", last < first * 0.995),
        ("C", volume > np.percentile(volume, 90)),
        ("D", last == high),
        ("E", last == low),
        ("F", high - low < 0.005 * first),
        ("G", (high - low > 0.01 * first) & (np.abs(last - first) < 0.001 * first)),
        ("H", volume < np.percentile(volume, 10)),
    ]
    return _letters("NASDAQ bars", rules)


def _table(path: Path, columns: list[str]) -> pa.Table | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or not (Path(folder) / path).is_file():
        return None
    return pq.read_table(Path(folder) / path, columns=["event_id", *columns]).sort_by("event_id")


def _most_frequent(names: NDArray[np.str_], number: int) -> NDArray[np.str_]:
    distinct, counts = np.unique(names, return_counts=True)
    return distinct[np.argsort(-counts, kind="stable")[:number]]


def _most_central(names: NDArray[np.str_], lat: NDArray[np.float64], lng: NDArray[np.float64]) -> NDArray[np.str_]:
    """The stations nearest to the mean position of departures."""
    distinct, first = np.unique(names, return_index=True)
    away = np.hypot(lat[first] - np.nanmean(lat), lng[first] - np.nanmean(lng))
    return distinct[np.argsort(away, kind="stable")[:MOST_CENTRAL]]


def _letters(name: str, rules: Sequence[tuple[str, Mask]]) -> Letters:
    letters, masks = "".join(letter for letter, _ in rules), np.stack([mask for _, mask in rules])
    named = masks.any(axis=0)
    places = np.argmax(masks[:, named], axis=0)
    shares = np.bincount(places, minlength=len(letters)) / len(places)
    kind = kind_of(name, dict(zip(letters, shares.tolist(), strict=True)))
    return Letters(kind, places, np.arange(len(places), dtype=np.int64))
