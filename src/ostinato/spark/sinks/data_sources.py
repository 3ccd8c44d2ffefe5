"""The sinks as Python data sources of Spark: `ostinato-json-lines` and `ostinato-webhook`, for batches and streams.

Spark makes a writer in a worker beside the driver, pickles it, and calls `write` in one worker for each partition. It
then calls `commit` beside the driver, with one message for each partition. The executors aren't told the number of the
micro-batch through this interface, so `write` takes it from the local properties of the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import types as s
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import OstinatoError, QueryError, carried
from ostinato.expressions.types import Settings
from ostinato.rows.json_text import as_json
from ostinato.spark.session.session_settings import check_spark
from ostinato.spark.sinks.json_lines_files import (
    WrittenFile,
    commit_files,
    discard_files,
    publish_file,
    write_hidden,
)
from ostinato.spark.sinks.sink_options import OptionTexts
from ostinato.spark.sinks.sink_task import SinkTask
from ostinato.spark.sinks.webhook_options import WebhookOptions
from ostinato.spark.sinks.webhook_requests import WebhookRequests, json_rows, key_columns

_STREAM_ID, _EPOCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""Local properties that Spark gives to every task of a micro-batch."""
_NOT_WRITTEN = (s.VariantType, s.YearMonthIntervalType, s.CalendarIntervalType, s.TimeType)
"""Types that Spark's Arrow batches don't have or have in a form of their own, and TIME, which has no JSON text here."""
COMPRESSIONS = ("none", "gzip")


@only_our_errors()
def register_sinks(spark: SparkSession) -> None:
    """Makes the formats `ostinato-json-lines` and `ostinato-webhook` known to a session, classic or Connect.

    Any DataFrame can be written to them, batch or streaming. Their options are in docs/sinks.md.

    >>> register_sinks(spark)  # doctest: +SKIP
    >>> df.write.format("ostinato-json-lines").mode("append").save("/data/alerts")  # doctest: +SKIP
    """
    check_spark(spark)
    active = SparkSession.getActiveSession()
    # Classic Spark looks formats up in the active session, which may be another one than that of the DataFrame. For the
    # same reason, a session can't register a format that only the active one has, so it becomes the active one first.
    sessions = [spark] if active is None or active is spark else [active, spark]
    for session in sessions:
        session.createDataFrame([], "x INT")  # makes the session the active one
        for sink in (JsonLinesSink, WebhookSink):
            session.dataSource.register(sink)


@dataclass(frozen=True, slots=True)
class FileMessage(WriterCommitMessage):
    """The file of one partition."""

    written: WrittenFile


@contextmanager
def _errors_for_spark() -> Iterator[None]:
    """Errors of ours cross Spark as one line, which `ost.unwrap` reads."""
    try:
        with only_our_errors():
            yield
    except OstinatoError as error:
        raise RuntimeError(carried(error)) from None


def _this_task(job: str | None) -> SinkTask:
    """The task that this worker runs. `job` is the id of a batch's write; None in a stream."""
    context = TaskContext.get()
    assert context is not None
    if job is not None:
        return SinkTask(job, 0, context.partitionId(), context.taskAttemptId())
    stream, epoch = context.getLocalProperty(_STREAM_ID), context.getLocalProperty(_EPOCH)
    assert stream is not None and epoch is not None
    return SinkTask(stream, int(epoch), context.partitionId(), context.taskAttemptId())


def _check_types(schema: s.StructType) -> None:
    """Raises UNSUPPORTED_TYPE for a column that no sink can write."""
    for field in schema.fields:
        if any(isinstance(kind, _NOT_WRITTEN) for kind in _types_inside(field.dataType)):
            raise QueryError(
                "UNSUPPORTED_TYPE",
                f"'{field.name}' is {field.dataType.simpleString().upper()}, which the sinks can't write",
                hint="write it as text: to_json(v) for VARIANT, CAST(i AS STRING) for TIME and intervals",
            )


def _types_inside(kind: s.DataType) -> Iterator[s.DataType]:
    yield kind
    match kind:
        case s.StructType():
            inner = [field.dataType for field in kind.fields]
        case s.ArrayType():
            inner = [kind.elementType]
        case s.MapType():
            inner = [kind.keyType, kind.valueType]
        case _:
            inner = []
    for one in inner:
        yield from _types_inside(one)


# --- JSON lines -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JsonLinesFolder:
    """The folder of a write, and how its files are made."""

    path: str
    compressed: bool
    replace_all: bool

    @classmethod
    def read(cls, texts: Mapping[str, str], replace_all: bool) -> JsonLinesFolder:
        options = OptionTexts(texts)
        path = options.folder("path")
        compression = options.one_of("compression", "none", COMPRESSIONS)
        options.refuse_unknown()
        if path is None:
            raise QueryError("INVALID_OPTION", "the files need a folder", hint='.option("path", "/data/alerts")')
        return cls(path, compression == "gzip", replace_all)

    def write(self, batches: Iterable[pa.RecordBatch], job: str | None) -> FileMessage:
        with _errors_for_spark():
            tables = (pa.Table.from_batches([batch]) for batch in batches)
            lines = (line for table in tables for line in as_json(table, Settings(), iso_times=True).to_pylist())
            return FileMessage(write_hidden(self.path, _this_task(job), lines, compressed=self.compressed))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        with _errors_for_spark():
            commit_files(self.path, _files(messages), replace_all=self.replace_all)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        discard_files(self.path, _files(messages))


def _files(messages: Sequence[WriterCommitMessage | None]) -> list[WrittenFile]:
    return [message.written for message in messages if isinstance(message, FileMessage)]


class JsonLinesSink(DataSource):
    """`ostinato-json-lines`: one file of JSON objects for each partition and micro-batch."""

    @classmethod
    def name(cls) -> str:
        return "ostinato-json-lines"

    def _folder(self, schema: s.StructType, overwrite: bool) -> JsonLinesFolder:
        with _errors_for_spark():
            _check_types(schema)
            return JsonLinesFolder.read(self.options, overwrite)

    def writer(self, schema: s.StructType, overwrite: bool) -> JsonLinesWriter:
        return JsonLinesWriter(self._folder(schema, overwrite))

    def streamWriter(self, schema: s.StructType, overwrite: bool) -> JsonLinesStreamWriter:
        return JsonLinesStreamWriter(self._folder(schema, overwrite))


class JsonLinesWriter(DataSourceArrowWriter):
    """Writes the files of a batch."""

    def __init__(self, folder: JsonLinesFolder) -> None:
        self.folder, self.job = folder, str(uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> FileMessage:
        return self.folder.write(iterator, self.job)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self.folder.commit(messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self.folder.abort(messages)


class JsonLinesStreamWriter(DataSourceStreamArrowWriter):
    """Writes the files of a stream. Their names tell stream, micro-batch and partition."""

    def __init__(self, folder: JsonLinesFolder) -> None:
        self.folder = folder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> FileMessage:
        return self.folder.write(iterator, None)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        self.folder.commit(messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        self.folder.abort(messages)


# --- webhooks ---------------------------------------------------------------------------------------------------------


class WebhookSink(DataSource):
    """`ostinato-webhook`: rows as JSON in POST requests."""

    @classmethod
    def name(cls) -> str:
        return "ostinato-webhook"

    def _options(self, schema: s.StructType, overwrite: bool) -> WebhookOptions:
        with _errors_for_spark():
            _check_types(schema)
            options = WebhookOptions.read(self.options)
            key_columns(schema.fieldNames(), options.key)
            if overwrite:
                message = "a webhook can't take back rows, so it has no mode 'overwrite' or 'complete'"
                raise QueryError("INVALID_OPTION", message, hint='.mode("append"); .outputMode("append") or "update"')
            return options

    def writer(self, schema: s.StructType, overwrite: bool) -> WebhookWriter:
        return WebhookWriter(self._options(schema, overwrite))

    def streamWriter(self, schema: s.StructType, overwrite: bool) -> WebhookStreamWriter:
        return WebhookStreamWriter(self._options(schema, overwrite))


def send_rows(options: WebhookOptions, batches: Iterable[pa.RecordBatch], job: str | None) -> WriterCommitMessage:
    """Sends the rows of one task. When it ends, their dead letters have a file, and a replay replaces it."""
    with _errors_for_spark():
        task = _this_task(job)
        requests = WebhookRequests(options, options.target(), task)
        undelivered = requests.deliver(json_rows(batches, options.key))
        if options.dead_letters is None:
            for _ in undelivered:
                raise AssertionError("without a folder a row that isn't delivered is an error")
            return WriterCommitMessage()
        publish_file(options.dead_letters, write_hidden(options.dead_letters, task, undelivered))
        return WriterCommitMessage()


class WebhookWriter(DataSourceArrowWriter):
    """Sends the rows of a batch."""

    def __init__(self, options: WebhookOptions) -> None:
        self.options, self.job = options, str(uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return send_rows(self.options, iterator, self.job)


class WebhookStreamWriter(DataSourceStreamArrowWriter):
    """Sends the rows of a stream."""

    def __init__(self, options: WebhookOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return send_rows(self.options, iterator, None)
