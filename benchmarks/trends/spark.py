"""End to end on Spark: one query, and 50 as one job, over the floor (read, repartition, identity mapInArrow)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from benchmarks.experiment import Scale, expect, interleaved_seconds
from benchmarks.match import sparks
from benchmarks.match.events import write_events
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.trends.streams import MINUTE_US, TYPES, ridesharing
from benchmarks.trends.workloads import alike

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    import ostinato as ost

EVENTS = {Scale.SMALL: 500_000, Scale.FULL: 5_000_000}
PER_MINUTE = 10_000
KEYS = 100
WINDOW_US = 10 * MINUTE_US
QUERY_COUNTS = (1, 50)
ROUNDS = 3
FLOOR_GOAL = Goal(Sense.AT_MOST, 1.5, of_ratio=True)


def measure_spark(scale: Scale) -> list[Record]:
    """Each workload first has to agree with the answer in process."""
    events = EVENTS[scale]
    stream = ridesharing(events, per_minute=PER_MINUTE, drivers=KEYS)
    spark = sparks.spark_session()
    records = []
    with tempfile.TemporaryDirectory() as folder:
        write_events(stream.table(), Path(folder) / "rides")
        read = spark.read.parquet(str(Path(folder) / "rides"))
        for count in QUERY_COUNTS:
            workload = workload_of([query.text(stream.types) for query in alike(count, TYPES, WINDOW_US)])
            case = f"{counted(count, 'query', 'queries')}, {events:,} events, {KEYS:,} keys"
            expect(
                f"Spark, {case}", totals(workload.run(read).table), totals_of_table(workload.run(stream.table()).table)
            )
            records += _times(case, workload, read, events)
    return records


def counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def workload_of(texts: Sequence[str]) -> ost.Workload:
    import ostinato

    return ostinato.Workload(list(texts))


def _times(case: str, workload: ost.Workload, read: DataFrame, events: int) -> list[Record]:
    frames = {"floor": sparks.floor(read), "ours": workload.run(read).table}
    times = interleaved_seconds({what: partial(sparks.run, frame) for what, frame in frames.items()}, ROUNDS)
    record = partial(Record, "trends", "spark", case)
    return [
        record("time over the floor", times["ours"], "s", Baseline("floor", times["floor"]), FLOOR_GOAL),
        record("speed", events / times["ours"], "events/s"),
    ]


def totals(rows: DataFrame) -> tuple[int, int]:
    """Results, and all counts of trends together."""
    from pyspark.sql import functions as F

    found = rows.agg(F.count("*"), F.sum(F.col("aggregates").getField("count(*)"))).collect()[0]
    return int(found[0]), int(found[1] or 0)


def totals_of_table(rows: pa.Table) -> tuple[int, int]:
    counts = pc.struct_field(rows["aggregates"], [0])
    return rows.num_rows, sum(int(count) for count in counts.to_pylist() if count is not None)
