"""For workers that read a checkpoint: stored buckets in, rows with a column for an error out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.errors import carried
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.column_names import ERROR
from ostinato.spark.streams.stream_packing import unpack_table
from ostinato.spark.streams.stream_task import BucketTask
from ostinato.streams.bucket_state import BucketState

ARRIVING = "arriving"
"""The packs of rows that reach a bucket before the end of its input."""
# The names of the state variables, for Spark's state reader, and fields of the first.
BUCKET_STATE, OPEN_ROWS, WAITING, DEFINITION = "bucket", "open_rows", "waiting", "definition"
HEADER, WAITING_HERE = "header", "waiting_here"


def states_of(batches: Iterable[pa.RecordBatch]) -> Iterator[BucketState]:
    """For workers: the rows of `Checkpoint.buckets` as states."""
    for batch in batches:
        yield from map(_state_of, batch.to_pylist())


def _state_of(row: dict[str, Any]) -> BucketState:
    return BucketState(row[HEADER] or b"", tuple(row[OPEN_ROWS] or ()), tuple(row[WAITING] or ()))


def rows_or_error(tables: Iterator[pa.Table], output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """For workers: the rows with a column ERROR, which is NULL. If a table fails, a last row carries the error."""
    schema = output.append(pa.field(ERROR, pa.string()))
    try:
        for table in tables:
            columns = [column.combine_chunks() for column in table.columns]
            arrays = [*columns, pa.nulls(table.num_rows, pa.string())]
            yield from pa.Table.from_arrays(arrays, schema=schema).to_batches()
    except Exception as error:
        values = [pa.nulls(1, field.type) for field in output]
        yield pa.RecordBatch.from_arrays([*values, pa.array([carried(ours_or_raise(error))])], schema=schema)


@dataclass(frozen=True, slots=True)
class FinishBuckets:
    """For mapInArrow: states of buckets in; the rows that the end of input gives out, with a column for an error.

    A column ARRIVING may have packs of further rows. Decision times are after `watermark_us`, that of the last batch.
    """

    task: BucketTask
    watermark_us: int = NO_TIME

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        return rows_or_error(map(self._last_rows, rows), self.task.output)

    def _last_rows(self, row: dict[str, Any]) -> pa.Table:
        packs = row.get(ARRIVING)
        arrived = unpack_table(packs, self.task.shipped) if packs else None
        step = self.task.worker.advance(_state_of(row), arrived, self.watermark_us, finished=True)
        return self.task.rows(step.results)
