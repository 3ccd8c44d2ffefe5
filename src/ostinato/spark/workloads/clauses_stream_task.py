"""The task of a workload's clauses on a stream. Only workers load the engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.streams.stream_buckets import CheckpointBucket, buckets_of, rows_or_error
from ostinato.spark.streams.stream_task import BucketTask, with_decided
from ostinato.spark.workloads.clause_tasks import ClauseOutput
from ostinato.streams.step import StreamCore

if TYPE_CHECKING:
    from ostinato.workloads.plan.clauses_task import ClausesTask
    from ostinato.workloads.stream.clauses_stream import ClauseRows


@dataclass(frozen=True, slots=True)
class ClausesBucketTask(BucketTask):
    """The task of an operator with clauses."""

    task: ClausesTask
    output_rows: ClauseOutput
    conditions: int
    """Number of row conditions in the shipped bits."""

    def new_core(self) -> StreamCore[ClauseRows]:
        from ostinato.workloads.stream.clauses_stream import ClauseStreamWorker

        return ClauseStreamWorker(self.task, condition_places(self.conditions), fingerprint=self.fingerprint)

    def rows(self, results: ClauseRows) -> pa.Table:
        batches = [batch for clause, rows in enumerate(results.rows) for batch in self.output_rows.rows(clause, rows)]
        batches += [batch for report in results.reports for batch in self.output_rows.report(report)]
        return with_decided(pa.Table.from_batches(batches, self.output), results.decided_us)


@dataclass(frozen=True, slots=True)
class OpenClauses:
    """For mapInArrow: states of buckets in, their partial matches by state out, with a column for an error."""

    task: ClausesBucketTask
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows_or_error(map(self._counted, buckets_of(batches)), self.output)

    def _counted(self, bucket: CheckpointBucket) -> pa.Table:
        counts: pa.Table = self.task.worker.partial_matches(bucket.state)
        return counts.cast(self.output)
