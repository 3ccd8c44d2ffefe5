"""Many summaries at once: up to 100,000 keys with small summaries, with interleaved events in batches, as on Spark."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import Scale, expect
from benchmarks.records import Record
from benchmarks.summary.clock import core_seconds
from benchmarks.summary.streams import EXPRESSION, UNIFORM
from ostinato.summaries.engine.pool import SummaryPool
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import SummaryQuery

KEYS = (1, 1_000, 100_000)
SIZE, WINDOW_EVENTS = 10, 40
"""Number of events of a key in a window."""
ROWS = {Scale.SMALL: 1_000_000, Scale.FULL: 5_000_000}
BATCH = 100_000
CHECKED_KEYS = 5


def measure_keys(scale: Scale) -> list[Record]:
    records = []
    for keys in KEYS:
        rng = np.random.default_rng(6)
        owner = rng.integers(0, keys, ROWS[scale])
        letters = UNIFORM.draw(ROWS[scale], seed=6)
        summary = Summary(SummaryQuery(EXPRESSION, WINDOW_EVENTS * keys, SIZE))
        events = letters.events(summary)
        pool = SummaryPool(summary)
        taken = core_seconds(lambda: _feed(pool, owner, events))  # noqa: B023
        _check(summary, pool, owner, events)
        case = f"{len(pool):,} keys, n {SIZE}"
        bytes_each = float(np.mean([len(pool.state(key).to_bytes()) for key in range(min(keys, 100))]))
        records.append(Record("summary", "keys", case, "throughput", ROWS[scale] / taken, "rows/s"))
        records.append(Record("summary", "keys", case, "state of a key", bytes_each, "B"))
    return records


def _feed(pool: SummaryPool, owner: NDArray[np.int64], events: SummaryEvents) -> None:
    for rows in _batches(len(events)):
        pool.advance(owner[rows].tolist(), SummaryEvents(events.time[rows], events.codes[rows]))


def _batches(rows: int) -> Iterator[slice]:
    for start in range(0, rows, BATCH):
        yield slice(start, min(start + BATCH, rows))


def _check(summary: Summary, pool: SummaryPool, owner: NDArray[np.int64], events: SummaryEvents) -> None:
    """Checks that some keys alone give the same states."""
    for key in np.unique(owner)[:CHECKED_KEYS].tolist():
        own = owner == key
        alone = summary.advance(SummaryEvents(events.time[own], events.codes[own]), summary.new_state())
        expect(f"key {key}", pool.state(key).to_bytes() == alone.to_bytes(), True)
