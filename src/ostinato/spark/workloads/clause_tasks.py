"""What Spark tasks run for a workload of clauses: the engines are loaded where they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.event_queries.event_tasks import QUERY, REPORT

if TYPE_CHECKING:
    from ostinato.rows.batches import OutputRows
    from ostinato.workloads.shedding.report import Report
    from ostinato.workloads.task.clauses_worker import ClausesTask

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class ClauseOutput:
    """How the rows of clauses leave: in common columns, with the number of their query."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    """For each clause its number in the workload."""
    stored: tuple[dict[str, str], ...]
    """For each clause the column of `schema` that each of its columns fills."""
    schema: pa.Schema

    def rows(self, clause: int, found: OutputRows) -> Batches:
        """The rows of a clause."""
        from ostinato.rows.batches import OutputRows, batches_of

        arrays = {self.stored[clause][name]: array for name, array in found.arrays.items()}
        arrays[QUERY] = pa.repeat(pa.scalar(self.numbers[clause], pa.int32()), found.count)
        return batches_of(OutputRows(found.count, arrays), self.schema)

    def report(self, report: Report) -> Batches:
        """What was given up, as rows that leave beside those of the clauses."""
        from ostinato.rows.batches import OutputRows, batches_of
        from ostinato.workloads.report_rows import report_values

        values = report_values(report)
        whose = [self.numbers[self.names.index(name)] for name in values.field("query").to_pylist()]
        return batches_of(OutputRows(len(values), {REPORT: values, QUERY: pa.array(whose, pa.int32())}), self.schema)


@dataclass(frozen=True, slots=True)
class WholeKeysTask:
    """Rows of whole partitions in, the rows of all clauses and what was given up for them out."""

    task: ClausesTask
    output: ClauseOutput
    shipped: tuple[str, ...]
    """The names of the columns that arrive, in their order."""
    conditions: int
    """How many row conditions are packed there."""

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.rows.batches import batch_of, failure
        from ostinato.workloads.task.clauses_worker import ClausesWorker

        try:
            waiting = [batch.rename_columns(list(self.shipped)) for batch in batches if batch.num_rows]
            if not waiting:
                return
            rows = batch_of(pa.Table.from_batches(waiting), condition_places(self.conditions))
            found = ClausesWorker(self.task).run(rows)
            for clause, one in enumerate(found.rows):
                yield from self.output.rows(clause, one)
            for report in found.reports:
                yield from self.output.report(report)
        except Exception as error:
            yield failure(ours_or_raise(error), self.output.schema)
