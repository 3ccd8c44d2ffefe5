"""The cost of a batch beside open runs that grow: CPU time and bytes written, the hundredth batch over the second.

Every key has one run of `A B* C` whose C never comes. Each batch brings one B for each key. The core runs without
Spark. Its open rows lie in a store, as in Spark, so rows that a step doesn't need aren't read.
"""

from __future__ import annotations

import statistics
import time
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.experiment import Scale, expect
from benchmarks.match.events import START_US
from benchmarks.records import Baseline, Goal, Record, Sense

KEYS = {Scale.SMALL: 200, Scale.FULL: 1_000}
BATCHES = 100
AROUND = 5
"""Batches at each end whose median is compared."""
CLAUSE = """
    PARTITION BY key ORDER BY ts MEASURES FIRST(price) AS first_price, LAST(price) AS last_price
    PATTERN (A B* C) DEFINE A AS price = 1, B AS price = 2, C AS price = 3
"""
FLAT = Goal(Sense.AT_MOST, 1.2, of_ratio=True)


def measure_growth(scale: Scale) -> list[Record]:
    keys = KEYS[scale]
    seconds, written = _batches(keys)
    record = partial(Record, "streaming", "growth", f"{keys:,} open runs, {BATCHES} batches")
    first, last = slice(1, 1 + AROUND), slice(BATCHES - AROUND, BATCHES)
    return [
        record(metric, statistics.median(values[last]), unit, Baseline("second batch", baseline), FLAT)
        for metric, values, unit in (("CPU time of a batch", seconds, "s"), ("bytes written by a batch", written, "B"))
        for baseline in (statistics.median(values[first]),)
    ]


def _batches(keys: int) -> tuple[list[float], list[int]]:
    """The CPU seconds of each batch and the bytes that it writes."""
    from ostinato.streams.bucket_state import BucketState
    from ostinato.streams.stored_segments import StoredSegments, size_of
    from ostinato.testing import StreamTester

    tester = StreamTester(CLAUSE, {"key": "bigint", "ts": "timestamp", "price": "double"}, eager=True)
    state = tester.state
    segments: tuple[bytes, ...] = ()
    seconds: list[float] = []
    written: list[int] = []
    for number in range(BATCHES):
        stored = segments
        rows = tester._shipped(_rows(number, keys))
        before = StoredSegments(len(stored), size_of(stored), lambda stored=stored: stored)
        state = BucketState(state.header, before if stored else (), ())
        began = time.process_time()
        step = tester.worker.advance(state, rows, 0)
        seconds.append(time.process_time() - began)
        state, after = step.state, step.state.open_rows
        if isinstance(after, StoredSegments) and after.extends(before):
            added = after.added
            segments = (*stored, *added)
        else:
            segments = added = tuple(after)
        written.append(len(state.header) + size_of(added))
    expect("open runs, rows in the state", (step.counts.open_runs, step.counts.buffered_rows), (keys, keys * BATCHES))
    return seconds, written


def _rows(batch: int, keys: int) -> pa.Table:
    times = START_US + 1_000_000 * batch + np.arange(keys)
    return pa.table(
        {
            "key": np.arange(keys),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "price": np.full(keys, 2.0 if batch else 1.0),
        }
    )
