"""One clause on a streaming DataFrame -> a streaming DataFrame of its rows, in append mode."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.stream.stream_limits import (
    check_early,
    check_streamable,
    early_after_history,
    not_with_on_error,
    why_unbounded,
)
from ostinato.errors import QueryError, warn
from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.clause.clause_stream_output import measured_stream, stream_schema
from ostinato.spark.clause.clause_stream_task import ClauseBucketTask, SkippingBucketTask
from ostinato.spark.clause.skipping_query import SkippingQuery
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.streams.stream_checks import check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.stream_history import decided_rows, history_rows, history_states
from ostinato.spark.streams.stream_operator import through_buckets
from ostinato.streams.stream_settings import StreamSettings


def match_stream(query: SparkQuery, stream: StreamSettings, history: Any = None) -> DataFrame:
    """The clause's rows as a streaming DataFrame, after those that an archive decides; nothing runs yet."""
    check_machine(query.df.sparkSession)
    delay_ms = check_query(query, eager=stream.eager, can_be_eager=True)
    if stream.emit == "early":
        check_early(query.plan)
        if history is not None:
            raise early_after_history()
    if stream.on_error == "skip" and history is not None:
        raise not_with_on_error("history")
    if stream.on_error == "skip" and stream.on_change == "keep":
        raise not_with_on_error('on_change="keep"')
    warn_of_unbounded_state(query.plan)
    _warn_of_short_silence(query.plan, stream)
    task = clause_task(query, ClauseDefinition.of(query, stream, has_history=history is not None))
    states = None
    if history is not None:
        archive = history_rows(query.shipped, history)
        states = history_states(archive, query.bound.partition_by, stream.buckets, task, _time_of(query))
    rows = through_buckets(
        SkippingQuery(query).shipped if stream.on_error == "skip" else query.shipped,
        query.bound.partition_by,
        stream.buckets,
        task,
        stream_schema(query, stream, delay_ms),
        has_watermark=delay_ms is not None,
        history=states,
    )
    return measured_stream(query, stream, rows)


def match_open_batch(query: SparkQuery, stream: StreamSettings) -> DataFrame:
    """The clause's rows over a batch that no later row can change: those that a stream gives before its end."""
    if stream.on_error == "skip":
        raise not_with_on_error('end="open"')
    _warn_of_short_silence(query.plan, stream)
    _check_streamable(query)
    task, schema = clause_task(query, ClauseDefinition.of(query, stream)), stream_schema(query, stream)
    keys, time = query.bound.partition_by, _time_of(query)
    rows = decided_rows(query.shipped, keys, stream.buckets, task, time, schema)
    return measured_stream(query, stream, rows)


def _time_of(query: SparkQuery) -> str:
    return query.bound.order_by[0].column


def clause_task(query: SparkQuery, definition: ClauseDefinition) -> ClauseBucketTask | SkippingBucketTask:
    """The task of the clause's operator."""
    if definition.stream.on_error == "skip":
        return SkippingBucketTask(
            shipped=SkippingQuery(query).shipped.schema,
            output=query.source.arrow_schema(stream_schema(query, definition.stream)),
            fingerprint=definition.fingerprint,
            definition=definition.to_json(),
            stored=query.shipped.schema,
            plan=query.plan,
            query_settings=query.settings,
            limits=query.limits,
            settings=definition.stream,
        )
    return ClauseBucketTask(
        shipped=query.shipped.schema,
        output=query.source.arrow_schema(stream_schema(query, definition.stream)),
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
        typed=query.typed,
        settings=definition.stream,
    )


def check_query(query: SparkQuery, *, eager: bool = False, can_be_eager: bool = False) -> int | None:
    """The watermark's delay in milliseconds; None if an `eager` stream has no watermark. Raises if it can't stream."""
    _check_streamable(query)
    first = query.bound.order_by[0]
    delay_ms = watermark_delay_ms(query.df, first.column)
    if delay_ms is None and not eager:
        if first.key.expression is not None:
            raise QueryError(
                "STREAM_NEEDS_WATERMARK",
                "the first key of ORDER BY is an expression, and only a column can have a watermark",
                text=query.bound.clause.text,
                span=first.key.span,
                hint="order by the time column first; expressions may follow",
            )
        raise without_watermark(
            query.df, first.column, query.bound.clause.text, first.key.span, can_be_eager=can_be_eager
        )
    return delay_ms


def _check_streamable(query: SparkQuery) -> None:
    order = query.bound.order_by
    check_streamable(query.plan, query.source.arrow_column(order[0].column) if order else None)


def warn_of_unbounded_state(plan: MatchPlan) -> None:
    """Warns if only later rows of its key can end a partial match: its rows are stored until then."""
    reason = why_unbounded(plan)
    if reason is not None:
        warn(f"the state of this stream may grow without bound: {reason}; add WITHIN to the pattern")


def _warn_of_short_silence(plan: MatchPlan, stream: StreamSettings) -> None:
    """Warns if keys are forgotten while WITHIN still lets a match go on."""
    within_us = plan.bound.clause.within_us
    if within_us is not None and stream.forget_us is not None and stream.forget_us < within_us:
        warn(
            f"keys are forgotten after {stream.forget_keys_after}, which is shorter than WITHIN: matches with a longer"
            " gap between two rows aren't found"
        )
