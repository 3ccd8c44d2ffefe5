"""Counts and times of one call of a bounded engine -> the rows of its report."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.rows.loss_report import PatternReport, Period, with_period
from ostinato.workloads.matcher.ledger import Ledger
from ostinato.workloads.shedding.load_shedder import LoadShedder

Reals = NDArray[np.float64]


@dataclass(slots=True)
class ReportCounts:
    """[pattern] counts of the call, and of the present period."""

    dropped: Reals
    completed: Reals
    """Complete matches, each once, however many windows hold it."""
    periods: tuple[Period, ...] = ()
    period_rows: int = 0
    period_end: int = 0
    """The row of the stream up to which the period is counted."""
    before: tuple[Reals, Reals] = field(init=False)
    """`dropped` and `completed` when the period began."""
    matching_ns: int = 0
    deciding_ns: int = 0

    def __post_init__(self) -> None:
        self.before = (self.dropped, self.completed)

    def add(self, counted: Ledger, rows: int) -> None:
        self.dropped = self.dropped + counted.dropped.sum(axis=0)
        self.completed = self.completed + counted.completed.sum(axis=0)
        self.period_rows += rows

    def close_period(self) -> None:
        now = (self.dropped, self.completed)
        dropped, completed = (one - before for one, before in zip(now, self.before, strict=True))
        begins = self.period_end - self.period_rows
        counts = tuple(dropped.astype(int).tolist()), tuple(completed.astype(int).tolist())
        self.periods = with_period(self.periods, Period(begins, self.period_rows, *counts))
        self.period_rows, self.before = 0, now


def new_report_counts(patterns: int) -> ReportCounts:
    return ReportCounts(np.zeros(patterns), np.zeros(patterns))


def pattern_reports(
    shedder: LoadShedder, report_counts: ReportCounts, events: int, matches: tuple[int, ...]
) -> tuple[PatternReport, ...]:
    """`matches` of this call by pattern, each once for every window that holds it."""
    meter = shedder.meter
    quantiles = [meter.quantile_ns(share) for share in (0.5, 0.95, 0.99)]
    rows = []
    for at, count in enumerate(matches):
        bound, requested = float(meter.bound_ns[at]), shedder.bounds.latency[at]
        is_exact = shedder.nothing_lost(at)
        p50, p95, p99 = (float(of[at]) for of in quantiles) if meter.events else (None, None, None)
        rows.append(
            PatternReport(
                query=shedder.shape.names[at],
                events=events,
                matches=count,
                dropped=int(report_counts.dropped[at]),
                lost_estimate=0.0 if is_exact else None,
                recall_estimate=1.0 if is_exact else None,
                bound_ns=bound if np.isfinite(bound) else None,
                calibrated_events=shedder.calibration.events if requested is not None and requested.ratio else None,
                latency_p50_ns=p50,
                latency_p95_ns=p95,
                latency_p99_ns=p99,
                within_bound=float(meter.within[at] / meter.bounded[at]) if meter.bounded[at] else 1.0,
                overhead=report_counts.deciding_ns / report_counts.matching_ns if report_counts.matching_ns else 0.0,
            )
        )
    return tuple(rows)
