"""A report as rows of the output of a workload."""

from __future__ import annotations

from ostinato.calls.bounds import read_bounds
from ostinato.rows.loss_report import PatternReport, Period, Report
from ostinato.workloads.report_rows import REPORT_TYPE, report_values

QUIET = PatternReport("q1", 20, 5, 0, 0.0, 1.0, None, None, None, None, None, 1.0, 0.0)
BUSY = PatternReport("q2", 20, 7, 3, None, None, 150.0, None, 100.0, 110.0, 120.0, 0.5, 0.1)
PERIODS = (Period(0, 12, (0, 2), (3, 3)), Period(12, 8, (0, 1), (2, 4)))


def test_each_query_has_a_row_with_its_periods() -> None:
    bounds = read_bounds(["q1", "q2"], memory_bound="1 MB", batch_budget="1 ms")
    report = Report((QUIET, BUSY), PERIODS, bounds=bounds, memory_bytes=800, spent_ns=900)
    values = report_values(report)
    assert values.type == REPORT_TYPE
    first, second = values.to_pylist()
    assert (first["query"], second["query"], second["dropped"]) == ("q1", "q2", 3)
    assert second["periods"] == [
        {"first_event": 0, "events": 12, "matches": 3, "dropped": 2, "lost_estimate": None, "recall_estimate": None},
        {"first_event": 12, "events": 8, "matches": 4, "dropped": 1, "lost_estimate": None, "recall_estimate": None},
    ]
    assert [period["matches"] for period in first["periods"]] == [3, 2]
    for row in (first, second):
        assert (row["memory_bytes"], row["memory_bound_bytes"]) == (800, 1_000_000)
        assert (row["spent_ns"], row["batch_budget_ns"], row["selection_ratio"]) == (900, 1_000_000, None)


def test_periods_have_no_estimate_if_recall_is_unknown() -> None:
    (first, row) = report_values(Report((QUIET, BUSY), PERIODS)).to_pylist()
    assert (row["lost_estimate"], row["recall_estimate"]) == (None, None)
    assert {(period["lost_estimate"], period["recall_estimate"]) for period in row["periods"]} == {(None, None)}
    assert {(period["lost_estimate"], period["recall_estimate"]) for period in first["periods"]} == {(0.0, 1.0)}
    assert [period["dropped"] for period in row["periods"]] == [2, 1]


def test_a_call_without_events_has_no_periods() -> None:
    (row,) = report_values(Report((QUIET,))).to_pylist()
    assert row["periods"] == []
