"""A stream of a clause with on_error="skip": arriving rows are evaluated here, and bad ones never enter the state."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.stream.appending_stream import stream_worker
from ostinato.clause.stream.stream_search import NO_RESULTS
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.clause.task.skipping_plan import SkippingPlan
from ostinato.rows.batches import Batch, OutputRows, one_array
from ostinato.rows.packed_conditions import condition_places, packed_masks
from ostinato.streams.bucket_state import BucketState
from ostinato.streams.step import Step
from ostinato.streams.stream_settings import StreamSettings


class SkippingStream:
    """One query over buckets of keys; holds nothing between steps. Results have the measures of the clause."""

    def __init__(
        self, evaluated: EvaluatedPlan, settings: StreamSettings, fingerprint: str, stored: pa.Schema | None = None
    ) -> None:
        """`stored`: the columns of rows in the state, if they may have other Arrow types than evaluated columns."""
        self.stored = stored
        self.plan = SkippingPlan(evaluated)
        conditions = condition_places(len(evaluated.plan.row_conditions))
        self.stream = stream_worker(evaluated.typed, conditions, settings, fingerprint)

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[OutputRows]:
        """One step (`StreamCore.advance`). `arrived` has columns of the input."""
        rows, failed = arrived, NO_RESULTS
        if arrived is not None:
            columns = {name: one_array(arrived.column(name)) for name in arrived.column_names}
            batch, errors = self.plan.admit(columns, arrived.num_rows)
            rows = shipped_table(self.plan.evaluated.plan, batch)
            rows = rows if self.stored is None else rows.cast(self.stored)
            if errors:
                failed = self.plan.worker.failed_rows(columns, errors)
        step = self.stream.advance(state, rows, watermark_us, finished=finished, failed=failed)
        counts = replace(step.counts, rows=step.counts.rows + failed.count)
        results = self.plan.measured(step.results) if step.results.count else NO_RESULTS
        return replace(step, results=results, counts=counts)

    def no_results(self, rows: pa.Table) -> OutputRows:
        """The columns of results, without rows; `rows` has the shipped columns."""
        return self.plan.measured(self.stream.no_results(rows))


def shipped_table(plan: MatchPlan, batch: Batch) -> pa.Table:
    """The columns that Spark would ship, in the same order: keys, ORDER BY, inputs, and packed conditions."""
    names = (*plan.bound.partition_by, *(key.column for key in plan.bound.order_by))
    columns = {name: batch.arrays[name] for name in (*names, *(item.name for item in plan.inputs))}
    return pa.table(columns | packed_masks(batch.row_masks, batch.count))
