"""The Spark task of a correlation on batches. Only workers load the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.rows.batches import OutputRows, batches_of, one_array
from ostinato.rows.column_names import ERROR
from ostinato.spark.shipping.task_results import Batches, results_of

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask


@dataclass(frozen=True, slots=True)
class Arriving:
    """Splits arriving rows into the two sides. Plain values: it is sent to workers."""

    live: tuple[str, ...]
    """The column names of a live row, in their order. If rows are shared, of every row."""
    archive: tuple[str, ...]
    """The column names of an archive row; empty if rows are shared."""

    def split(self, rows: pa.Table) -> tuple[pa.Table, pa.Table | None]:
        """The live rows and the archive rows; None: they are the same."""
        if not self.archive:
            return rows.rename_columns(list(self.live)), None
        is_live = rows.column(0)
        columns = rows.select(range(1, rows.num_columns))
        width = len(self.live)
        live = columns.filter(is_live).select(range(width)).rename_columns(list(self.live))
        archive = columns.filter(pc.invert(is_live)).select(range(width, columns.num_columns))
        return live, archive.rename_columns(list(self.archive))


@dataclass(frozen=True, slots=True)
class CorrelateKeys:
    """For mapInArrow: all rows of some keys in, of both sides; pairs out, with a column for an error."""

    task: CorrelationTask
    options: CorrelationOptions
    arriving: Arriving
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        return results_of(batches, self._pairs, self.output)

    def _pairs(self, rows: pa.Table) -> Batches:
        from ostinato.correlations.task.correlation_worker import Correlator

        live, archive = self.arriving.split(rows)
        step = Correlator(self.task, self.options).advance(None, live, archive, 0, finished=True)
        yield from pair_batches(step.results, self.output)


def pair_batches(results: pa.Table, output: pa.Schema) -> Batches:
    """The pairs with the columns and types of `output`, which has the order of the pairs' columns."""
    names = [name for name in output.names if name != ERROR]
    arrays = {name: one_array(column) for name, column in zip(names, results.columns, strict=True)}
    return batches_of(OutputRows(results.num_rows, arrays), output)
