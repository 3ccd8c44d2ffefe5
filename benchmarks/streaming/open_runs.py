"""The cost of an open run: bytes of state, and time of micro-batches that bring the same few rows beside more runs. And
the state of a silent key without an open run.

Every key has one run of `A B* C` that stays open, because no C comes. Then batches of rows of other keys follow, in
all buckets, so that each batch loads and stores the whole state.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.experiment import Scale, expect
from benchmarks.match.events import START_US
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.streams import Ran, answered, read_files, run_stream, streaming_session, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPEN_RUNS = {Scale.SMALL: (100, 1_000, 10_000), Scale.FULL: (1_000, 10_000, 100_000)}
TIMED_BATCHES = {Scale.SMALL: 3, Scale.FULL: 9}
ROWS_PER_RUN = 3
PASSING_ROWS = 1_000
CLAUSE = """
    PARTITION BY key ORDER BY ts
    MEASURES FIRST(price) AS first_price, LAST(price) AS last_price
    PATTERN (A B* C) WITHIN INTERVAL '1' DAY
    DEFINE A AS A.price = 1, B AS B.price = 2, C AS C.price = 3
"""
SILENT_KEYS = {Scale.SMALL: 1_000, Scale.FULL: 10_000}
SILENT = {
    "no row is needed": "PATTERN (A B) DEFINE A AS price = 3, B AS price < PREV(price)",
    "PREV needs its last row": "PATTERN (A) DEFINE A AS price < PREV(price)",
}
"""Clauses that match no row of `opening`."""
LINEAR = Goal(Sense.AT_MOST, 1.5, of_ratio=True)
"""Of the time of an open run, at ten times as many. The room is for the machine's noise: a quadratic cost gives 10."""


def measure_state(scale: Scale) -> list[Record]:
    spark = streaming_session()
    runs: dict[int, Ran] = {}
    with tempfile.TemporaryDirectory() as folder:
        _run(spark, Path(folder) / "warm-up", min(OPEN_RUNS[scale]), 1)
        for count in (0, *OPEN_RUNS[scale]):  # the time of a batch beside none is taken off the others'
            runs[count] = _run(spark, Path(folder) / str(count), count, TIMED_BATCHES[scale])
        silent = {need: _silent_bytes(spark, Path(folder) / need, SILENT_KEYS[scale], need) for need in SILENT}
    records = records_of({count: batch_seconds(ran) for count, ran in runs.items()}, _state_bytes(runs))
    return [
        *records,
        *(Record("streaming", "state", f"a silent key: {need}", "state", found, "B") for need, found in silent.items()),
    ]


def _silent_bytes(spark: SparkSession, folder: Path, keys: int, need: str) -> float:
    """The state by key when all rows of the keys are decided, with that of the buckets."""
    clause = f"PARTITION BY key ORDER BY ts MEASURES LAST(price) AS last_price {SILENT[need]}"
    write_files([opening(0, keys), passing(1), passing(2)], folder / "in")
    ran = run_stream(answered(read_files(spark, folder / "in"), clause), folder / "checkpoint")
    expect("matches and open runs", [ran.total("matches"), ran.total("open_runs_change")], [0, 0])
    return ran.total("state_bytes_change") / keys


def _run(spark: SparkSession, folder: Path, open_runs: int, timed: int) -> Ran:
    """One file of passing rows, one that opens the runs, one that moves the watermark behind them, then those timed."""
    tables = [passing(0), opening(1, open_runs), *(passing(number) for number in range(2, 3 + timed))]
    write_files(tables, folder / "in")
    ran = run_stream(answered(read_files(spark, folder / "in"), CLAUSE), folder / "checkpoint")
    found = [ran.total("rows"), ran.total("late_rows"), ran.total("matches"), ran.total("open_runs_change")]
    rows = ROWS_PER_RUN * open_runs + PASSING_ROWS * (2 + timed)
    expect(f"rows, late rows, matches, open runs of {open_runs:,}", found, [rows, 0, 0, open_runs])
    _check_state(spark, folder / "checkpoint", open_runs)
    return ran


def _check_state(spark: SparkSession, checkpoint: Path, open_runs: int) -> None:
    from ostinato.spark.checkpoints.open_partial_matches import stream_state

    kept = stream_state(spark, str(checkpoint)).groupBy("rows").count().collect()
    expect("open runs by rows", [tuple(row) for row in kept], [(ROWS_PER_RUN, open_runs)] if open_runs else [])


def opening(second: int, keys: int) -> pa.Table:
    """A B B of each key, within one second."""
    numbers = np.tile(np.arange(keys), ROWS_PER_RUN)
    return _rows("open", numbers, second, np.repeat([1.0, 2.0, 2.0], keys))


def passing(second: int) -> pa.Table:
    """Rows that begin nothing, of as many keys, within one second."""
    return _rows("pass", np.arange(PASSING_ROWS), second, np.zeros(PASSING_ROWS))


def _rows(prefix: str, numbers: np.ndarray, second: int, price: np.ndarray) -> pa.Table:
    count = len(numbers)
    times = START_US + 1_000_000 * second + np.arange(count) * 1_000_000 // max(count, 1)
    return pa.table(
        {
            "key": pa.array([f"{prefix}{number:06d}" for number in numbers.tolist()], pa.string()),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "price": pa.array(price, pa.float64()),
        }
    )


def batch_seconds(ran: Ran) -> float:
    """The median of the batches behind the three that open the runs."""
    return statistics.median(batch.seconds for batch in ran.batches[3:] if batch.rows)


def _state_bytes(runs: dict[int, Ran]) -> dict[int, int]:
    return {count: ran.total("state_bytes_change") for count, ran in runs.items() if count}


def records_of(seconds: dict[int, float], state_bytes: dict[int, int]) -> list[Record]:
    """`seconds` of a batch by the number of open runs, 0 among them."""
    records = []
    for count, size in state_bytes.items():
        record = partial(Record, "streaming", "state", f"{count:,} open runs of {ROWS_PER_RUN} rows")
        records += [
            record("state of an open run", size / count, "B"),
            record("time of a batch", seconds[count], "s", Baseline("no open runs", seconds[0])),
        ]
    return [*records, _growth(seconds, *sorted(state_bytes)[-2:])]


def _growth(seconds: dict[int, float], fewer: int, more: int) -> Record:
    """The time of an open run among many, over that among a tenth of them. Among few it drowns in that of the batch."""
    among_fewer, among_more = (1e6 * (seconds[count] - seconds[0]) / count for count in (fewer, more))
    record = partial(Record, "streaming", "state", f"{more:,} open runs over {fewer:,}", "time of an open run")
    if among_fewer <= 0 or among_more <= 0:
        return record(among_more, "us", notes=("not above the noise of a batch without open runs: not judged",))
    return record(among_more, "us", Baseline(f"among {fewer:,}", among_fewer), LINEAR)
