"""A running or stopped stream's checkpoint -> its open partial matches, one row for each key that has one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import QueryError
from ostinato.rows.column_names import ERROR
from ostinato.spark.clause.clause_stream_task import StreamTask, stream_task
from ostinato.spark.event_queries.event_stream_task import EventStreamDefinition
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_buckets import rows_or_error, states_of
from ostinato.spark.streams.stream_checkpoint import check_folder, open_checkpoint
from ostinato.spark.streams.stream_definition import Definition, StreamDefinition
from ostinato.spark.workloads.clauses_stream_task import ClauseStreamDefinition

if TYPE_CHECKING:
    from ostinato.streams.bucket_state import BucketState


@only_our_errors()
def state(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None) -> DataFrame:
    """Partition keys, `waiting_since` (the time of the first row), `rows` so far, and the variables that may come
    `next`, as of the last committed batch.

    Conditions over the run so far are taken as fulfilled, so `next` may name more than can really follow. Rows that
    still wait for the watermark aren't counted. Where a query has several clauses, `operator` says which is meant.
    """
    checkpoint = check_folder(spark, checkpoint)
    opened = open_checkpoint(spark, checkpoint, operator)
    definition = opened.definition()
    if not isinstance(definition, StreamDefinition):
        raise _nothing_to_look_at(checkpoint, definition)
    query = definition.query(spark)
    schema = s.StructType(
        [
            *(s.StructField(name, query.source.column_types[name]) for name in query.bound.partition_by),
            s.StructField("waiting_since", query.source.column_types[query.bound.order_by[0].column]),
            s.StructField("rows", s.LongType()),
            s.StructField("next", s.ArrayType(s.StringType())),
        ]
    )
    task = Checked(OpenRuns(stream_task(query, definition), query.source.arrow_schema(schema)))
    found = opened.buckets().mapInArrow(task, s.StructType([*schema.fields, s.StructField(ERROR, s.StringType())]))
    return found.where(RAISES).drop(ERROR)


def _nothing_to_look_at(checkpoint: str, definition: Definition) -> QueryError:
    if isinstance(definition, EventStreamDefinition):
        kept = "sums over event queries, and no partial matches to look at"
        hint = "ost.finish gives the rows of windows that are still open"
    elif isinstance(definition, ClauseStreamDefinition):
        kept = "what the clauses of a workload share, and no runs of one clause to look at"
        hint = "ost.finish gives the matches that wait for the watermark"
    else:
        kept, hint = "summaries, and no partial matches to look at", "ost.ask asks them"
    return QueryError("NO_STATE", f"the stream of {checkpoint} keeps {kept}", hint=hint)


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """For mapInArrow: states of buckets in, their open runs out, with a column for an error."""

    task: StreamTask
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows_or_error(map(self._open_runs, states_of(batches)), self.output)

    def _open_runs(self, bucket: BucketState) -> pa.Table:
        from ostinato.clause.stream.open_runs import open_runs

        runs = open_runs(self.task.worker, bucket)
        columns = [column.cast(field.type) for column, field in zip(runs.columns, self.output, strict=True)]
        return pa.Table.from_arrays(columns, schema=self.output)
