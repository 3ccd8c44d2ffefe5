"""What a Spark task runs: Arrow batches of whole keys in, Arrow batches of output rows out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.errors import MatchError, OstinatoError, carried
from ostinato.events.ordering import group_numbers
from ostinato.planning.plan import PREFIX
from ostinato.planning.typed import TypedPlan
from ostinato.runtimes.local import one_array
from ostinato.runtimes.task.worker import Batch, OutputRows, Worker

ERROR = f"{PREFIX}error"
"""The output column that carries an error to the driver in one line."""
BITS_PER_COLUMN = 60
ROWS_PER_STEP = 1 << 18
"""Sorted input is matched in steps of about so many rows; a key is never cut."""
ROWS_PER_BATCH = 1 << 16


def bits_name(column: int) -> str:
    return f"{PREFIX}bits{column}"


@dataclass(frozen=True, slots=True)
class SparkTask:
    """Everything a task needs, sent to the executors once per query."""

    typed: TypedPlan
    shipped: tuple[str, ...]
    """The names of the columns that arrive, in their order."""
    output: pa.Schema
    sorted_by_spark: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            worker = Worker(self.typed)
            for table in self._steps(batches):
                yield from self._batches(worker.run(self._batch(table)))
        except OstinatoError as error:
            yield self._failure(error)

    def _steps(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Tables of whole keys. Unsorted input is one; sorted input is cut between keys."""
        waiting: list[pa.RecordBatch] = []
        rows, enough = 0, ROWS_PER_STEP
        for batch in batches:
            waiting.append(batch)
            rows += batch.num_rows
            if self.sorted_by_spark and rows >= enough:
                table = self._named(waiting)
                last = self._start_of_last_key(table)
                if last > 0:
                    yield table.slice(0, last)
                    table = table.slice(last)
                waiting, rows = table.to_batches(), table.num_rows
                enough = max(ROWS_PER_STEP, 2 * rows)  # a large key: look again when it has doubled
        if waiting:
            yield self._named(waiting)

    def _named(self, batches: list[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches([batch.rename_columns(list(self.shipped)) for batch in batches])

    def _start_of_last_key(self, table: pa.Table) -> int:
        keys = [one_array(table.column(name)) for name in self.typed.plan.bound.partition_by]
        numbers = group_numbers(table.num_rows, keys)
        others = np.flatnonzero(numbers != numbers[-1])
        return int(others[-1]) + 1 if len(others) else 0

    def _batch(self, table: pa.Table) -> Batch:
        arrays = {name: one_array(table.column(name)) for name in table.column_names}
        masks = []
        for i in range(len(self.typed.plan.row_conditions)):
            column, bit = divmod(i, BITS_PER_COLUMN)
            bits = arrays[bits_name(column)].to_numpy(zero_copy_only=False)
            masks.append((bits >> np.int64(bit) & 1).astype(np.bool_))
        return Batch(table.num_rows, arrays, masks)

    def _batches(self, found: OutputRows) -> Iterator[pa.RecordBatch]:
        if not found.count:
            return
        arrays = []
        for field in self.output:
            array = pa.nulls(found.count, field.type) if field.name == ERROR else found.arrays[field.name]
            arrays.append(array if array.type == field.type else array.cast(field.type))
        whole = pa.RecordBatch.from_arrays(arrays, schema=self.output)
        for start in range(0, found.count, ROWS_PER_BATCH):
            yield whole.slice(start, ROWS_PER_BATCH)

    def _failure(self, error: OstinatoError) -> pa.RecordBatch:
        """One row that carries the error; Spark raises it when it reads the row."""
        if not isinstance(error, MatchError):
            error = MatchError(error.code, error.message, hint=error.hint)
        arrays = [
            pa.array([carried(error)], field.type) if field.name == ERROR else pa.nulls(1, field.type)
            for field in self.output
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.output)
