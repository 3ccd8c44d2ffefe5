"""A correlation of a stream with its own recent history -> a streaming DataFrame of its rows, in append mode.

The live rows are also the archive, as far back as the region reaches. The stream operator keeps these rows in the state
of their bucket of keys, as for a clause.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s
from pyspark.sql.streaming.query import StreamingQuery

from ostinato.calls.options import whole_number
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.errors import MatchError, carried
from ostinato.expressions.render import quote
from ostinato.rows.column_names import PREFIX
from ostinato.spark.correlations.correlation_clock import as_number, is_time, read_delay
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_definition import the_correlation
from ostinato.spark.correlations.correlation_output import Output, Trigger, WriteRows, start_query
from ostinato.spark.correlations.correlation_packing import live_packing
from ostinato.spark.correlations.correlation_query import answer_of, check_archive_is_there
from ostinato.spark.correlations.correlation_stream_checks import check_answer, check_file_columns, refuse_option
from ostinato.spark.correlations.own_archive_definition import OwnArchiveDefinition, own_archive_plan
from ostinato.spark.correlations.own_archive_task import OwnArchiveTask
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.shipped_rows import ShippedRows
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.streams.stream_buckets import FinishBuckets
from ostinato.spark.streams.stream_checkpoint import Checkpoint, with_errors_raised
from ostinato.spark.streams.stream_checks import WATERMARK, check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.stream_operator import through_buckets
from ostinato.streams.stream_settings import MOST_BUCKETS

_CLOCK = f"{PREFIX}clock"
_US_PER_MS = 1000
_LARGEST_MS = 9 * 10**15
"""Spark stores times in microseconds."""


@dataclass(frozen=True, slots=True)
class OwnArchiveTerms:
    """The options of such a correlation."""

    options: CorrelationOptions
    limits: Limits
    buckets: int
    delay: str | int | None = None
    """The watermark delay of a stream that has no watermark of its own; None: no delay."""


def correlate_stream(text: str, live: DataFrame, terms: OwnArchiveTerms) -> DataFrame:
    """The rows of the query as a streaming DataFrame; nothing runs yet."""
    if not live.isStreaming:
        refuse_option("start takes a stream, and live is a batch DataFrame", "use run() or ost.sql for a batch")
    whole_number("buckets", terms.buckets, most=MOST_BUCKETS)
    check_archive_is_there(text, the_correlation(text), None)
    check_machine(live.sparkSession)
    correlation = own_archive_plan(text, live, terms.limits, session_settings(live))
    if terms.options.recent_rows is not None and correlation.clocks.archive.start != correlation.clocks.live.start:
        message = "older rows are read by one clock, and the two clauses have different ones"
        refuse_option(f"recent_rows: {message}", "leave it out")
    check_answer(text, correlation)
    definition = OwnArchiveDefinition.of(text, correlation, terms.options, terms.buckets)
    source = SparkInput.of(_with_watermark(live, correlation, terms.delay), definition.settings)
    pairs = through_buckets(
        ShippedRows.of(source, live_packing(correlation).columns),
        [name for name, _ in correlation.plan.keys],
        terms.buckets,
        own_archive_task(correlation, definition),
        correlation.pairs.schema,
        has_watermark=True,
    )
    return answer_of(text, correlation.measured(pairs))


def start_own_archive(
    text: str, live: DataFrame, terms: OwnArchiveTerms, *, output: Output, checkpoint: str, trigger: Trigger = None
) -> StreamingQuery:
    """Starts a query that writes its pairs to `output`: one folder `batch_id=N` for each batch."""
    rows = correlate_stream(text, live, terms)
    if isinstance(output, str):
        check_file_columns(text, rows.columns)
    return start_query(rows, WriteRows(output), checkpoint, trigger)


def own_archive_task(correlation: SparkCorrelation, definition: OwnArchiveDefinition) -> OwnArchiveTask:
    """The task of the correlation's operator."""
    clock = correlation.clocks.live.start
    return OwnArchiveTask(
        shipped=live_packing(correlation).schema,
        output=correlation.live.source.arrow_schema(correlation.pairs.schema),
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
        task=correlation.task(),
        options=definition.options,
        us_per_unit=1 if is_time(correlation.live.source.column_types[clock]) else _US_PER_MS,
    )


def finished_correlation(definition: OwnArchiveDefinition, opened: Checkpoint) -> DataFrame:
    """The rows of the query that the end of input would give."""
    correlation = definition.plan(opened.spark)
    task = FinishBuckets(own_archive_task(correlation, definition))
    pairs = with_errors_raised(opened.buckets(), task, correlation.pairs.schema)
    return answer_of(definition.query, correlation.measured(pairs))


# --- the watermark ----------------------------------------------------------------------------------------------------


def _with_watermark(live: DataFrame, correlation: SparkCorrelation, delay: str | int | None) -> DataFrame:
    """The stream with a watermark: its own, or one with this delay on the times that order the rows."""
    clock = correlation.clocks.live.start
    if watermark_delay_ms(live, clock) is not None:
        if delay is not None:
            refuse_option(f"'{clock}' has a watermark already, and delay= sets another one", "leave one of the two out")
        return live
    if any(WATERMARK in field.metadata for field in live.schema.fields):
        first = correlation.live.bound.order_by[0]
        raise without_watermark(live, clock, correlation.live.bound.clause.text, first.key.span)
    kind = correlation.live.source.column_types[clock]
    units = read_delay(delay, kind)
    delay_ms = -(-units // _US_PER_MS) if is_time(kind) else units
    if isinstance(kind, s.TimestampType):
        return live.withWatermark(clock, f"{delay_ms} milliseconds")
    number = F.expr(as_number(quote(clock), kind))
    time = F.timestamp_micros(number) if is_time(kind) else _number_as_time(clock, number)
    return live.withColumn(_CLOCK, time).withWatermark(_CLOCK, f"{delay_ms} milliseconds")


def _number_as_time(clock: str, number: Column) -> Column:
    """The time whose milliseconds are the number that orders a row: Spark's watermarks count milliseconds."""
    too_large = MatchError(
        "ARITHMETIC_OVERFLOW",
        f"the numbers of '{clock}' are too large for the watermark of a stream",
        hint=f"order a stream by numbers between {-_LARGEST_MS} and {_LARGEST_MS}",
    )
    fits = number.isNull() | number.between(-_LARGEST_MS, _LARGEST_MS)
    return F.when(fits, F.timestamp_millis(number)).otherwise(F.raise_error(F.lit(carried(too_large))))
