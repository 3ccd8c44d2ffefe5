"""Events a second of a stream, over a packed identity `transformWithState` that keeps as many bytes."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.experiment import Scale, expect
from benchmarks.match import sparks
from benchmarks.match.events import keyed_events
from benchmarks.queries import Mode, Q
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.streams import (
    Ran,
    answered,
    cut,
    fresh_folder,
    interleaved_runs,
    read_files,
    run_stream,
    streaming_session,
    write_files,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = {Scale.SMALL: 200_000, Scale.FULL: 1_000_000}
ROWS_PER_FILE = 100_000
KEYS = (100, 100_000)
ROUNDS = {Scale.SMALL: 1, Scale.FULL: 3}
GOAL = Goal(Sense.AT_MOST, 1.3, of_ratio=True)
FLINK_ROWS_PER_S = {"Q1": 48_000, "Q12": 169_000}
"""Flink 2.3 on one core of such a machine, for orientation."""


def measure_throughput(scale: Scale) -> list[Record]:
    """Each query first has to agree with the answer in process, count and sums."""
    records = []
    spark = streaming_session()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for keys in KEYS:
            events = keyed_events(ROWS[scale], keys)
            files = folder / f"keys-{keys}"
            write_files(cut(events, ROWS_PER_FILE), files)
            stream = read_files(spark, files)
            for query in FLINK_ROWS_PER_S:
                case = f"{query}, {ROWS[scale]:,} rows, {keys:,} keys"
                records += _measured(query, stream, events, case, folder, ROUNDS[scale])
    return records


def _measured(query: str, stream: DataFrame, events: pa.Table, case: str, folder: Path, rounds: int) -> list[Record]:
    from benchmarks.streaming.identity import largest_state, measured_sizes, packed_identity

    clause = Q[query].clause(Mode.PREFERRED, partition_by="key")
    ours = answered(stream, clause)
    checkpoint = fresh_folder(folder)
    expect(f"stream and finish, {case}", totals_of_stream(ours, checkpoint), right_totals(clause, events))
    sizes = measured_sizes(stream.sparkSession, checkpoint)
    runs = interleaved_runs({"ours": ours, "identity": packed_identity(stream, clause, sizes)}, folder, rounds)
    expect(f"late rows, {case}", runs["ours"].total("late_rows"), 0)
    return _records(query, case, events.num_rows, runs, largest_state(sizes))


def right_totals(clause: str, events: pa.Table) -> sparks.Totals:
    from ostinato.clause.language.clause_parser import parse_clause
    from ostinato.local.local_clause import match_table

    return sparks.totals_of_table(match_table(parse_clause(clause), events))


def totals_of_stream(ours: DataFrame, checkpoint: Path) -> sparks.Totals:
    """Of what the stream gives, and of what the end of its input adds."""
    from ostinato.spark.checkpoints.finish import finish_stream

    of_batches: list[sparks.Totals] = []
    run_stream(ours, checkpoint, lambda frame, _: of_batches.append(sparks.totals(frame)))
    return added([*of_batches, sparks.totals(finish_stream(ours.sparkSession, str(checkpoint)))])


def added(parts: list[sparks.Totals]) -> sparks.Totals:
    return sparks.Totals(
        sum(part.rows for part in parts),
        sum(part.first_price for part in parts),
        sum(part.last_price for part in parts),
    )


def _records(query: str, case: str, rows: int, runs: dict[str, Ran], state_bytes: int) -> list[Record]:
    ours, identity = runs["ours"], runs["identity"]
    record = partial(Record, "streaming", "throughput", case)
    flink = Baseline("Flink 2.3 on one core", FLINK_ROWS_PER_S[query], source="stated in the issue, for orientation")
    note = (
        f"batches that read a file: {ours.seconds_with_rows:.2f} s over {identity.seconds_with_rows:.2f} s,"
        f" {ours.seconds_with_rows / identity.seconds_with_rows:.2f}"
    )
    return [
        record("time", ours.seconds, "s", Baseline("packed identity", identity.seconds), GOAL, (note,)),
        record("speed, two cores", rows / ours.seconds, "rows/s", flink),
        record("state, at most", state_bytes, "B"),
    ]
