"""Real streams, where they are: Citi Bike trips and Chicago crimes in the folder that OSTINATO_DATA names.

Trips are those that start at the ten busiest stations of Jersey City, which are the keys; the type is the tenth of all
trips by the latitude of where they end (A in the south), x and y are where they end, v is how long they took in
seconds. Crimes are those of the first half of 2018; the key is the ward, x the latitude.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.bounded.streams import DS1_TYPES

FOLDER_VARIABLE = "OSTINATO_DATA"
TRIPS = Path("citibike", "jc_trips_bikeid.parquet")
CRIMES = Path("chicago_crimes", "crimes_2018_h1_full.parquet")
BUSIEST = 10
CLAUSE_WINDOW = 100
"""Rows of a ward that a match may span: about 5,000 of the city."""


def bike_trips() -> pa.Table | None:
    """In the columns of DS1; None without the file."""
    table = _table(TRIPS, ["start_station_id", "end_lat", "end_lng", "duration_s"])
    if table is None:
        return None
    stations, counts = np.unique(table["start_station_id"].to_numpy(), return_counts=True)
    busiest = stations[np.argsort(-counts, kind="stable")[:BUSIEST]]
    table = table.filter(pc.is_in(table["start_station_id"], pa.array(busiest)))
    latitude = table["end_lat"].to_numpy()
    tenth = np.searchsorted(np.quantile(latitude, np.arange(1, len(DS1_TYPES)) / len(DS1_TYPES)), latitude)
    return pa.table(
        {
            "ts": np.arange(len(latitude)),
            "kind": np.array(list(DS1_TYPES))[tenth],
            "id": table["start_station_id"],
            "x": np.radians(latitude),
            "y": np.radians(table["end_lng"].to_numpy()),
            "v": table["duration_s"].to_numpy().astype(np.float64),
        }
    )


def crimes() -> pa.Table | None:
    """None without the file."""
    return _table(CRIMES, ["ts", "primary_type", "ward", "lat"])


def _table(path: Path, columns: list[str]) -> pa.Table | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or not (Path(folder) / path).is_file():
        return None
    return pq.read_table(Path(folder) / path, columns=["event_id", *columns]).sort_by("event_id").drop_null()
