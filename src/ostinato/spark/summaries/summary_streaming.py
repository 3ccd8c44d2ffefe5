"""Summaries on streaming DataFrames: one for each key, kept in the state store, asked by rows or by micro-batches.

select -> mapInArrow (pack rows by bucket) -> transformWithState (advance, answer) -> mapInArrow (unpack), as for a
clause. Rows that ask give answers in append mode; without them each micro-batch gives, in update mode, the answers of
the keys that had events in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.expressions.render import quote
from ostinato.spark.clause.spark_plan import refusal, session_settings
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.streams.stream_checks import check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.streaming import through_buckets
from ostinato.spark.summaries.batch_summaries import (
    answer_fields,
    hashed_key,
    named_answers,
    spark_input,
    stored_columns,
    stored_schema,
    travels,
)
from ostinato.spark.summaries.summary_processor import SummaryProcessor
from ostinato.spark.summaries.summary_stream_task import KEY_HASH, TRIGGER, SummaryStreamDefinition, SummaryStreamTask

if TYPE_CHECKING:
    from ostinato.api.summaries import StreamSummary


def run_stream(summary: StreamSummary, df: DataFrame, trigger_events: str | None) -> DataFrame:
    """The answers as a streaming DataFrame; nothing runs yet. `trigger_events` is a condition in SQL."""
    check_machine(df.sparkSession)
    definition = define_summary(summary, df, trigger_events)
    time = definition.columns.time
    if watermark_delay_ms(df, time) is None:
        raise without_watermark(df, time, None)
    fields = answer_fields(definition.layout(), df)
    answers = through_buckets(
        _shipped(definition, df),
        _hashed_keys(definition),
        definition.buckets,
        summary_task(definition),
        stored_schema(fields),
        has_watermark=True,
        processor=SummaryProcessor,
        mode="Update" if trigger_events is None else "Append",
    )
    return named_answers(answers, fields)


def define_summary(summary: StreamSummary, df: DataFrame, trigger_events: str | None) -> SummaryStreamDefinition:
    """What is being asked, to be kept. Raises where a stream, or the DataFrame's columns, can't answer it."""
    if summary.query.keyed_types is not None:
        raise QueryError(
            "STREAM_NOT_SUPPORTED",
            "events that belong to every key would have to reach every task of a stream: keyed_types are for batches",
            hint="leave keyed_types out where all events carry the key, or summarise a batch",
        )
    settings = session_settings(df)
    source = spark_input(summary, df, settings)
    if trigger_events is not None:
        _check_condition(df, trigger_events)
    return SummaryStreamDefinition(
        query=summary.query,
        columns=source.columns,
        form=summary.form,
        buckets=summary.buckets,
        schema=s.StructType([s.StructField(name, df.schema[name].dataType) for name in source.needed]).json(),
        trigger=trigger_events,
        settings=settings,
    )


def _check_condition(df: DataFrame, condition: str) -> None:
    with without_error_log():
        try:
            (field,) = df.selectExpr(f"({condition}) AS asks").schema.fields
        except (AnalysisException, ParseException) as error:
            raise refusal(error, None, condition) from None
    if not isinstance(field.dataType, s.BooleanType):
        message = f"trigger_events is a condition, but '{condition}' is {field.dataType.simpleString()}"
        raise QueryError("TYPE_MISMATCH", message, hint="trigger_events=\"kind = 'ASK'\"")


def summary_task(definition: SummaryStreamDefinition) -> SummaryStreamTask:
    """What is sent to the executors."""
    source = definition.source()
    ours = []
    if source.columns.keys:
        ours.append(pa.field(KEY_HASH, pa.int64()))
    if definition.trigger is not None:
        ours.append(pa.field(TRIGGER, pa.bool_()))
    types = definition.spark_types
    columns = [pa.field(name, definition.arrow(types[name], name)) for name in source.needed]
    return SummaryStreamTask(
        query=definition.query,
        source=source,
        form=definition.form,
        shipped=pa.schema([*columns, *ours]),
        output=stored_columns(definition.layout()),
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
    )


# --- columns that travel ----------------------------------------------------------------------------------------------


def _shipped(definition: SummaryStreamDefinition, df: DataFrame) -> DataFrame:
    """What travels, and nothing else."""
    columns = [F.col(quote(name)).alias(travels(at)) for at, name in enumerate(definition.spark_types)]
    if definition.columns.keys:
        keys = (hashed_key(quote(name), definition.spark_types[name]) for name in definition.columns.keys)
        columns.append(F.xxhash64(*keys).alias(KEY_HASH))
    if definition.trigger is not None:
        columns.append(F.expr(f"coalesce(({definition.trigger}), false)").alias(TRIGGER))
    return df.select(*columns)


def _hashed_keys(definition: SummaryStreamDefinition) -> list[SparkColumn]:
    """What to hash of the keys that travel."""
    places = {name: travels(at) for at, name in enumerate(definition.spark_types)}
    return [hashed_key(places[name], definition.spark_types[name]) for name in definition.columns.keys]
