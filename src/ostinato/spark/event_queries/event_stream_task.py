"""The task of event queries on a stream. Only workers load the engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.event_queries.event_tasks import EventsTask
from ostinato.spark.streams.stream_task import BucketTask, with_decided
from ostinato.streams.step import StreamCore
from ostinato.workloads.task.shared_event_matches import SharedPlans, shared_plans

if TYPE_CHECKING:
    from ostinato.event_queries.plan.event_types import TypedEventsPlan
    from ostinato.event_queries.stream.trend_steps import TrendRows


@dataclass(frozen=True, slots=True)
class EventBucketTask(BucketTask):
    """The task of an operator with event queries."""

    task: EventsTask
    carried: bool

    def new_core(self) -> StreamCore[TrendRows]:
        task, options = self.task, self.task.options
        conditions = condition_places(len(task.typed.plan.conditions))
        if self.carried:
            from ostinato.workloads.stream.event_matches_stream import SharedStreamWorker

            assert task.shared is not None
            (shared,) = task.shared.plans
            shared = shared.for_buckets(options.buckets)
            return SharedStreamWorker(
                task.typed, task.names, self.shipped, conditions, shared, options, fingerprint=self.fingerprint
            )
        from ostinato.event_queries.stream.trend_stream import TrendStreamWorker

        def sharing_of(typed: TypedEventsPlan, names: Sequence[str]) -> SharedPlans:
            return shared_plans(typed, names, options.sharing, task.request, options.limits())

        return TrendStreamWorker(
            task.typed, task.names, self.shipped, conditions, options, sharing_of, fingerprint=self.fingerprint
        )

    def rows(self, results: TrendRows) -> pa.Table:
        batches = [
            batch
            for query, columns in enumerate(results.columns)
            if columns is not None
            for batch in self.task.rows(query, columns)
        ]
        batches += [batch for report in results.reports for batch in self.task.report_rows(report)]
        return with_decided(pa.Table.from_batches(batches, self.output), results.decided_us)
