"""Event queries on streaming DataFrames, in append mode: a window gives its rows when the watermark has passed its end.

select -> mapInArrow (pack rows by bucket) -> transformWithState (advance) -> mapInArrow (unpack), as for a clause. Each
distinct (GROUP BY, SAME, TIME) of a workload has its own operator. Their rows are joined by a union.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_program import BoundKind
from ostinato.spark.event_queries.event_stream_task import event_stream_task, stream_fields
from ostinato.spark.streams.stream_checks import check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.stream_operator import through_buckets

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
