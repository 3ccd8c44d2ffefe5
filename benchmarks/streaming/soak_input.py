"""Events without end for the soak: seeded chunks, each written as a file when its second has come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.match.events import START_US

SEED = 7


@dataclass(frozen=True, slots=True)
class Rate:
    """One file a second."""

    rows_per_second: int
    keys: int


def chunk(rate: Rate, second: int) -> pa.Table:
    """The events of one second, in the order of time; the same ones whenever they are asked for."""
    rng = np.random.default_rng((SEED, second))
    rows = rate.rows_per_second
    times = START_US + 1_000_000 * second + np.arange(rows) * 1_000_000 // rows
    return pa.table(
        {
            "key": pa.array(rng.integers(0, rate.keys, rows)),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "price": pa.array(rng.uniform(50, 150, rows)),
        }
    )


def write_chunk(rate: Rate, second: int, folder: Path) -> None:
    """Renamed when it is whole: Spark doesn't look at names that begin with a dot."""
    name = f"{second:06d}.parquet"
    pq.write_table(chunk(rate, second), folder / f".{name}")
    (folder / f".{name}").rename(folder / name)


class ChunkWriter(threading.Thread):
    """Writes one chunk a second until it is told to stop; `written` says how many. Late chunks follow at once."""

    def __init__(self, rate: Rate, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(daemon=True)
        self.written = 0
        self._rate, self._folder, self._clock = rate, folder, clock
        self._told_to_stop = threading.Event()

    def run(self) -> None:
        started = self._clock()
        while not self._told_to_stop.wait(max(0.0, started + self.written - self._clock())):
            write_chunk(self._rate, self.written, self._folder)
            self.written += 1

    def stop(self) -> None:
        """Returns when the last chunk is whole."""
        self._told_to_stop.set()
        self.join()
