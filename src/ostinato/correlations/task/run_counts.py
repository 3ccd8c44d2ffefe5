"""The counts of a correlation: of one step, of a whole run, and as a row for programs. Loads no kernels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from ostinato.correlations.strategies.sides import SearchCost


@dataclass(frozen=True, slots=True)
class SummedCounts:
    """Counts that are summed over steps."""

    rows: int = 0
    late_rows: int = 0
    """Late rows of both sides."""
    late_archive_rows: int = 0
    """Late rows of a separate archive table."""
    live_matches: int = 0
    archive_matches: int = 0
    """Archive starts with a match that this step found."""
    results: int = 0


SUMMED = tuple(count.name for count in fields(SummedCounts))


@dataclass(frozen=True, slots=True)
class StepCounts(SummedCounts):
    """Counts of one step, and the size of the state after it."""

    held_results: int = 0
    buffered_rows: int = 0
    """Archive rows that stay in memory."""
    cached_entries: int = 0


@dataclass(frozen=True, slots=True)
class RunTotals(SummedCounts):
    """Sums over all steps so far, and the largest sizes of buffer and cache (the paper's Table 5)."""

    most_buffered_rows: int = 0
    most_cached_entries: int = 0
    live_seconds: float = 0.0
    archive_seconds: float = 0.0
    live_rows_searched: int = 0
    archive_rows_searched: int = 0

    def plus(self, counts: StepCounts, live: SearchCost, archive: SearchCost) -> RunTotals:
        """The totals with one more step."""
        summed = {name: getattr(self, name) + getattr(counts, name) for name in SUMMED}
        return RunTotals(
            **summed,
            most_buffered_rows=max(self.most_buffered_rows, counts.buffered_rows),
            most_cached_entries=max(self.most_cached_entries, counts.cached_entries),
            live_seconds=self.live_seconds + live.seconds,
            archive_seconds=self.archive_seconds + archive.seconds,
            live_rows_searched=self.live_rows_searched + live.rows,
            archive_rows_searched=self.archive_rows_searched + archive.rows,
        )


NO_STEPS = RunTotals()
_SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("strategy", pa.string()),
        ("cache", pa.bool_()),
        ("reason", pa.string()),
        *((one.name, pa.float64() if one.name.endswith("seconds") else pa.int64()) for one in fields(RunTotals)),
    ]
)


def run_table(query: str, strategy: str, cache: bool, reason: str | None, totals: RunTotals | None) -> pa.Table:
    """One row. On Spark each task decides for its own keys and keeps no counts: they are NULL."""
    decided = {"query": query, "strategy": strategy, "cache": cache, "reason": reason}
    return pa.Table.from_pylist([{**decided, **({} if totals is None else asdict(totals))}], schema=_SCHEMA)
