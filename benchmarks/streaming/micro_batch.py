"""The CPU time of a micro-batch of several sizes, over operators that match nothing and over Spark's own count.

All read the same files in one session, warmed up, in turns. Each batch brings rows of 1,000 keys from four minutes,
whatever its size. Spark counts the rows of each key and minute: about 4,000 groups a batch. The operator that does
nothing has the three stages of ours (pack, transformWithState, unpack) and as many buckets. A second one also stores as
many bytes as ours in each batch: no operator whose rows wait for the watermark can be cheaper.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.experiment import Scale, expect
from benchmarks.match.events import START_US
from benchmarks.queries import Mode, Q, prices
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.processes import cpu_seconds_so_far
from benchmarks.streaming.streams import (
    answered,
    cut,
    fresh_folder,
    read_files,
    run_stream,
    streaming_session,
    write_files,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEYS = 1_000
BATCH_US = 240_000_000
"""The event time of a batch."""
WARM_UP_BATCHES = 3
"""The first batches of a run start workers and load code. They aren't measured."""
BATCHES = 8
WARM_UP_ROUNDS = 1
SIZES = {Scale.SMALL: (20_000, 100_000), Scale.FULL: (20_000, 100_000, 1_000_000)}
ROUNDS = {Scale.SMALL: 2, Scale.FULL: 5}
OVER_NOTHING = Goal(Sense.AT_MOST, 1.3, of_ratio=True)
OVER_COUNT = {
    20_000: Goal(Sense.AT_MOST, 2.0, of_ratio=True),
    100_000: Goal(Sense.AT_MOST, 1.5, of_ratio=True),
    1_000_000: Goal(Sense.AT_MOST, 1.5, of_ratio=True),
}
OURS, NOTHING, STORING = "ours", "nothing, three stages", "nothing, storing as many bytes"
COUNT = "Spark's count by key and minute"


def events(rows: int, batches: int) -> pa.Table:
    """Rows in the order of time, `rows` for each batch."""
    total = rows * batches
    keys = np.random.default_rng(7).integers(0, KEYS, total)
    step_us = BATCH_US // rows
    return pa.table(
        {
            "key": pa.array([f"k{key:06d}" for key in range(KEYS)]).take(pa.array(keys)),
            "ts": pa.array(START_US + step_us * np.arange(total), pa.timestamp("us", tz="UTC")),
            "price": np.resize(prices(1_000_000), total),
        }
    )


class Input(NamedTuple):
    """The rows of a measurement, as a stream over files, and the clause that is run over them."""

    table: pa.Table
    clause: str
    folder: Path
    stream: DataFrame


@contextmanager
def input_of(rows: int) -> Iterator[Input]:
    """`rows` a batch."""
    table = events(rows, BATCHES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(cut(table, rows), folder / "in")
        stream = read_files(streaming_session(), folder / "in")
        yield Input(table, Q["Q2"].clause(Mode.PREFERRED, partition_by="key"), folder, stream)


def measure_micro_batches(scale: Scale) -> list[Record]:
    return [record for rows in SIZES[scale] for record in _measured(rows, ROUNDS[scale])]


def _measured(rows: int, rounds: int) -> list[Record]:
    from benchmarks.streaming.do_nothing import do_nothing
    from benchmarks.streaming.identity import measured_sizes, packed_identity

    with input_of(rows) as (table, clause, folder, stream):
        streams = {OURS: answered(stream, clause), NOTHING: do_nothing(stream, clause), COUNT: counted(stream)}
        checkpoint = fresh_folder(folder)
        _check_answers(streams, clause, table, folder, checkpoint)
        sizes = measured_sizes(stream.sparkSession, checkpoint)
        streams[STORING] = packed_identity(stream, clause, sizes)
        return _records(rows, cpu_seconds(streams, folder, rounds))


def counted(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return stream.groupBy(F.window("ts", "1 minute"), "key").count()


def _check_answers(
    streams: Mapping[str, DataFrame], clause: str, table: pa.Table, folder: Path, checkpoint: Path
) -> None:
    """`checkpoint` is that of our stream afterwards."""
    from benchmarks.streaming.throughput import right_totals, totals_of_stream

    expect("stream and finish", totals_of_stream(streams[OURS], checkpoint), right_totals(clause, table))
    found: list[int] = []

    def add(batch: DataFrame, _: int) -> None:
        found.append(sum(row["count"] for row in batch.select("count").collect()))

    run_stream(streams[COUNT], fresh_folder(folder), add)
    expect("rows that Spark counts", sum(found), rows_of_ended_minutes(table))
    ran = run_stream(streams[NOTHING], fresh_folder(folder))
    expect("rows that do nothing", ran.total("rows"), table.num_rows)


def rows_of_ended_minutes(table: pa.Table) -> int:
    """The rows of the minutes that end before the last row."""
    last = pc.max(pc.floor_temporal(table["ts"], unit="minute"))
    return int(pc.sum(pc.less(table["ts"], last)).as_py())


# --- CPU time ---------------------------------------------------------------------------------------------------------


def cpu_seconds(streams: Mapping[str, DataFrame], folder: Path, rounds: int) -> dict[str, float]:
    """The median over the rounds of what a batch of each stream takes, after the rounds to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in streams}
    for done in range(rounds + WARM_UP_ROUNDS):
        for name in in_turn(list(streams), done):
            batches = _cpu_of_batches(streams[name], fresh_folder(folder))
            if done >= WARM_UP_ROUNDS:
                taken[name].append(statistics.median(batches))
    return {name: statistics.median(found) for name, found in taken.items()}


def in_turn(names: Sequence[str], done: int) -> Iterator[str]:
    """The names, with another one first in each round.

    >>> list(in_turn("abc", 1))
    ['b', 'c', 'a']
    """
    first = done % len(names)
    return itertools.chain(names[first:], names[:first])


def _cpu_of_batches(stream: DataFrame, checkpoint: Path) -> list[float]:
    """From the start of one batch to the start of the next, for the batches that are measured."""
    moments: list[float] = []

    def look(batch: DataFrame, _: int) -> None:
        moments.append(cpu_seconds_so_far())
        batch.write.format("noop").mode("overwrite").save()

    run_stream(stream, checkpoint, look)
    return [after - before for before, after in itertools.pairwise(moments[WARM_UP_BATCHES:BATCHES])]


def _records(rows: int, seconds: Mapping[str, float]) -> list[Record]:
    record = partial(Record, "streaming", "micro-batch", f"{rows:,} rows a batch")
    micros = {name: 1e6 * found / rows for name, found in seconds.items()}
    return [
        record("CPU time of a row", micros[OURS], "µs", Baseline(NOTHING, micros[NOTHING]), OVER_NOTHING),
        record("CPU time of a row", micros[OURS], "µs", Baseline(STORING, micros[STORING])),
        record("CPU time of a row", micros[OURS], "µs", Baseline(COUNT, micros[COUNT]), OVER_COUNT.get(rows)),
    ]
