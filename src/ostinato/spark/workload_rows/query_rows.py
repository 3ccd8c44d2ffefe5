"""Output rows of tasks that run several queries: the number of a row's query, and rows that report dropped state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.rows.batches import OutputRows, batches_of
from ostinato.rows.column_names import PREFIX
from ostinato.spark.shipping.task_results import Batches
from ostinato.workloads.report_rows import report_values

if TYPE_CHECKING:
    from ostinato.rows.loss_report import Report

REPORT = f"{PREFIX}report"
"""The report on a query's dropped state; NULL in result rows."""
QUERY = f"{PREFIX}query"
"""The number of the query that a row belongs to."""


def report_batches(report: Report, names: Sequence[str], numbers: Sequence[int], output: pa.Schema) -> Batches:
    """A report as output rows, beside those of the queries. Queries have `names`, and `numbers` in the workload."""
    values = report_values(report)
    queries = [numbers[names.index(name)] for name in values.field("query").to_pylist()]
    arrays = {REPORT: values, QUERY: pa.array(queries, pa.int32())}
    return batches_of(OutputRows(len(values), arrays), output)
