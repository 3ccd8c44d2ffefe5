"""The Spark task of a correlation on batches. Only workers load the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.rows.batches import OutputRows, batches_of, failure, one_array
from ostinato.rows.column_names import ERROR
from ostinato.spark.correlations.correlation_columns import Arriving

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class CorrelateKeys:
    """For mapInArrow: all rows of some keys in, of both sides; pairs out, with a column for an error."""

    task: CorrelationTask
    options: CorrelationOptions
    arriving: Arriving
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.correlations.task.correlation_worker import Correlator

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
    """The pairs with the columns and types of `output`, which has the order of the pairs' columns."""
    names = [name for name in output.names if name != ERROR]
    arrays = {name: one_array(column) for name, column in zip(names, results.columns, strict=True)}
    return batches_of(OutputRows(results.num_rows, arrays), output)
