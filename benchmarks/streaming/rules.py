"""Many rules in one operator beside a stream for each rule: time of batches, state, and time until a change acts.

Of the separate streams only some are run, one after the other; their times and states are scaled to the number of
rules. They have as many buckets as the rules, and read the same files.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.experiment import Scale, expect
from benchmarks.match.events import START_US
from benchmarks.records import Baseline, Record
from benchmarks.streaming.processes import resident_memory
from benchmarks.streaming.streams import Ran, cut, read_files, run_stream, streaming_session, write_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RULES = {Scale.SMALL: 100, Scale.FULL: 100}
SEPARATE = {Scale.SMALL: 3, Scale.FULL: 10}
ROWS_PER_BATCH = {Scale.SMALL: 20_000, Scale.FULL: 100_000}
BATCHES = {Scale.SMALL: 4, Scale.FULL: 9}
ARRIVALS = {Scale.SMALL: 3, Scale.FULL: 9}
BUCKETS = 8
KEYS = 1_000
LIMIT_SECONDS = 120


def rule_text(number: int) -> str:
    """A rise above a limit, then low amounts until a row of kind 'x'. Limits differ from rule to rule."""
    limit = 95 + number % 5
    return f"""
        MEASURES A.amount AS first, LAST(C.amount) AS last, count(*) AS n
        PATTERN (A B* C) WITHIN INTERVAL '30' SECOND
        DEFINE A AS amount > {limit}, B AS amount <= {limit} AND kind <> 'x',
            C AS kind = 'x' AND amount < {20 + number % 7}"""


def events(rows: int, seed: int = 7) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "key": rng.integers(0, KEYS, rows),
            "ts": pa.array(START_US + np.arange(rows) * 2_000, pa.timestamp("us", tz="UTC")),
            "kind": pa.array(np.array(["x", "y", "z"])[rng.integers(0, 3, rows)]),
            "amount": rng.uniform(0, 100, rows).round(2),
        }
    )


def measure_rules(scale: Scale) -> list[Record]:
    spark = streaming_session()
    count, some = RULES[scale], SEPARATE[scale]
    table = events(ROWS_PER_BATCH[scale] * BATCHES[scale])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(cut(table, ROWS_PER_BATCH[scale]), folder / "in")
        _run_rules(spark, folder, "warm-up", 1)
        together = _run_rules(spark, folder, "rules", count)
        apart = [_run_alone(spark, folder, number) for number in range(some)]
        expected = [expected_matches(number, table) for number in range(count)]
        expect(f"matches of {count} rules", together.total("matches"), sum(expected))
        expect("matches of separate streams", [ran.total("matches") for ran in apart], expected[:some])
        idle = _memory_of([], folder)
        memory = _memory_of([_rules(spark, folder, "memory", count)], folder)
        memory_apart = _memory_of([_alone(spark, folder, number) for number in range(some)], folder)
        arrival = [_arrival_seconds(spark, folder / f"arrival-{number}") for number in range(ARRIVALS[scale])]
    used = Record(
        "streaming",
        "rules",
        f"{count} rules",
        "memory of the JVM and the workers above the idle session",
        memory - idle,
        "B",
        Baseline(f"{count} streams, {some} measured", (memory_apart - idle) * count / some),
    )
    return [*records_of(count, ROWS_PER_BATCH[scale], together, apart, arrival), used]


def expected_matches(number: int, table: pa.Table) -> int:
    import ostinato as ost

    return int(ost.match(f"PARTITION BY key ORDER BY ts {rule_text(number)}", table).num_rows)


def _run_rules(spark: SparkSession, folder: Path, name: str, count: int) -> Ran:
    return run_stream(_rules(spark, folder, name, count), folder / f"{name}-checkpoint")


def _rules(spark: SparkSession, folder: Path, name: str, count: int) -> DataFrame:
    import ostinato as ost

    for number in range(count):
        ost.write_rule(folder / f"{name}-log", f"r{number:03d}", rule_text(number))
    return ost.rules(read_files(spark, folder / "in"), folder / f"{name}-log", keys="key", time="ts", buckets=BUCKETS)


def _run_alone(spark: SparkSession, folder: Path, number: int) -> Ran:
    return run_stream(_alone(spark, folder, number), folder / f"alone-{number}")


def _alone(spark: SparkSession, folder: Path, number: int) -> DataFrame:
    import ostinato as ost

    clause = ost.match_recognize(f"PARTITION BY key ORDER BY ts {rule_text(number)}", buckets=BUCKETS)
    return read_files(spark, folder / "in").transform(clause)


def _memory_of(streams: list[DataFrame], folder: Path) -> int:
    """The memory of JVM and workers when streams that run side by side have read everything and go on running."""
    checkpoints = tempfile.mkdtemp(dir=folder)
    queries = [
        stream.writeStream.format("noop").option("checkpointLocation", f"{checkpoints}/{number}").start()
        for number, stream in enumerate(streams)
    ]
    try:
        for query in queries:
            query.processAllAvailable()
        memory = resident_memory()
    finally:
        for query in queries:
            query.stop()
    return memory.jvm + memory.workers


def _arrival_seconds(spark: SparkSession, folder: Path) -> float:
    """From the moment at which a rule is written to the micro-batch that reports it, in a running stream."""
    import ostinato as ost

    write_files([events(100)], folder / "in")
    (folder / "log").mkdir()
    began, seen = threading.Event(), threading.Event()

    def look(rows: DataFrame, number: int) -> None:
        began.set()
        if rows.where("kind = 'rule_changed'").count():
            seen.set()

    found = ost.rules(read_files(spark, folder / "in"), folder / "log", keys="key", time="ts", buckets=BUCKETS)
    query = found.writeStream.option("checkpointLocation", str(folder / "checkpoint")).foreachBatch(look).start()
    try:
        expect("a first batch", began.wait(LIMIT_SECONDS), True)
        query.processAllAvailable()
        written = time.perf_counter()
        ost.write_rule(folder / "log", "r", rule_text(0))
        expect("a report of the rule", seen.wait(LIMIT_SECONDS), True)
        return time.perf_counter() - written
    finally:
        query.stop()


def records_of(count: int, rows: int, together: Ran, apart: list[Ran], arrival: list[float]) -> list[Record]:
    """`apart`: some of as many separate streams as there are rules."""
    record = partial(Record, "streaming", "rules")
    times = count / len(apart)
    separate = Baseline(f"{count} streams, {len(apart)} measured", times * sum(map(_batch_seconds, apart)))
    seconds = _batch_seconds(together)
    state = sum(ran.total("state_bytes_change") for ran in apart) * times
    case = f"{count} rules, {rows:,} rows a batch"
    return [
        record(case, "time of a batch", seconds, "s", separate),
        record(case, "speed", rows / seconds, "rows/s", Baseline(separate.name, rows / separate.value)),
        record(case, "state", together.total("state_bytes_change"), "B", Baseline(separate.name, state)),
        record("a rule arrives", "time until its micro-batch has reported it", statistics.median(arrival), "s"),
    ]


def _batch_seconds(ran: Ran) -> float:
    """The median of the batches with rows but the first, which starts workers and compiles the rules."""
    return statistics.median(batch.seconds for batch in ran.batches[1:] if batch.rows)
