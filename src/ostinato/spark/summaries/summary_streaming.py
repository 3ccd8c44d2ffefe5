"""Summaries on streaming DataFrames: one for each key, stored in the state store. Rows or micro-batches ask them.

select -> mapInArrow (pack rows by bucket) -> transformWithState (advance, answer) -> mapInArrow (unpack), as for a
clause. Rows that ask give answers in append mode; without them each micro-batch gives, in update mode, the answers of
the keys that had events in it.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.expressions.render import quote
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.row_errors import refusal
from ostinato.spark.shipping.shipped_rows import ShippedRows
from ostinato.spark.shipping.spark_input import SparkInput, SparkRefused
from ostinato.spark.streams.stream_checks import check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.stream_definition import columns_as_json
from ostinato.spark.streams.stream_operator import through_buckets
from ostinato.spark.summaries.batch_summaries import (
    answer_fields,
    columns_read,
    named_answers,
    stored_columns,
    stored_schema,
)
from ostinato.spark.summaries.summary_processor import SummaryProcessor
from ostinato.spark.summaries.summary_stream_definition import SummaryDefinition
from ostinato.spark.summaries.summary_stream_task import KEY_HASH, TRIGGER, SummaryBucketTask
from ostinato.summaries.summary_request import SummaryRequest


def run_stream(summary: SummaryRequest, df: DataFrame, trigger_events: str | None) -> DataFrame:
    """The answers as a streaming DataFrame. Nothing runs yet. `trigger_events` is a condition in SQL."""
    check_machine(df.sparkSession)
    definition = define_summary(summary, df, trigger_events)
    time = definition.roles.time
    if watermark_delay_ms(df, time) is None:
        raise without_watermark(df, time, None)
    fields = answer_fields(definition.layout(), df)
    shipped = _shipped(definition, df)
    answers = through_buckets(
        shipped,
        definition.roles.keys,
        definition.buckets,
        summary_task(definition),
        stored_schema(fields),
        has_watermark=True,
        processor=SummaryProcessor,
        mode="Update" if trigger_events is None else "Append",
    )
    return named_answers(answers, fields)


def define_summary(summary: SummaryRequest, df: DataFrame, trigger_events: str | None) -> SummaryDefinition:
    """The definition to store. Raises if a stream with these columns can't have this summary."""
    if summary.query.keyed_types is not None:
        raise QueryError(
            "STREAM_NOT_SUPPORTED",
            "events that belong to every key would have to reach every task of a stream: keyed_types are for batches",
            hint="leave keyed_types out where all events carry the key, or summarise a batch",
        )
    spark_input = SparkInput.of(df)
    source = columns_read(summary, spark_input)
    if trigger_events is not None:
        _check_condition(df, trigger_events)
    return SummaryDefinition(
        query=summary.query,
        roles=source.columns,
        form=summary.form,
        buckets=summary.buckets,
        columns=columns_as_json(df.select(*map(quote, source.needed)).schema),
        trigger=trigger_events,
        settings=spark_input.settings,
    )


def _check_condition(df: DataFrame, condition: str) -> None:
    with without_error_log():
        try:
            (field,) = df.selectExpr(f"({condition}) AS asks").schema.fields
        except SparkRefused as error:
            raise refusal(error, None, condition) from None
    if not isinstance(field.dataType, s.BooleanType):
        message = f"trigger_events is a condition, but '{condition}' is {field.dataType.simpleString()}"
        raise QueryError("TYPE_MISMATCH", message, hint="trigger_events=\"kind = 'ASK'\"")


def summary_task(definition: SummaryDefinition) -> SummaryBucketTask:
    """The task of the summary's operator."""
    source = definition.source()
    added = []
    if source.columns.keys:
        added.append(pa.field(KEY_HASH, pa.int64()))
    if definition.trigger is not None:
        added.append(pa.field(TRIGGER, pa.bool_()))
    types = definition.spark_types
    columns = [pa.field(name, definition.arrow(types[name], name)) for name in source.needed]
    return SummaryBucketTask(
        shipped=pa.schema([*columns, *added]),
        output=stored_columns(definition.layout()),
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
        query=definition.query,
        source=source,
        form=definition.form,
    )


def _shipped(definition: SummaryDefinition, df: DataFrame) -> ShippedRows:
    """The columns that the summary reads, a hash of the keys, and whether a row asks."""
    columns = {name: quote(name) for name in definition.spark_types}
    if definition.roles.keys:
        columns[KEY_HASH] = f"xxhash64({', '.join(map(quote, definition.roles.keys))})"
    if definition.trigger is not None:
        columns[TRIGGER] = f"coalesce(({definition.trigger}), false)"
    return ShippedRows.of(SparkInput.of(df, definition.settings), columns)
