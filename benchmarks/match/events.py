"""Parquet files of keyed prices for the Spark parts: written once, in a folder that goes away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.queries import prices

FILES = 4
"""So that two cores have something to share."""
START_US = 1_700_000_000_000_000


def keyed_events(rows: int, keys: int) -> pa.Table:
    """(key, ts, price): keys drawn at random, one event a millisecond, no two at the same time."""
    number = np.random.default_rng(7).integers(0, keys, rows)
    names = pa.array([f"k{i:06d}" for i in range(keys)])
    return pa.table(
        {
            "key": names.take(pa.array(number)),
            "ts": pa.array(START_US + 1_000 * np.arange(rows), pa.timestamp("us", tz="UTC")),
            "price": prices(rows),
        }
    )


def write_events(events: pa.Table, folder: Path) -> None:
    """A few files of equal size, in the order of time."""
    folder.mkdir(parents=True)
    size = -(-events.num_rows // FILES)
    for i in range(FILES):
        pq.write_table(events.slice(i * size, size), folder / f"part-{i}.parquet")
