"""The report of a run under a bound, as rows beside its matches."""

from __future__ import annotations

import pyarrow as pa

from ostinato.rows.loss_report import Report

REPORT_NAME = "report"
"""The column of `WorkloadResult.table_with_report`."""
_EMPTY = Report(())
PERIOD_TYPE = pa.struct([field for field in _EMPTY.by_period().schema if field.name != "query"])
"""About a window of events."""
REPORT_TYPE = pa.struct([*_EMPTY.table().schema, pa.field("periods", pa.list_(PERIOD_TYPE))])


def report_values(report: Report) -> pa.StructArray:
    """The report's rows, one for each query of the engine."""
    table = report.table()
    table = table.append_column("periods", _periods(report, table.column("query").to_pylist()))
    columns = [table.column(field.name).combine_chunks() for field in REPORT_TYPE]
    return pa.StructArray.from_arrays(columns, fields=list(REPORT_TYPE))


def _periods(report: Report, queries: list[str]) -> pa.Array:
    """[query] its periods."""
    of_query: dict[str, list[dict[str, float | None]]] = {query: [] for query in queries}
    for row in report.by_period().to_pylist():
        of_query[row.pop("query")].append(row)
    return pa.array(list(of_query.values()), pa.list_(PERIOD_TYPE))
