"""End to end on Spark: our time over the floor (read, repartition, identity mapInArrow) and over Spark's own sort."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.experiment import Scale, expect, interleaved_seconds
from benchmarks.match import sparks
from benchmarks.match.events import keyed_events, write_events
from benchmarks.queries import Mode, Q
from benchmarks.records import Baseline, Goal, Record, Sense

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = {Scale.SMALL: 500_000, Scale.FULL: 5_000_000}
KEYS = (100, 100_000)
NAMES = ("Q1", "Q12")
ROUNDS = 3
FLOOR_GOAL = Goal(Sense.AT_MOST, 1.5, of_ratio=True)
SORTED_GOAL = Goal(Sense.BELOW, 1.0, of_ratio=True)


def measure_spark(scale: Scale) -> list[Record]:
    """Each query first has to agree with the answer in process."""
    records = []
    spark = sparks.spark_session()
    with tempfile.TemporaryDirectory() as folder:
        for keys in KEYS:
            path = Path(folder) / f"keys-{keys}"
            events = keyed_events(ROWS[scale], keys)
            write_events(events, path)
            read = spark.read.parquet(str(path))
            for name in NAMES:
                _check(name, read, events)
                records += _times(name, read, f"{name}, {ROWS[scale]:,} rows, {keys:,} keys", ROWS[scale])
    return records


def _clause(name: str) -> str:
    return Q[name].clause(Mode.PREFERRED, partition_by="key")


def _check(name: str, read: DataFrame, events: object) -> None:
    import ostinato as ost
    from ostinato.clause.language.clause_parser import parse_clause
    from ostinato.local.local_clause import match_table

    right = sparks.totals_of_table(match_table(parse_clause(_clause(name)), events))
    for sort in ("worker", "spark"):
        found = sparks.totals(read.transform(ost.match_recognize(_clause(name), sort=sort)))
        expect(f"Spark, {name}, sort by {sort}", found, right)


def _times(name: str, read: DataFrame, case: str, rows: int) -> list[Record]:
    import ostinato as ost

    frames = {
        "floor": sparks.floor(read),
        "ours": read.transform(ost.match_recognize(_clause(name))),
        "Spark's sort": read.transform(ost.match_recognize(_clause(name), sort="spark")),
    }
    times = interleaved_seconds({what: partial(sparks.run, frame) for what, frame in frames.items()}, ROUNDS)
    ours = times["ours"]
    record = partial(Record, "match", "spark", case)
    return [
        record("time over the floor", ours, "s", Baseline("floor", times["floor"]), FLOOR_GOAL),
        record("time over Spark's sort", ours, "s", Baseline("sorted by Spark", times["Spark's sort"]), SORTED_GOAL),
        record("speed, two cores", rows / ours, "rows/s"),
    ]
