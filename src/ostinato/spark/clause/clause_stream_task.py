"""The tasks of a clause on a stream. Only workers load the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.typed_plan import Limits, TypedPlan
from ostinato.expressions.types import Settings
from ostinato.rows.column_names import DECIDED
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.streams.stream_buckets import CheckpointBucket, buckets_of, rows_or_error
from ostinato.spark.streams.stream_task import BucketTask, from_first_watermark
from ostinato.streams.stream_settings import StreamSettings

StateBy = Literal["key", "reason", "state"]
"""The rows of `ost.stream_state`."""

if TYPE_CHECKING:
    from ostinato.clause.stream.clause_stream import StreamWorker
    from ostinato.clause.stream.early_stream import EarlyStream
    from ostinato.clause.stream.skipping_stream import SkippingStream
    from ostinato.rows.batches import OutputRows
    from ostinato.streams.bucket_state import BucketState


@dataclass(frozen=True, slots=True)
class ClauseBucketTask(BucketTask):
    """Sent to the executors with every batch."""

    typed: TypedPlan
    settings: StreamSettings

    def new_core(self) -> StreamWorker | EarlyStream:
        from ostinato.clause.stream.appending_stream import stream_worker
        from ostinato.clause.stream.early_stream import EarlyStream

        conditions = condition_places(len(self.typed.plan.row_conditions))
        stream = stream_worker(self.typed, conditions, self.settings, self.fingerprint)
        return EarlyStream(stream) if self.settings.emit == "early" else stream

    def carried_over(self, state: BucketState, stored: str) -> BucketState:
        from ostinato.spark.clause.kept_state import kept_state

        if self.settings.on_change == "refuse":
            return BucketTask.carried_over(self, state, stored)
        return kept_state(self, state, stored)

    def rows(self, results: OutputRows) -> pa.Table:
        return _output_table(results, self.output)


@dataclass(frozen=True, slots=True)
class SkippingBucketTask(BucketTask):
    """A clause with on_error="skip". `shipped` are columns of the input, which the worker evaluates."""

    stored: pa.Schema
    """The columns of the rows in the state: those that Spark would ship if it evaluated them."""
    plan: MatchPlan
    query_settings: Settings
    limits: Limits
    settings: StreamSettings

    def new_core(self) -> SkippingStream:
        from ostinato.clause.stream.skipping_stream import SkippingStream
        from ostinato.clause.task.evaluated_plan import EvaluatedPlan

        evaluated = EvaluatedPlan(self.plan, self.shipped, self.query_settings, self.limits)
        return SkippingStream(evaluated, self.settings, self.fingerprint, self.stored)

    def rows(self, results: OutputRows) -> pa.Table:
        return _output_table(results, self.output)


def _output_table(results: OutputRows, output: pa.Schema) -> pa.Table:
    if not results.count:
        return output.empty_table()
    arrays = {**results.arrays, DECIDED: from_first_watermark(results.arrays[DECIDED])}
    return pa.Table.from_arrays([arrays[field.name].cast(field.type) for field in output], schema=output)


@dataclass(frozen=True, slots=True)
class StateView:
    """For mapInArrow: states of buckets in, their open partial matches or counts of their keys out, with a column for
    an error."""

    task: ClauseBucketTask | SkippingBucketTask
    output: pa.Schema
    by: StateBy

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows_or_error(map(self._view, buckets_of(batches)), self.output)

    def _view(self, bucket: CheckpointBucket) -> pa.Table:
        from ostinato.clause.stream.early_stream import EarlyStream
        from ostinato.clause.stream.open_runs import open_runs
        from ostinato.clause.stream.skipping_stream import SkippingStream
        from ostinato.clause.stream.state_counts import keys_by_reason, keys_by_state

        core = self.task.worker
        views = {"key": open_runs, "reason": keys_by_reason, "state": keys_by_state}

        def viewed(state: BucketState, **_: Any) -> pa.Table:
            if isinstance(core, EarlyStream):
                return views[self.by](core.stream, core.clause_state(state))
            return views[self.by](core.stream if isinstance(core, SkippingStream) else core, state)

        view = bucket.with_changes(self.task, viewed)
        columns = [column.cast(field.type) for column, field in zip(view.columns, self.output, strict=True)]
        return pa.Table.from_arrays(columns, schema=self.output)
