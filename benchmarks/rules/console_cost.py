"""The CPU time of a stream's own processes for each row, with a console beside it and without, in turns.

The console follows the log, the sink and the metrics of the stream, and one page listens to it. The CPU time of the
console is reported apart. The answers of all runs are compared with one another.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.processes import cpu_seconds_so_far
from benchmarks.streaming.rules import events, rule_text
from benchmarks.streaming.streams import cut, read_files, streaming_session, write_files

if TYPE_CHECKING:
    import psutil
    from pyspark.sql import SparkSession

RULES = {Scale.SMALL: 10, Scale.FULL: 10}
ROWS_PER_BATCH = {Scale.SMALL: 20_000, Scale.FULL: 50_000}
BATCHES = {Scale.SMALL: 4, Scale.FULL: 12}
ROUNDS = {Scale.SMALL: 2, Scale.FULL: 5}
GOAL = Goal(Sense.BELOW, 1.02, of_ratio=True)
_ADDRESS = re.compile(r"http://\S+")
_START_SECONDS = 60


class Cost(NamedTuple):
    """CPU seconds of one run."""

    stream: float
    console: float
    matches: int


def measure_console(scale: Scale) -> list[Record]:
    spark = streaming_session()
    table = events(ROWS_PER_BATCH[scale] * BATCHES[scale])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(cut(table, ROWS_PER_BATCH[scale]), folder / "in")
        _run(spark, folder / "in", folder / "warm-up", RULES[scale], watched=False)
        runs: dict[bool, list[Cost]] = {False: [], True: []}
        for number in range(ROUNDS[scale]):
            for watched in (True, False) if number % 2 else (False, True):
                run = folder / f"{number}-{watched}"
                runs[watched].append(_run(spark, folder / "in", run, RULES[scale], watched=watched))
    matches = [cost.matches for costs in runs.values() for cost in costs]
    expect("matches of all runs", matches, [matches[0]] * len(matches))
    alone, beside = (statistics.median(cost.stream for cost in runs[watched]) for watched in (False, True))
    console = statistics.median(cost.console for cost in runs[True])
    case, rows = f"{RULES[scale]} rules, {table.num_rows:,} rows, {matches[0]:,} matches", table.num_rows
    baseline = Baseline("without a console", 1e6 * alone / rows)
    return [
        Record("rules", "console", case, "CPU time of the stream for a row", 1e6 * beside / rows, "µs", baseline, GOAL),
        Record("rules", "console", case, "CPU time of the console", console, "s"),
    ]


def _run(spark: SparkSession, rows: Path, folder: Path, rules: int, *, watched: bool) -> Cost:
    import ostinato as ost

    for number in range(rules):
        ost.write_rule(folder / "log", f"r{number:03d}", rule_text(number))
    found = ost.rules(read_files(spark, rows), folder / "log", keys="key", time="ts", buckets=8)
    metrics = ost.stream_metrics(spark, folder / "metrics.prom")
    writer = found.writeStream.format("parquet").option("path", str(folder / "matches"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    try:
        with _console(folder) if watched else _no_console() as console:
            before, console_before = cpu_seconds_so_far(without=console), _cpu_seconds(console)
            query = writer.start()
            query.awaitTermination()
            stream = cpu_seconds_so_far(without=console) - before
            taken = _cpu_seconds(console) - console_before
    finally:
        spark.streams.removeListener(metrics)
    matches = spark.read.parquet(str(folder / "matches")).where("kind = 'match'").count()
    return Cost(stream, taken, matches)


@contextmanager
def _no_console() -> Iterator[list[psutil.Process]]:
    yield []


@contextmanager
def _console(folder: Path) -> Iterator[list[psutil.Process]]:
    """The process of a console with a page that listens, while it runs."""
    import psutil

    options = ["--log", "log", "--matches", "matches", "--metrics", "metrics.prom", "--port", "0"]
    command = [sys.executable, "-m", "ostinato.cli", "console", *options]
    console = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    is_over = threading.Event()
    try:
        assert console.stdout is not None
        address = next(found for line in console.stdout if (found := _ADDRESS.search(line)))
        page = address[0].split("#")[0].split("?")[0].rstrip("/")
        listener = threading.Thread(target=_listen, args=(f"{page}/api/events", is_over), daemon=True)
        listener.start()
        yield [psutil.Process(console.pid)]
    finally:
        is_over.set()
        console.terminate()
        console.wait(_START_SECONDS)


def _listen(address: str, is_over: threading.Event) -> None:
    """A page that reads events and shows nothing."""
    with urllib.request.urlopen(address, timeout=_START_SECONDS) as events_of_page:
        while not is_over.is_set() and events_of_page.readline():
            time.sleep(0.01)


def _cpu_seconds(console: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in console)
