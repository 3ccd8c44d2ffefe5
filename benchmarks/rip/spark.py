"""One stream without PARTITION BY on Spark, cut into ranges: its time over the floor, and from one core to two.

The floor is what benchmarks/match has: read, a hash shuffle, an identity `mapInArrow`, nothing sorted. Beside it stands
the range shuffle that slices need (Spark samples the rows for it, so it reads them twice), again with the identity.

`python -m benchmarks.rip.spark CORES TOTALS FOLDER...` is a session in a process of its own: for the files of each
folder it checks the answer, then times. Shuffle partitions are the session's default, which adaptive execution merges
down to about one a core.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.experiment import Scale, expect, in_fresh_process, interleaved_seconds
from benchmarks.match import sparks
from benchmarks.match.events import keyed_events, write_events
from benchmarks.queries import Mode, Q
from benchmarks.records import Baseline, Goal, Record, Sense

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = {Scale.SMALL: 500_000, Scale.FULL: 5_000_000}
CORES = (1, 2)
ROUNDS = 3
ENOUGH_SECONDS = 20.0
FLOOR_GOAL = Goal(Sense.AT_MOST, 2.0, of_ratio=True)
QUERY = "Q1"
FLOOR, RANGES, OURS = "floor", "range shuffle, identity", "ours"
SCALING_NOTE = "local[n] bounds tasks, not threads: on one core too, the JVM and its Python worker overlap"


@dataclass(frozen=True, slots=True)
class Alone:
    """What a process of its own found in one folder. The times are empty if the totals are wrong."""

    totals: sparks.Totals
    seconds: Mapping[str, float]


def measure_spark(scale: Scale) -> list[Record]:
    """Rows in files in the order of time, as a stream arrives; and the same rows at random, which have to be sorted."""
    import ostinato as ost

    rows = ROWS[scale]
    stream = keyed_events(rows, keys=1).drop_columns("key")
    right = sparks.totals_of_table(ost.match(clause(), stream))
    shuffled = stream.take(pa.array(np.random.default_rng(7).permutation(rows)))
    with tempfile.TemporaryDirectory() as folder:
        files = {f"{QUERY}, {rows:,} rows {arrival}": Path(folder) / arrival for arrival in ("in order", "at random")}
        for table, path in zip((stream, shuffled), files.values(), strict=True):
            write_events(table, path)
        seconds = {cores: _seconds_alone(cores, files, right) for cores in CORES}
    return [
        record for case in files for record in records_of(case, rows, {cores: seconds[cores][case] for cores in CORES})
    ]


def clause() -> str:
    """Without PARTITION BY, so that it is cut into ranges."""
    return Q[QUERY].clause(Mode.PREFERRED)


def _seconds_alone(cores: int, files: Mapping[str, Path], right: sparks.Totals) -> dict[str, Mapping[str, float]]:
    """The times of each case; WrongAnswer where one has other totals."""
    paths = [str(path) for path in files.values()]
    told = json.loads(in_fresh_process("benchmarks.rip.spark", str(cores), json.dumps(asdict(right)), *paths))
    for case, found in zip(files, told, strict=True):
        expect(f"Spark, local[{cores}], {case}", sparks.Totals(**found["totals"]), right)
    return {case: found["seconds"] for case, found in zip(files, told, strict=True)}


def records_of(case: str, rows: int, seconds: Mapping[int, Mapping[str, float]]) -> list[Record]:
    """Times of two cores over one another, and speeds of two cores over one; `seconds` by cores."""
    one, two = (seconds[cores] for cores in CORES)
    record = partial(Record, "rip", "spark", case)
    floor, ranges = Baseline(FLOOR, two[FLOOR]), Baseline(RANGES, two[RANGES])
    return [
        record("time over the floor, local[2]", two[OURS], "s", floor, FLOOR_GOAL),
        record("time over the range shuffle, local[2]", two[OURS], "s", ranges),
        record("range shuffle over the floor, local[2]", two[RANGES], "s", floor),
        record(
            "speed, local[2]", rows / two[OURS], "rows/s", Baseline("local[1]", rows / one[OURS]), notes=(SCALING_NOTE,)
        ),
        record("speed of the floor, local[2]", rows / two[FLOOR], "rows/s", Baseline("local[1]", rows / one[FLOOR])),
    ]


def frames(events: DataFrame) -> dict[str, DataFrame]:
    """The jobs to compare."""
    import ostinato as ost

    return {
        # By hash, not by number: before repartition(n) Spark sorts the rows, and the floor would be too high.
        FLOOR: events.repartition("ts").mapInArrow(sparks.same, events.schema),
        RANGES: events.repartitionByRange("ts").mapInArrow(sparks.same, events.schema),
        OURS: events.transform(ost.match_recognize(clause())),
    }


def check_and_time(events: DataFrame, right: sparks.Totals) -> Alone:
    """Times only what is right."""
    compared = frames(events)
    found = sparks.totals(compared[OURS])
    if found != right:
        return Alone(found, {})
    actions = {name: partial(sparks.run, frame) for name, frame in compared.items()}
    return Alone(found, interleaved_seconds(actions, ROUNDS, enough_seconds=ENOUGH_SECONDS))


def run_alone(cores: int, right: sparks.Totals, folders: Sequence[str]) -> list[Alone]:
    """Starts Spark on so many cores."""
    from ostinato.spark.session.session import local_session

    spark = local_session("ostinato benchmarks", cores=cores, **{"spark.sql.session.timeZone": "UTC"})
    found = [check_and_time(spark.read.parquet(folder), right) for folder in folders]
    spark.stop()
    return found


if __name__ == "__main__":
    answers = run_alone(int(sys.argv[1]), sparks.Totals(**json.loads(sys.argv[2])), sys.argv[3:])
    print(json.dumps([asdict(answer) for answer in answers]))
