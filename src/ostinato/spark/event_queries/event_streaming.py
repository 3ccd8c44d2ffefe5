"""Event queries on streaming DataFrames, in append mode: a window gives its rows when the watermark has passed its end.

select -> mapInArrow (pack rows by bucket) -> transformWithState (advance) -> mapInArrow (unpack), as for a clause. Each
distinct (GROUP BY, SAME, TIME) of a workload has its own operator. Their rows are joined by a union.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.event_queries.plan.event_program import BoundKind
from ostinato.event_queries.trends.engine_groups import engine_groups
from ostinato.rows.column_names import DECIDED, ERROR
from ostinato.spark.event_queries.event_stream_definition import EventsDefinition
from ostinato.spark.event_queries.event_stream_task import EventBucketTask
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_checks import check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.stream_definition import columns_as_json
from ostinato.spark.streams.stream_operator import decided_field, through_buckets

if TYPE_CHECKING:
    from ostinato.spark.event_queries.event_shuffle import Shuffle
    from ostinato.spark.event_queries.event_tasks import EventsTask


def stream_rows(shuffle: Shuffle, task: EventsTask, schema: s.StructType) -> DataFrame:
    """The rows of the operator's queries: the columns of the schema, with the decision time in place of an error."""
    check_machine(shuffle.source.df.sparkSession)
    delay_ms = _check(shuffle)
    return through_buckets(
        shuffle.shipped,
        shuffle.typed.plan.streams[0].group_by,
        shuffle.options.buckets,
        event_stream_task(shuffle, task),
        stream_fields(schema, delay_ms),
        has_watermark=True,
        bits=shuffle.bits,
    )


def stream_fields(schema: s.StructType, delay_ms: int | None = None) -> s.StructType:
    """The columns of a batch, with the decision time of a row in place of an error."""
    return s.StructType([*(field for field in schema.fields if field.name != ERROR), decided_field(delay_ms)])


def event_stream_task(shuffle: Shuffle, task: EventsTask) -> EventBucketTask:
    """The task of the shuffle's operator."""
    shipped = shuffle.shipped.schema
    plan = shuffle.typed.plan
    definition = EventsDefinition(
        queries=tuple(render_event_query(query.bound.written) for query in plan.queries),
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


def _check(shuffle: Shuffle) -> int:
    """The watermark's delay in milliseconds. Raises if the queries can't run on a stream."""
    for query in shuffle.typed.plan.queries:
        extent = query.programs[0].extent
        has_windows = extent.kind is BoundKind.WINDOWS and not extent.by_place
        if not has_windows and not (shuffle.carried and extent.kind is BoundKind.SPAN):
            raise QueryError(
                "STREAM_NEEDS_WINDOWS",
                "on a stream an event query gives its rows when a window of time is over, and this one cuts none",
                text=query.bound.query.text,
                hint="WITHIN 30 MINUTES SLIDE 5 MINUTES, or WITHIN 30 MINUTES TUMBLE; for RETURN MATCHES also "
                "WITHIN 30 MINUTES",
            )
    time = shuffle.typed.plan.streams[0].time
    delay_ms = watermark_delay_ms(shuffle.source.df, time)
    if delay_ms is None:
        raise without_watermark(shuffle.source.df, time, shuffle.typed.plan.queries[0].bound.query.text)
    return delay_ms
