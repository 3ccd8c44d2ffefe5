"""The CPU time of a stream of rules with the live console beside it, over that of the same stream alone.

The console and a page are processes of their own. They follow the sink, the metrics and the change log of the stream.
Both arms run in turns, in one session. The CPU time of the console is reported apart, and that of Chromium, which shows
the page if it is on this machine.
"""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.micro_batch import in_turn
from benchmarks.streaming.processes import cpu_seconds_so_far
from benchmarks.streaming.rules import BUCKETS, events, expected_matches, rule_text
from benchmarks.streaming.streams import cut, read_files, run_stream, streaming_session, write_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RULES = {Scale.SMALL: 10, Scale.FULL: 10}
ROWS_PER_BATCH = {Scale.SMALL: 5_000, Scale.FULL: 20_000}
BATCHES = {Scale.SMALL: 8, Scale.FULL: 12}
ROUNDS = {Scale.SMALL: 3, Scale.FULL: 5}
WARM_UP_ROUNDS = 1
WARM_UP_BATCHES = 2
LIMIT_SECONDS = 60
OVER_ALONE = Goal(Sense.BELOW, 1.02, of_ratio=True)
ALONE, BESIDE = "stream alone", "with the console"
_PAGE = """
import json, sys, urllib.request
for line in urllib.request.urlopen(sys.argv[1] + "api/events"):
    if line.startswith(b"data: "):
        print(json.loads(line[6:])["tiles"]["matches"], flush=True)
"""
"""A page that shows nothing: it prints the number of matches."""


class Console:
    """A console and a page, as processes."""

    def __init__(self, folder: Path) -> None:
        sources = ["--log", folder / "log", "--matches", folder / "sink", "--metrics", folder / "stream.prom"]
        command = [sys.executable, "-m", "ostinato.cli", "console", *map(str, sources), "--port", "0"]
        search_path = os.pathsep.join(dict.fromkeys(entry for entry in sys.path if entry))
        environment = {**os.environ, "PYTHONPATH": search_path}
        self._console = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._console.stdout is not None
        address = next(line.strip() for line in self._console.stdout if "http://" in line).partition("#")[0]
        self._page = subprocess.Popen([sys.executable, "-c", _PAGE, address], stdout=subprocess.PIPE, text=True)
        self._browser = _browser_at(address, folder / "browser")

    def wait_for_matches(self, count: int) -> None:
        """Returns when the page has so many matches. It gets news every second."""
        assert self._page.stdout is not None
        until, shown = time.monotonic() + LIMIT_SECONDS, 0
        while shown < count and time.monotonic() < until:
            shown = int(self._page.stdout.readline() or -1)
        expect("matches on the page", shown, count)

    def cpu_seconds(self) -> float:
        """Of all these processes since they began."""
        return self.own_cpu_seconds() + _cpu_of(self._page) + self.browser_cpu_seconds()

    def own_cpu_seconds(self) -> float:
        return _cpu_of(self._console)

    def browser_cpu_seconds(self) -> float:
        """0 without a browser."""
        return 0.0 if self._browser is None else _cpu_of(self._browser)

    def stop(self) -> None:
        for process in (self._browser, self._page, self._console):
            if process is None:
                continue
            process.terminate()
            process.wait(timeout=30)


def _cpu_of(process: subprocess.Popen[str]) -> float:
    import psutil

    root = psutil.Process(process.pid)
    total = 0.0
    for one in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # ended while we looked
            total += sum(one.cpu_times()[:4])
    return total


def _browser_at(address: str, profile: Path) -> subprocess.Popen[str] | None:
    """Chromium with the page; None if this machine has none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    options += [
        "--remote-debugging-port=0",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
    ]
    quiet = subprocess.DEVNULL
    return subprocess.Popen([chromium, *options, address], stdout=quiet, stderr=quiet, text=True)


@contextmanager
def _console_of(folder: Path, is_beside: bool) -> Iterator[Console | None]:
    console = Console(folder) if is_beside else None
    try:
        yield console
    finally:
        if console is not None:
            console.stop()


def measure_console(scale: Scale) -> list[Record]:
    """The CPU time of a row, in both arms, and that of the console."""
    spark = streaming_session()
    table = events(ROWS_PER_BATCH[scale] * BATCHES[scale])
    expected = sum(expected_matches(number, table) for number in range(RULES[scale]))
    taken: dict[str, list[float]] = {ALONE: [], BESIDE: []}
    consoles: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "in"
        write_files(cut(table, ROWS_PER_BATCH[scale]), source)
        for done in range(ROUNDS[scale] + WARM_UP_ROUNDS):
            for arm in in_turn([ALONE, BESIDE], done):
                folder = Path(tempfile.mkdtemp(dir=name))
                seconds, *apart = _run(spark, source, folder, RULES[scale], arm == BESIDE, expected)
                if done >= WARM_UP_ROUNDS:
                    taken[arm].append(seconds)
                    consoles += [(apart[0], apart[1])] if arm == BESIDE else []
    rows = ROWS_PER_BATCH[scale]
    micros = {arm: 1e6 * statistics.median(found) / rows for arm, found in taken.items()}
    record = partial(Record, "rules", "console", f"{RULES[scale]} rules, {rows:,} rows a batch")
    own, browser = (statistics.median(found) for found in zip(*consoles, strict=True))
    records = [
        record("CPU time of a row", micros[BESIDE], "µs", Baseline(ALONE, micros[ALONE]), OVER_ALONE),
        record("CPU time of the console during a run", own, "s"),
    ]
    return [*records, record("CPU time of Chromium during a run", browser, "s")] if browser else records


def _run(
    spark: SparkSession, source: Path, folder: Path, rules: int, is_beside: bool, expected: int
) -> tuple[float, float, float]:
    """The stream's CPU time of a batch, and those of console and browser of the whole run. The answers are checked."""
    import ostinato as ost

    for number in range(rules):
        ost.write_rule(folder / "log", f"r{number:03d}", rule_text(number))
    (folder / "sink").mkdir()
    found = ost.rules(read_files(spark, source), folder / "log", keys="key", time="ts", buckets=BUCKETS)
    metrics = ost.stream_metrics(spark, folder / "stream.prom")
    moments: list[float] = []
    try:
        with _console_of(folder, is_beside) as console:

            def look(batch: DataFrame, _: int) -> None:
                moments.append(cpu_seconds_so_far() - (0.0 if console is None else console.cpu_seconds()))
                batch.write.mode("append").parquet(str(folder / "sink"))

            ran = run_stream(found, folder / "checkpoint", look)
            expect("matches", ran.total("matches"), expected)
            if console is not None:
                console.wait_for_matches(expected)
            apart = (0.0, 0.0) if console is None else (console.own_cpu_seconds(), console.browser_cpu_seconds())
    finally:
        spark.streams.removeListener(metrics)
    batches = [after - before for before, after in itertools.pairwise(moments[WARM_UP_BATCHES:])]
    return statistics.median(batches), *apart
