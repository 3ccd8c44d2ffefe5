"""What a Spark task runs for a correlation of whole tables: the engines are loaded where they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.rows.column_names import ERROR
from ostinato.spark.correlations.correlation_columns import Arriving

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class CorrelateKeys:
    """For mapInArrow: all rows of some keys in, of both sides; their pairs out, with a column for an error."""

    task: CorrelationTask
    options: CorrelationOptions
    arriving: Arriving
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.correlations.task.correlation_worker import Correlator
        from ostinato.rows.batches import failure

        rows = [batch for batch in batches if batch.num_rows]
        if not rows:
            return
        try:
            live, archive = self.arriving.split(pa.Table.from_batches(rows))
            step = Correlator(self.task, self.options).advance(None, live, archive, 0, finished=True)
            yield from pair_batches(step.results, self.output)
        except Exception as error:
            yield failure(ours_or_raise(error), self.output)


def pair_batches(results: pa.Table, output: pa.Schema) -> Batches:
    """The pairs in the columns and types that were promised; these are in the order of the pairs' own."""
    from ostinato.rows.batches import OutputRows, batches_of, one_array

    names = [name for name in output.names if name != ERROR]
    arrays = {name: one_array(column) for name, column in zip(names, results.columns, strict=True)}
    return batches_of(OutputRows(results.num_rows, arrays), output)
