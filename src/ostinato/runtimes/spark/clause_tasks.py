"""What Spark tasks run for a workload of clauses: `runtimes/task`, loaded where it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import OstinatoError
from ostinato.runtimes.spark.event_tasks import QUERY, REPORT
from ostinato.runtimes.spark.task import condition_places

if TYPE_CHECKING:
    from ostinato.runtimes.task.bounded_clauses import ClausesTask
    from ostinato.runtimes.task.worker import OutputRows
    from ostinato.techniques.bounded_latency.report import Report

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class WholeKeysTask:
    """Rows of whole partitions in, the rows of all clauses and what was given up for them out."""

    task: ClausesTask
    numbers: tuple[int, ...]
    """For each clause its number in the workload."""
    shipped: tuple[str, ...]
    """The names of the columns that arrive, in their order."""
    conditions: int
    """How many row conditions are packed there."""
    stored: tuple[dict[str, str], ...]
    """For each clause the column of `output` that each of its columns fills."""
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.runtimes.task.arrow_batches import batch_of, failure
        from ostinato.runtimes.task.bounded_clauses import ClausesWorker

        try:
            waiting = [batch.rename_columns(list(self.shipped)) for batch in batches if batch.num_rows]
            if not waiting:
                return
            rows = batch_of(pa.Table.from_batches(waiting), condition_places(self.conditions))
            found = ClausesWorker(self.task).run(rows)
            for clause, one in enumerate(found.rows):
                yield from self._rows(clause, one)
            for report in found.reports:
                yield from self._report(report)
        except OstinatoError as error:
            yield failure(error, self.output)

    def _rows(self, clause: int, found: OutputRows) -> Batches:
        from ostinato.runtimes.task.arrow_batches import batches_of
        from ostinato.runtimes.task.worker import OutputRows

        arrays = {self.stored[clause][name]: array for name, array in found.arrays.items()}
        arrays[QUERY] = pa.repeat(pa.scalar(self.numbers[clause], pa.int32()), found.count)
        return batches_of(OutputRows(found.count, arrays), self.output)

    def _report(self, report: Report) -> Batches:
        from ostinato.runtimes.bounded_report import report_values
        from ostinato.runtimes.task.arrow_batches import batches_of
        from ostinato.runtimes.task.worker import OutputRows

        values = report_values(report)
        whose = [self.numbers[self.task.names.index(name)] for name in values.field("query").to_pylist()]
        return batches_of(OutputRows(len(values), {REPORT: values, QUERY: pa.array(whose, pa.int32())}), self.output)
