"""The recent buffer: speed with a buffer smaller than the region (figure 9), and its size (Table 5).

Rows arrive in steps, as a stream's do. The archive is a folder of Parquet files named by their times; what the buffer
no longer has is read from those that a region reaches.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.correlate.queries import Q1
from benchmarks.correlate.running import LIVE, LIVE_CACHED, Case, Digest, Setup, answer, digest, table_of
from benchmarks.correlate.streams import Ticks
from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Goal, Record, Sense
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.correlations.task.correlation_worker import Correlator, StepCounts
from ostinato.expressions.types import Settings
from ostinato.local.local_correlations import LocalCorrelation

ROWS = {Scale.SMALL: 10_000, Scale.FULL: 50_000}
STEP_ROWS = 100
REGION = 500
BUFFERS = {Scale.SMALL: (1, 250, 500), Scale.FULL: (1, 100, 200, 300, 400, 500)}
PAPER_SPEED = Baseline("DejaVu, more than", 2_500, source="the paper's text")
NO_ARCHIVE = "no archive"
TABLE_5 = {
    10: (10, 0),
    50: (49, 1),
    100: (49, 3),
    200: (49, 7),
    300: (49, 11),
    400: (49, 15),
    500: (49, 19),
    600: (49, 23),
    700: (49, 27),
    800: (49, 31),
    900: (49, 35),
    1_000: (49, 39),
}
"""Region -> largest number of rows in the recent buffer, and of entries in the result cache."""
KEPT_REGIONS = {Scale.SMALL: (10, 100, 1_000), Scale.FULL: tuple(TABLE_5)}
WATCHED_ROWS = 120
"""Rows that arrive one by one after the region is full: a little more than two periods of the stream."""


@dataclass(slots=True)
class Archive:
    """Rows on disk, one file for each step. Only file names are in memory."""

    folder: Path
    files: list[tuple[int, int, Path]] = field(default_factory=list)
    """First time, last time and path of each file."""

    def write(self, rows: pa.Table) -> None:
        times = rows["ts"]
        path = self.folder / f"{times[0].as_py():012d}.parquet"
        pq.write_table(rows, path)
        self.files.append((times[0].as_py(), times[-1].as_py(), path))

    def read(self, since: int, until: int, rows_before: int) -> pa.Table | None:
        """Rows with since <= ts < until, and `rows_before` rows before them; None if there are none."""
        since -= rows_before  # one row a time unit
        reached = [path for first, last, path in self.files if last >= since and first < until]
        if not reached:
            return None
        rows = pa.concat_tables([pq.read_table(path) for path in reached])
        return rows.filter(pc.and_(pc.greater_equal(rows["ts"], since), pc.less(rows["ts"], until)))


@dataclass(slots=True)
class Fed:
    """A correlation that gets its rows step by step."""

    correlation: LocalCorrelation
    options: CorrelationOptions
    archive: Archive | None = None
    state: bytes | None = None

    def steps(self, table: pa.Table, sizes: Iterator[int]) -> Iterator[tuple[pa.Table, StepCounts]]:
        """Results and counts of each step. The last step is the end of input."""
        correlator, first = Correlator(self.correlation.task, self.options), 0
        for size in sizes:
            rows = table.slice(first, size)
            first += size
            step = partial(
                correlator.advance,
                self.state,
                self.correlation.live_rows(rows),
                None,
                rows["ts"][-1].as_py(),
                finished=first >= table.num_rows,
            )
            done = step()
            if done.wanted.num_rows:
                done = step(history=self._history(done.wanted, rows.schema))
            if self.archive is not None:
                self.archive.write(rows)
            self.state = done.state
            yield done.results, done.counts

    def _history(self, wanted: pa.Table, schema: pa.Schema) -> pa.Table:
        """The wanted rows. There is one key, so one range."""
        assert self.archive is not None
        (wish,) = wanted.to_pylist()
        read = self.archive.read(wish["from_us"], wish["to_us"], wish["rows_before"])
        return self.correlation.live_rows(schema.empty_table() if read is None else read)


def _correlation(text: str, schema: pa.Schema) -> LocalCorrelation:
    """Rows are their own archive."""
    return LocalCorrelation(text, schema, None, Settings(), Limits())


def _options(setup: Setup, recent_rows: int | None = None) -> CorrelationOptions:
    return CorrelationOptions(strategy=setup.strategy, cache=setup.cache, recent_rows=recent_rows)  # type: ignore[arg-type]


# --- figure 9 ---------------------------------------------------------------------------------------------------------


def measure_buffer(scale: Scale) -> list[Record]:
    """Live-first without a cache, as in the paper. All cases but the last write an archive of all rows."""
    case = Case(Q1, Ticks(ROWS[scale]), f"{REGION}")
    right = digest(answer(case, LIVE).table)
    records = []
    for buffer in BUFFERS[scale]:
        records.append(_buffered(case, right, buffer, f"Q1, buffer {buffer}: archive", keeps_archive=True))
    return [*records, _buffered(case, right, None, f"Q1, buffer {REGION}: {NO_ARCHIVE}", keeps_archive=False)]


def _buffered(case: Case, right: Digest, buffer: int | None, name: str, *, keeps_archive: bool) -> Record:
    table = table_of(case.stream)
    correlation = _correlation(case.text, table.schema)
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(Path(folder)) if keeps_archive else None
        fed = Fed(correlation, _options(LIVE, buffer), archive)
        started = time.process_time()
        given = [results for results, _ in fed.steps(table, _equal(table.num_rows))]
        seconds = time.process_time() - started
    expect(name, digest(correlation.selected_of(pa.concat_tables(given))), right)
    return Record("correlate", "figure 9", name, "speed", table.num_rows / seconds, "rows/s", PAPER_SPEED)


def _equal(rows: int) -> Iterator[int]:
    return (STEP_ROWS for _ in range(0, rows, STEP_ROWS))


# --- table 5 ----------------------------------------------------------------------------------------------------------


def measure_sizes(scale: Scale) -> list[Record]:
    """Largest number of rows and entries between two rows, with and without the result cache."""
    records = []
    for region in KEPT_REGIONS[scale]:
        paper_rows, paper_entries = TABLE_5[region]
        rows, _ = largest_sizes(region, LIVE)
        records.append(_record(region, LIVE, "rows in the buffer", rows, region))
        rows, entries = largest_sizes(region, LIVE_CACHED)
        records.append(_record(region, LIVE_CACHED, "rows in the buffer", rows, paper_rows))
        records.append(_record(region, LIVE_CACHED, "entries in the cache", entries, paper_entries))
    return records


def _record(region: int, setup: Setup, metric: str, value: int, papers: int) -> Record:
    beside = Baseline("the paper", papers, source="Table 5")
    goal = Goal(Sense.AT_MOST, papers) if metric.startswith("entries") else None
    return Record("correlate", "table 5", f"Q1, region {region}: {setup.name}, most", metric, value, "", beside, goal)


def largest_sizes(region: int, setup: Setup) -> tuple[int, int]:
    """Feeds rows at once until the region is full, then one by one."""
    table = table_of(Ticks(region + 2 * WATCHED_ROWS))
    correlation = _correlation(Q1.text(f"{region}"), table.schema)
    sizes = iter((region + WATCHED_ROWS, *([1] * WATCHED_ROWS)))
    counts = [counts for _, counts in Fed(correlation, _options(setup)).steps(table, sizes)][1:]
    return max(each.buffered_rows for each in counts), max(each.cached_entries for each in counts)
