"""Summaries of batch DataFrames -> a lazy DataFrame of their answers.

    select -> repartition by key -> mapInArrow -> where (raises) -> select

The plan is one job of public operations only, so it is the same on Spark Connect. If some types belong to every key, or
if there are no keys, one task has all rows. Streams are in `summary_streaming.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.expressions.render import quote
from ostinato.rows.column_names import ERROR
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.shipped_rows import ShippedRows, by_key, stored_name, with_row_of_nulls
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.summaries.summary_tasks import SummaryTask
from ostinato.summaries.summary_request import SummaryRequest
from ostinato.summaries.task.summary_answers import ASKED_AT, KEPT, AnswerLayout
from ostinato.summaries.task.summary_input import SummaryInput, summary_input
from ostinato.summaries.task.summary_moments import read_moments


def run_batch(summary: SummaryRequest, df: DataFrame, at: Any = None) -> DataFrame:
    """The answers at the end of a batch, at times, or at rows in which a boolean column is true. Nothing runs yet."""
    spark_input = SparkInput.of(df)
    source = columns_read(summary, spark_input)
    layout = AnswerLayout(source, summary.query, summary.form)
    booleans = [field.name for field in df.schema.fields if isinstance(field.dataType, s.BooleanType)]
    moments = read_moments(at, df.columns, booleans, source, spark_input.settings)
    needed = (*source.needed, *(() if moments.column is None else (moments.column,)))
    shipped = ShippedRows.of(spark_input, {name: quote(name) for name in needed})
    fields = answer_fields(layout, df)
    task = SummaryTask(layout, moments, shipped.names, stored_columns(layout).append(pa.field(ERROR, pa.string())))
    schema = stored_schema(fields, s.StructField(ERROR, s.StringType()))
    answers = _together(shipped, summary, source).mapInArrow(Checked(task), schema)
    return named_answers(answers.where(RAISES), fields)


def columns_read(summary: SummaryRequest, source: SparkInput) -> SummaryInput:
    """The columns of a DataFrame that the summary reads, with their Arrow types."""
    return summary_input(summary.columns, source.df.columns, source.arrow_column, source.settings)


def answer_fields(layout: AnswerLayout, df: DataFrame) -> list[s.StructField]:
    """The columns of an answer. Keys and times have their types in the DataFrame."""
    own = {field.name: field.dataType for field in df.schema.fields}
    named = layout.source.columns
    time = own[named.time]
    event = {field.name: spark_type(field.type) for field in layout.kept_type} | {"time": time}
    if named.value is not None:
        event["value"] = own[named.value]
    kinds: dict[str, s.DataType] = {name: own[name] for name in named.keys}
    kinds[ASKED_AT] = time
    kinds[KEPT] = s.ArrayType(s.StructType([s.StructField(name, kind) for name, kind in event.items()]))
    return [s.StructField(field.name, kinds.get(field.name) or spark_type(field.type)) for field in layout.schema]


# --- names ------------------------------------------------------------------------------------------------------------


def stored_columns(layout: AnswerLayout) -> pa.Schema:
    """The columns of a task's answers, under names of our own."""
    return pa.schema([field.with_name(stored_name(i)) for i, field in enumerate(layout.schema)])


def stored_schema(fields: Sequence[s.StructField], *more: s.StructField) -> s.StructType:
    """The same columns with Spark's types, and some more."""
    return s.StructType([*(s.StructField(stored_name(i), field.dataType) for i, field in enumerate(fields)), *more])


def named_answers(answers: DataFrame, fields: Sequence[s.StructField]) -> DataFrame:
    """The answers with the users' names of the columns."""
    return answers.select(*(F.col(stored_name(i)).alias(field.name) for i, field in enumerate(fields)))


# --- rows -------------------------------------------------------------------------------------------------------------


def _together(shipped: ShippedRows, summary: SummaryRequest, source: SummaryInput) -> DataFrame:
    """The shipped rows, all of a key in one task."""
    if source.columns.keys and summary.query.keyed_types is None:
        return shipped.by_key(source.columns.keys)
    return by_key(with_row_of_nulls(shipped.selected), ())
