"""The checkpoint of a running or stopped stream -> the answers of its summaries, as of the last committed micro-batch.

Spark's state reader opens the state of every partition, but returns only the few pages that may hold a key.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import OstinatoError, QueryError
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.streams.stream_checkpoint import (
    Checkpoint,
    check_folder,
    check_session,
    open_checkpoint,
    with_errors_raised,
)
from ostinato.spark.streams.stream_definition import read_definition
from ostinato.spark.streams.stream_operator import bucket_of
from ostinato.spark.streams.stream_packing import BUCKET
from ostinato.spark.summaries.batch_summaries import answer_fields, named_answers, stored_schema
from ostinato.spark.summaries.summary_checkpoint import pages_of
from ostinato.spark.summaries.summary_stream_definition import SummaryDefinition
from ostinato.spark.summaries.summary_stream_task import NUMBER, PAGE, AnswerPages
from ostinato.spark.summaries.summary_streaming import summary_task
from ostinato.summaries.stream.summary_pages import possible_pages
from ostinato.summaries.summary_answer import SummaryAnswer
from ostinato.summaries.task.summary_input import key_arrays_of

ATTEMPTS = 5
"""One read in 25 fails because a running stream deletes files. Each attempt reads the latest micro-batch."""

Read = TypeVar("Read")


@only_our_errors()
def summary_answer(
    spark: SparkSession, checkpoint: str | os.PathLike[str], key: object = None, *, operator: int | None = None
) -> SummaryAnswer:
    """The answer of one key, as of the last committed micro-batch; the stream may run or not.

    `key` is a value, a tuple of values, or a dict by column; None if there are no keys. A key without events has an
    empty answer. If a query has several operators of Ostinato, `operator` selects one.

    >>> summary_answer(spark, "checkpoints/orders", key="ann").value  # doctest: +SKIP
    """
    folder = check_folder(spark, checkpoint)
    return retried(lambda: _ask(spark, folder, key, operator), folder)


@only_our_errors()
def summary_answers(
    spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None
) -> DataFrame:
    """The answers of all keys, as of the micro-batch that is the last committed one now, as rows of the stream.

    Read them before the stream has deleted that micro-batch's state.

    >>> summary_answers(spark, "checkpoints/orders").show()  # doctest: +SKIP
    """
    folder = check_folder(spark, checkpoint)
    opened, definition = retried(lambda: _opened(spark, folder, operator), folder)
    check_session(spark, definition.settings)
    fields = answer_fields(definition.layout(), definition.empty_input(spark))
    task = AnswerPages(summary_task(definition))
    return named_answers(with_errors_raised(pages_of(opened).select(PAGE), task, stored_schema(fields)), fields)


def retried(read: Callable[[], Read], checkpoint: str) -> Read:
    """The result of `read`, which is tried again if a running stream deletes the files that it reads."""
    last: Exception | None = None
    with without_error_log():
        for _ in range(ATTEMPTS):
            try:
                return read()
            except OstinatoError:
                raise
            except Exception as error:  # classic Spark, Connect and Java raise different types
                last = error
    raise QueryError(
        "STATE_UNREADABLE",
        f"the state of {checkpoint} couldn't be read in {ATTEMPTS} attempts: {str(last).strip().splitlines()[0]}",
        hint="where the stream cleans up too soon, raise spark.sql.streaming.minBatchesToRetain",
    ) from last


def _opened(spark: SparkSession, checkpoint: str, operator: int | None) -> tuple[Checkpoint, SummaryDefinition]:
    opened = open_checkpoint(spark, checkpoint, operator)
    definition = read_definition(opened.definition(), [SummaryDefinition])
    if definition is None:
        raise QueryError(
            "NO_STATE",
            f"the stream of {checkpoint} keeps no summary",
            hint="ost.stream_state and ost.finish_stream look into the state of patterns and event queries",
        )
    return opened, definition


def _ask(spark: SparkSession, checkpoint: str, key: Any, operator: int | None) -> SummaryAnswer:
    opened, definition = _opened(spark, checkpoint, operator)
    source = definition.source()
    arrays = key_arrays_of(source, key)
    bucket, key_hash = _bucket_and_hash(spark, definition, arrays)
    pages = pages_of(opened).where((F.col(BUCKET) == bucket) & F.col(NUMBER).isin(possible_pages(key_hash)))
    worker = summary_task(definition).worker
    tables = [worker.page(bytes(row[0])) for row in pages.select(PAGE).collect()]
    answers = worker.answers_of(arrays, tables)
    values = {name: array[0].as_py() for name, array in zip(source.columns.keys, arrays, strict=True)}
    return definition.layout().objects(worker.answering, answers, [values])[0]


def _bucket_and_hash(spark: SparkSession, definition: SummaryDefinition, key: list[pa.Array]) -> tuple[int, int]:
    """The bucket and the hash of a key, by the functions of Spark that the stream uses."""
    if not key:
        return 0, 0
    types, names = definition.spark_types, definition.roles.keys
    table = pa.Table.from_arrays(key, names=[f"k{i}" for i in range(len(key))])
    schema = s.StructType([s.StructField(f"k{i}", types[name]) for i, name in enumerate(names)])
    keys = [F.col(name) for name in schema.names]
    row = spark.createDataFrame(table, schema).select(bucket_of(keys, definition.buckets), F.xxhash64(*keys)).first()
    assert row is not None  # one row in, one out
    return int(row[0]), int(row[1])


__all__ = ["summary_answer", "summary_answers"]
