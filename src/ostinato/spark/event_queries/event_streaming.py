"""Event queries on streaming DataFrames, in append mode: rows of a window leave when the watermark has passed its end.

select -> mapInArrow (pack rows by bucket) -> transformWithState (advance) -> mapInArrow (unpack), as for a clause. Each
distinct (GROUP BY, SAME, TIME) of a workload is an operator of its own; their rows are put together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_program import BoundKind
from ostinato.rows.column_names import DECIDED, ERROR
from ostinato.spark.event_queries.event_stream_task import EventStreamDefinition, EventStreamTask, rendered
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_checks import check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.stream_output import WATERMARK
from ostinato.spark.streams.streaming import through_buckets

if TYPE_CHECKING:
    from ostinato.spark.event_queries.event_shuffle import Shuffle
    from ostinato.spark.event_queries.event_tasks import EventsTask


def stream_rows(shuffle: Shuffle, task: EventsTask, schema: s.StructType) -> DataFrame:
    """The rows of the operator's queries, in the columns of the schema, with when they were decided for an error."""
    check_machine(shuffle.source.df.sparkSession)
    delay = _check(shuffle)
    stream_task = event_stream_task(shuffle, task)
    columns = [field for field in schema.fields if field.name != ERROR]
    decided = s.StructField(DECIDED, s.TimestampType(), metadata={WATERMARK: delay})
    return through_buckets(
        shuffle.shipped.selected(),
        shuffle.group_hashes(),
        shuffle.options.buckets,
        stream_task,
        s.StructType([*columns, decided]),
        has_watermark=True,
        bits=shuffle.bits,
    )


def event_stream_task(shuffle: Shuffle, task: EventsTask) -> EventStreamTask:
    """What is sent to the executors."""
    shipped = shuffle.shipped.schema
    plan = shuffle.typed.plan
    definition = EventStreamDefinition(
        queries=rendered(tuple(query.bound.query for query in plan.queries)),
        names=task.names,
        columns=s.StructType([s.StructField(name, kind) for name, kind in shuffle.source.column_types.items()]).json(),
        shipped=described(shipped),
        settings=shuffle.source.settings,
        options=shuffle.options,
        request=shuffle.request,
        carried=shuffle.carried,
    )
    fields = [field for field in task.output if field.name != ERROR]
    decided = shuffle.source.arrow(s.TimestampType(), DECIDED)
    return EventStreamTask(
        task=replace(task, output=pa.schema([*fields, pa.field(DECIDED, decided)])),
        shipped=shipped,
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
        carried=shuffle.carried,
    )


def _check(shuffle: Shuffle) -> int:
    """The watermark's delay in milliseconds; raises where a stream can't answer."""
    for query in shuffle.typed.plan.queries:
        extent = query.programs[0].extent
        over = extent.kind is BoundKind.WINDOWS and not extent.by_place
        if not over and not (shuffle.carried and extent.kind is BoundKind.SPAN):
            raise QueryError(
                "STREAM_NEEDS_WINDOWS",
                "on a stream an event query gives its rows when a window of time is over, and this one cuts none",
                text=query.bound.query.text,
                hint="WITHIN 30 MINUTES SLIDE 5 MINUTES, or WITHIN 30 MINUTES TUMBLE; for RETURN MATCHES also "
                "WITHIN 30 MINUTES",
            )
    time = shuffle.typed.plan.streams[0].time
    delay = watermark_delay_ms(shuffle.source.df, time)
    if delay is None:
        raise without_watermark(shuffle.source.df, time, shuffle.typed.plan.queries[0].bound.query.text)
    return delay
