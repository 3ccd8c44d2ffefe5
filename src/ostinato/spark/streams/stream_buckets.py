"""For workers that read a checkpoint: buckets as the state reader gives them, and rows with a column for an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.errors import carried
from ostinato.rows.column_names import ERROR
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import ArrowTask, Checked
from ostinato.spark.streams.stream_processor import OPEN_ROWS, WAITING
from ostinato.spark.streams.stream_task import BucketTask

if TYPE_CHECKING:
    from ostinato.streams.bucket_state import BucketState

HEADER = "header"


def states_of(batches: Iterable[pa.RecordBatch]) -> Iterator[BucketState]:
    """For workers: what `buckets` gives."""
    from ostinato.streams.bucket_state import BucketState

    for batch in batches:
        for row in batch.to_pylist():
            yield BucketState(row[HEADER], tuple(row[OPEN_ROWS] or ()), tuple(row[WAITING] or ()))


def rows_or_error(tables: Iterator[pa.Table], output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """For workers: the rows with a column ERROR, which is NULL but in a last row where making the tables failed."""
    schema = output.append(pa.field(ERROR, pa.string()))
    try:
        for table in tables:
            columns = [column.combine_chunks() for column in table.columns]
            arrays = [*columns, pa.nulls(table.num_rows, pa.string())]
            yield from pa.Table.from_arrays(arrays, schema=schema).to_batches()
    except Exception as error:
        values = [pa.nulls(1, field.type) for field in output]
        yield pa.RecordBatch.from_arrays([*values, pa.array([carried(ours_or_raise(error))])], schema=schema)


def with_errors_raised(buckets: DataFrame, task: ArrowTask, schema: s.StructType) -> DataFrame:
    """The rows that the task gives for the buckets, in columns of the schema. An error that it gives is raised."""
    with_error = s.StructType([*schema.fields, s.StructField(ERROR, s.StringType())])
    return buckets.mapInArrow(Checked(task), with_error).where(RAISES).drop(ERROR)


@dataclass(frozen=True, slots=True)
class FinishBuckets:
    """For mapInArrow: states of buckets in, the rows that their end gives out, with a column for an error."""

    task: BucketTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows_or_error(map(self._last_rows, states_of(batches)), self.task.output)

    def _last_rows(self, bucket: BucketState) -> pa.Table:
        from ostinato.kernels.constants import NO_TIME

        step = self.task.worker.advance(bucket, None, NO_TIME, finished=True)
        return self.task.rows(step.results)
