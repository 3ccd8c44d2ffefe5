"""The Spark tasks of a workload of clauses. Only workers load the engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.rows.batches import OutputRows, batch_of, batches_of
from ostinato.rows.loss_report import Report
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.shipping.task_results import Batches, results_of
from ostinato.spark.workload_rows.query_rows import QUERY, report_batches

if TYPE_CHECKING:
    from ostinato.workloads.plan.clauses_task import ClausesTask


@dataclass(frozen=True, slots=True)
class ClauseOutput:
    """The form of output rows: the columns of all clauses, and the number of the row's query."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    """For each clause, its number in the workload."""
    stored: tuple[dict[str, str], ...]
    """For each clause, the column of `schema` for each of its columns."""
    schema: pa.Schema

    def rows(self, clause: int, rows: OutputRows) -> Batches:
        """The rows of a clause."""
        arrays = {self.stored[clause][name]: array for name, array in rows.arrays.items()}
        arrays[QUERY] = pa.repeat(pa.scalar(self.numbers[clause], pa.int32()), rows.count)
        return batches_of(OutputRows(rows.count, arrays), self.schema)

    def report(self, report: Report) -> Batches:
        return report_batches(report, self.names, self.numbers, self.schema)


@dataclass(frozen=True, slots=True)
class WholeKeysTask:
    """All rows of some keys in; the rows of all clauses, and reports, out."""

    task: ClausesTask
    output: ClauseOutput
    shipped: tuple[str, ...]
    """The names of arriving columns, in their order."""
    conditions: int
    """Number of row conditions in the shipped bits."""

    def __call__(self, batches: Batches) -> Batches:
        return results_of(batches, self._matched, self.output.schema, self.shipped)

    def _matched(self, rows: pa.Table) -> Batches:
        from ostinato.workloads.task.clauses_worker import ClausesWorker

        results = ClausesWorker(self.task).run(batch_of(rows, condition_places(self.conditions)))
        for clause, clause_rows in enumerate(results.rows):
            yield from self.output.rows(clause, clause_rows)
        for report in results.reports:
            yield from self.output.report(report)
