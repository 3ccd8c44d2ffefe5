"""Event queries on a stream: their definition, stored beside the state, and the task of their workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.event_queries.trends.engine_groups import engine_groups
from ostinato.rows.column_names import DECIDED, ERROR
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.event_queries.common_rows import common_rows
from ostinato.spark.event_queries.event_tasks import EventsTask
from ostinato.spark.event_queries.workload_definition import WorkloadDefinition, workload_values
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_buckets import FinishBuckets, with_errors_raised
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_checks import WATERMARK
from ostinato.spark.streams.stream_definition import check_same_columns, columns_as_json
from ostinato.spark.streams.stream_task import BucketTask, with_decided
from ostinato.streams.step import StreamCore
from ostinato.workloads.task.shared_event_matches import SharedPlans, shared_plans

if TYPE_CHECKING:
    from ostinato.event_queries.plan.event_types import TypedEventsPlan
    from ostinato.event_queries.stream.trend_steps import TrendRows
    from ostinato.spark.event_queries.event_shuffle import Shuffle


@dataclass(frozen=True, slots=True)
class EventsDefinition(WorkloadDefinition):
    """The event queries of one operator. Their texts are rendered, with TYPE and TIME."""

    kind: ClassVar[str] = "events"
    keeps: ClassVar[tuple[str, str]] = (
        "sums over event queries, and no partial matches to look at",
        "ost.finish gives the rows of windows that are still open",
    )

    carried: bool
    """Whether the shared matcher carries partial matches from batch to batch."""
    engines: str
    """The engine of each program. Each engine has its own form of state."""

    @staticmethod
    def read(values: dict[str, Any]) -> EventsDefinition:
        return EventsDefinition(**workload_values(values))

    def state_values(self) -> object:
        options = self.options
        common = [self.queries, self.shipped, asdict(self.settings), options.approximate, options.buckets, self.engines]
        if not self.carried:
            return common
        # The state depends on the merged plan and on the statistics that bounds need.
        return [*common, options.sharing, self.names, self.request.state_needs(self.names)]

    def finished(self, opened: Checkpoint) -> DataFrame:
        """The rows of one query in its own columns; of several, as in a workload."""
        from ostinato.spark.event_queries.event_dataframes import SparkEvents

        requests = [EventRequest(parse_event_query(text), options=self.options) for text in self.queries]
        empty = self.empty_input(opened.spark)
        queries = SparkEvents(requests, self.names, empty, self.options, self.request, for_stream=True)
        (shuffle,) = queries.shuffles
        check_same_columns(described(shuffle.shipped.schema), self)
        task = event_stream_task(shuffle, queries.task(shuffle))
        rows = with_errors_raised(opened.buckets(), FinishBuckets(task), stream_fields(queries.schema))
        return queries.of_query(0, [rows]) if len(requests) == 1 else common_rows(queries.operator_rows([rows]))


def stream_fields(schema: s.StructType, delay_ms: int | None = None) -> s.StructType:
    """The columns of a batch, with the decision time of a row in place of an error.

    With a delay, the decision time is an event time with a watermark, for operators that follow.
    """
    metadata = None if delay_ms is None else {WATERMARK: delay_ms}
    decided = s.StructField(DECIDED, s.TimestampType(), metadata=metadata)
    return s.StructType([*(field for field in schema.fields if field.name != ERROR), decided])


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


def event_stream_task(shuffle: Shuffle, task: EventsTask) -> EventBucketTask:
    """The task of the shuffle's operator."""
    shipped = shuffle.shipped.schema
    plan = shuffle.typed.plan
    definition = EventsDefinition(
        queries=tuple(render_event_query(query.bound.query) for query in plan.queries),
        names=task.names,
        columns=columns_as_json(shuffle.source.df.schema),
        shipped=described(shipped),
        settings=shuffle.source.settings,
        options=shuffle.options,
        request=shuffle.request,
        carried=shuffle.carried,
        engines=repr(
            [
                ([(member.query, member.program) for member in group.members], group.shared)
                for group in engine_groups(plan, sharing=shuffle.options.sharing)
            ]
        ),
    )
    fields = [field for field in task.output if field.name != ERROR]
    decided = shuffle.source.arrow(s.TimestampType(), DECIDED)
    output = pa.schema([*fields, pa.field(DECIDED, decided)])
    return EventBucketTask(
        shipped=shipped,
        output=output,
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
        task=replace(task, output=output),
        carried=shuffle.carried,
    )
