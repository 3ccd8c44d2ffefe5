"""For workers that read a checkpoint: stored buckets in, rows with a column for an error out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.errors import carried
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.column_names import ERROR
from ostinato.spark.streams.stream_packing import unpack_table
from ostinato.spark.streams.stream_task import BucketTask, with_changes
from ostinato.streams.bucket_state import BucketState
from ostinato.streams.step import Step

T = TypeVar("T")

ARRIVING = "arriving"
"""The packs of rows that reach a bucket before the end of its input."""
# The names of the state variables, for Spark's state reader, and fields of the first.
BUCKET_STATE, OPEN_ROWS, WAITING, DEFINITION = "bucket", "open_rows", "waiting", "definition"
HEADER, OPEN_HERE, WAITING_HERE = "header", "open_here", "waiting_here"


@dataclass(frozen=True, slots=True)
class CheckpointBucket:
    """A row of `Checkpoint.buckets`."""

    state: BucketState
    definition: str | None
    """The definition that the state belongs to, where the row has it."""
    arriving: list[bytes]
    """Packs of rows that reach the bucket before the end of its input."""

    @staticmethod
    def of(row: dict[str, Any]) -> CheckpointBucket:
        state = BucketState(row[HEADER] or b"", tuple(row[OPEN_ROWS] or ()), tuple(row[WAITING] or ()))
        return CheckpointBucket(state, row.get(DEFINITION), row.get(ARRIVING) or [])

    def with_changes(self, task: BucketTask, advance: Callable[..., T]) -> T:
        """The outcome of `advance` for the state, after the changes of the query since the bucket had rows."""
        return with_changes(task, advance, self.state, lambda: self.definition)[0]


def buckets_of(batches: Iterable[pa.RecordBatch]) -> Iterator[CheckpointBucket]:
    """For workers: the rows of `Checkpoint.buckets`."""
    return (CheckpointBucket.of(row) for batch in batches for row in batch.to_pylist())


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
        return rows_or_error(map(self._last_rows, buckets_of(batches)), self.task.output)

    def _last_rows(self, bucket: CheckpointBucket) -> pa.Table:
        arrived = unpack_table(bucket.arriving, self.task.shipped) if bucket.arriving else None

        def last_step(state: BucketState, **more: Any) -> Step[Any]:
            step: Step[Any] = self.task.worker.advance(state, arrived, self.watermark_us, finished=True, **more)
            return step

        return self.task.rows(bucket.with_changes(self.task, last_step).results)
