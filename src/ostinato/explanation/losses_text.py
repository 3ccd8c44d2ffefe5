"""Bounds of queries, and matches lost under them -> lines: by query, and period by period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ostinato.calls.bounds import Bounds
from ostinato.workloads.shedding.report import Period, at_most

if TYPE_CHECKING:
    from ostinato.workloads.shedding.report import Report

MOST_PERIODS = 8
MOST_QUERIES = 3
"""Most queries that have their own numbers in the line of a period."""
ON_SPARK = [
    "result.metrics says it when it runs: a row for each task (on a stream each micro-batch and bucket) and query,",
    "period by period in the column periods; result.with_metrics has the matches of the same run, too",
]


@runtime_checkable
class GaveUp(Protocol):
    """The losses that `ost.Workload(...).run(...)` reports."""

    reports: tuple[Report, ...]
    """In process: one for each engine with a bound."""
    metrics: object | None
    """On Spark, under a bound: the DataFrame with the reports."""


def losses_part(ran: GaveUp) -> tuple[str, list[str]] | None:
    """The title and the lines of a section; None where nothing was bounded."""
    if ran.metrics is not None:
        return "What a run gives up", ON_SPARK
    if ran.reports:
        return "What the last run gave up", [line for report in ran.reports for line in _report_lines(report)]
    return None


def _report_lines(report: Report) -> list[str]:
    return [*str(report).split("\n"), *_by_period(report)]


def _by_period(report: Report) -> list[str]:
    """The drops of each period, as lines. A run that dropped nothing has none."""
    if not report.periods or all(row.recall_estimate is not None for row in report.patterns):
        return []
    periods = at_most(report.periods, MOST_PERIODS)
    spans = [f"events {each.first_event:,} to {each.first_event + each.events - 1:,}" for each in periods]
    width = max(map(len, spans))
    several = "" if len(periods) == len(report.periods) else ", some put together"
    lines = [f"period by period, about a window of events each{several}:"]
    for span, period in zip(spans, periods, strict=True):
        lines.append(f"  {span:<{width}}  {'; '.join(_of_period(report, period))}")
    return lines


def _of_period(report: Report, period: Period) -> list[str]:
    names = [row.query for row in report.patterns]
    is_known = [row.recall_estimate is not None for row in report.patterns]
    columns = list(zip(names, period.matches, period.dropped, is_known, strict=True))
    if len(columns) > MOST_QUERIES:
        total = f"{len(names)} queries together"
        columns = [(total, sum(period.matches), sum(period.dropped), all(is_known))]
    return [
        f"{name} {found:,} found, {'none' if known else 'unknown'} given up, {dropped:,} dropped"
        for name, found, dropped, known in columns
    ]


def bounds_part(bounds: Bounds) -> list[str]:
    """The bounds of the queries, a line each."""
    width = max(map(len, bounds.names))
    lines = []
    for name, latency, weight, bounded in zip(
        bounds.names, bounds.latency, bounds.weights, bounds.bounded, strict=True
    ):
        if latency is None:
            told = "" if bounded else "everything is kept"
        elif latency.ns is not None:
            told = f"{latency.ns / 1000:,.6g} us of computing an event"
        else:
            told = f"{latency.ratio:.0%} of what an event takes without a bound, as measured at the beginning"
        lines.append(f"{name:<{width}}  {', '.join(filter(None, (told, '' if weight == 1 else f'weight {weight:g}')))}")
    return [line.rstrip() for line in [*lines, *_together(bounds)]]


def _together(bounds: Bounds) -> Sequence[str]:
    lines = []
    if bounds.memory_bytes is not None:
        lines.append(f"partial matches take at most {bounds.memory_bytes:,} bytes in a task, all its plans together")
    if bounds.selection_ratio is not None:
        lines.append(f"{bounds.selection_ratio:.0%} of the partial matches are kept")
    if bounds.batch_budget_ns is not None:
        budget = f"{bounds.batch_budget_ns / 1e6:,.6g} ms"
        lines.append(f"a task's batch, or a micro-batch, takes at most {budget}, all its plans together")
    return lines
