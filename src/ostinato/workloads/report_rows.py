"""The report of a run under a bound, as rows beside its matches."""

from __future__ import annotations

import pyarrow as pa

from ostinato.rows.loss_report import Report

REPORT_NAME = "report"
"""The column of `WorkloadResult.with_metrics`."""
PERIOD_TYPE = pa.struct(
    [
        ("first_event", pa.int64()),
        ("events", pa.int64()),
        ("matches", pa.int64()),
        ("dropped", pa.int64()),
        ("lost_estimate", pa.float64()),
        ("recall_estimate", pa.float64()),
    ]
)
"""About a window of events."""
REPORT_TYPE = pa.struct(
    [
        ("query", pa.string()),
        ("events", pa.int64()),
        ("matches", pa.int64()),
        ("dropped", pa.int64()),
        ("lost_estimate", pa.float64()),
        ("recall_estimate", pa.float64()),
        ("bound_ns", pa.float64()),
        ("calibrated_events", pa.int64()),
        ("latency_p50_ns", pa.float64()),
        ("latency_p95_ns", pa.float64()),
        ("latency_p99_ns", pa.float64()),
        ("within_bound", pa.float64()),
        ("overhead", pa.float64()),
        ("memory_bytes", pa.int64()),
        ("memory_bound_bytes", pa.int64()),
        ("spent_ns", pa.int64()),
        ("batch_budget_ns", pa.int64()),
        ("selection_ratio", pa.float64()),
        ("periods", pa.list_(PERIOD_TYPE)),
    ]
)


def report_values(report: Report) -> pa.StructArray:
    """The report's rows, one for each query of the engine."""
    table = report.table()
    table = table.append_column("periods", _periods(report, table.column("query").to_pylist()))
    columns = [table.column(field.name).combine_chunks().cast(field.type) for field in REPORT_TYPE]
    return pa.StructArray.from_arrays(columns, fields=list(REPORT_TYPE))


def _periods(report: Report, queries: list[str]) -> pa.Array:
    """[query] its periods."""
    of_query: dict[str, list[dict[str, float | None]]] = {query: [] for query in queries}
    for row in report.by_period().to_pylist():
        of_query[row.pop("query")].append(row)
    return pa.array(list(of_query.values()), pa.list_(PERIOD_TYPE))
