"""Bounds of queries, and the report of a run under them -> lines: by query, and by period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostinato.calls.bounds import Bounds
from ostinato.explanation.text_sections import Section
from ostinato.rows.loss_report import Period, Report, at_most
from ostinato.workloads.workload_rows import WorkloadRows

MOST_PERIODS = 8
MOST_QUERIES = 3
"""Up to this number of queries, the line of a period has numbers for each query."""
ON_SPARK = [
    "result.report.table has a row for each query and task; on a stream, for each query, micro-batch and bucket.",
    "Its column periods lists the losses by period. result.table_with_report has the matches of the same run, too.",
]


def losses_section(run: WorkloadRows[Any]) -> Section | None:
    """None if no query has a bound."""
    if run.metrics is not None:
        return "Losses of a run", ON_SPARK
    if run.reports:
        return "Losses of the last run", [line for report in run.reports for line in _report_lines(report)]
    return None


def _report_lines(report: Report) -> list[str]:
    return [*str(report).split("\n"), *_by_period(report)]


def _by_period(report: Report) -> list[str]:
    """One line for each period; none if the run dropped nothing."""
    if not report.periods or all(row.recall_estimate is not None for row in report.patterns):
        return []
    periods = at_most(report.periods, MOST_PERIODS)
    spans = [f"events {each.first_event:,} to {each.first_event + each.events - 1:,}" for each in periods]
    width = max(map(len, spans))
    joined = "" if len(periods) == len(report.periods) else ", some joined"
    lines = [f"by period (about one window of events each{joined}):"]
    for span, period in zip(spans, periods, strict=True):
        lines.append(f"  {span:<{width}}  {'; '.join(_of_period(report, period))}")
    return lines


def _of_period(report: Report, period: Period) -> list[str]:
    names = [row.query for row in report.patterns]
    is_known = [row.recall_estimate is not None for row in report.patterns]
    columns = list(zip(names, period.matches, period.dropped, is_known, strict=True))
    if len(columns) > MOST_QUERIES:
        total = f"{len(names)} queries"
        columns = [(total, sum(period.matches), sum(period.dropped), all(is_known))]
    return [
        f"{name}: {matches:,} found, {'none' if known else 'unknown number'} lost, {dropped:,} partial matches dropped"
        for name, matches, dropped, known in columns
    ]


def bounds_lines(bounds: Bounds) -> list[str]:
    """The bounds of the queries, one line each, then the bounds of all together."""
    width = max(map(len, bounds.names))
    lines = []
    for name, latency, weight, bounded in zip(
        bounds.names, bounds.latency, bounds.weights, bounds.bounded, strict=True
    ):
        if latency is None:
            text = "" if bounded else "no bound: no match is lost"
        elif latency.ns is not None:
            text = f"at most {latency.ns / 1000:,.6g} us of computing time for an event"
        else:
            text = f"at most {latency.ratio:.0%} of the time for an event without a bound, measured at the start"
        lines.append(f"{name:<{width}}  {', '.join(filter(None, (text, '' if weight == 1 else f'weight {weight:g}')))}")
    return [line.rstrip() for line in [*lines, *_together(bounds)]]


def _together(bounds: Bounds) -> Sequence[str]:
    lines = []
    if bounds.memory_bytes is not None:
        lines.append(f"Partial matches use at most {bounds.memory_bytes:,} bytes in a task, over all its plans.")
    if bounds.selection_ratio is not None:
        lines.append(f"{bounds.selection_ratio:.0%} of the partial matches are kept.")
    if bounds.batch_budget_ns is not None:
        budget = f"{bounds.batch_budget_ns / 1e6:,.6g} ms"
        lines.append(f"A micro-batch, or the batch of a task, takes at most {budget}, over all plans of the task.")
    return lines
