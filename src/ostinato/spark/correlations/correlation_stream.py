"""A correlation of a stream with an archive in a table: `ost.correlate(query, archive=...).start(...)`, a foreachBatch.

Each batch: state of the batch before + rows -> buckets of keys (mapInArrow) -> the checkpoint (state and pairs, in one
write). Then the pairs -> the rest of the SQL text -> output, and the rows -> archive. Every write overwrites earlier
writes of the same batch, so a batch can run again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.errors import OstinatoError, carried
from ostinato.spark.correlations.correlation_batch import CorrelationBatch, archive_folder
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint, StoredBatch
from ostinato.spark.correlations.correlation_clock import read_delay
from ostinato.spark.correlations.correlation_definition import CorrelationDefinition
from ostinato.spark.correlations.correlation_output import Output, Trigger, WriteRows, start_query
from ostinato.spark.correlations.correlation_query import answer_of
from ostinato.spark.correlations.correlation_stream_checks import (
    check_archive_is_free,
    check_options,
    check_output,
    refuse_option,
)
from ostinato.spark.correlations.stream_archive import Source, read_source
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.streams.stream_checks import watermark_delay_ms
from ostinato.spark.streams.stream_definition import columns_as_json
from ostinato.streams.stream_settings import DEFAULT_BUCKETS

if TYPE_CHECKING:
    from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """The options of a correlation of a stream with an archive in a table.

    With a path and `write_archive`, the live rows are their own archive and are also written there. Rows that
    `recent_rows` leaves out are read from there. Otherwise `archive` is another table, which each batch reads up to the
    watermark.
    """

    archive: Source
    write_archive: bool = False
    delay: str | int | None = None
    """The watermark delay; None: that of the DataFrame's watermark, or none."""
    buckets: int = DEFAULT_BUCKETS
    options: CorrelationOptions | None = None
    limits: Limits = Limits()


def start_correlation(
    text: str,
    live: DataFrame,
    terms: StreamTerms,
    *,
    output: Output,
    checkpoint: str,
    trigger: Trigger = None,
) -> StreamingQuery:
    """Starts a query that writes its pairs to `output`: one folder `batch_id=N` for each batch."""
    if not live.isStreaming:
        refuse_option("start takes a stream, and live is a batch DataFrame", "use run() or ost.sql for a batch")
    definition = define_correlation(text, live, terms)
    check_output(definition, live.sparkSession, writes_files=isinstance(output, str))
    check_archive_is_free(definition, CorrelationCheckpoint(live.sparkSession, checkpoint))
    step = CorrelationStep(definition, checkpoint, output, None if terms.write_archive else terms.archive)
    return start_query(live, step, checkpoint, trigger)


def define_correlation(text: str, live: DataFrame, terms: StreamTerms) -> CorrelationDefinition:
    """The definition to store. Raises if the correlation can't run on this stream."""
    archive, options = terms.archive, terms.options or CorrelationOptions()
    check_options(archive, write_archive=terms.write_archive, buckets=terms.buckets)
    definition = CorrelationDefinition(
        query=text,
        live_columns=columns_as_json(live.schema),
        archive_columns=_archive_columns(live, terms),
        delay=0,
        buckets=terms.buckets,
        options=options,
        limits=terms.limits,
        settings=session_settings(live),
        archive_path=archive if isinstance(archive, str) else None,
        writes_archive=terms.write_archive,
    )
    correlation = definition.plan(live.sparkSession)  # raises errors in the query before the first batch
    if terms.write_archive:
        archive_folder(definition, correlation)  # raises for columns that an archive can't have
    return replace(definition, delay=_delay(live, correlation, terms.delay))


def _archive_columns(live: DataFrame, terms: StreamTerms) -> str | None:
    """The columns of an archive table; None if the stream writes its own archive."""
    if terms.write_archive:
        return None
    return columns_as_json(read_source(live.sparkSession, terms.archive, live.schema).schema)


def _delay(live: DataFrame, correlation: SparkCorrelation, delay: str | int | None) -> int:
    """The watermark delay in the clock's units: `delay`, or that of the stream's own watermark."""
    clock = correlation.clocks.live.start
    delay_ms = watermark_delay_ms(live, clock)
    if delay is None and delay_ms is not None:
        delay = f"{delay_ms} milliseconds"
    return read_delay(delay, correlation.live.source.column_types[clock])


@dataclass(slots=True)
class CorrelationStep:
    """For foreachBatch: one batch of a correlation. The checkpoint has everything that it keeps in memory."""

    definition: CorrelationDefinition
    checkpoint: str
    output: Output
    archive: Source | None = None
    _plan: SparkCorrelation | None = field(default=None, repr=False)
    _stored: StoredBatch | None = field(default=None, repr=False)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.definition, self.checkpoint, self.output, self.archive

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.definition, self.checkpoint, self.output, self.archive = state
        self._plan = self._stored = None

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        try:
            self._run(rows, batch_id)
        except OstinatoError as error:
            raise RuntimeError(carried(error)) from None  # `unwrap` reads it back from Spark's exception

    def _run(self, rows: DataFrame, batch_id: int) -> None:
        spark = rows.sparkSession
        if self._plan is None:
            self._plan = self.definition.plan(spark)
        checkpoint = CorrelationCheckpoint(spark, self.checkpoint)
        before = self._before(checkpoint, batch_id)
        batch = CorrelationBatch(self.definition, self._plan, checkpoint, batch_id, before, self.archive)
        is_read_twice = self.definition.writes_archive or self.definition.options.recent_rows is not None
        rows = rows.persist() if is_read_twice else rows
        try:
            stored = batch.advance(rows)
            self._write(batch.pairs(stored), batch_id)
            batch.archive_rows(rows)
        finally:
            rows.unpersist()
        self._stored = stored

    def _before(self, checkpoint: CorrelationCheckpoint, batch_id: int) -> StoredBatch | None:
        """The batch before: from memory, or from the checkpoint in a new process or a second attempt."""
        if self._stored is not None and self._stored.batch < batch_id:
            return self._stored
        before = checkpoint.last(before=batch_id)
        if before is not None:
            self.definition.check_goes_on(checkpoint.definition(before))
        return before

    def _write(self, pairs: DataFrame, batch_id: int) -> None:
        WriteRows(self.output)(answer_of(self.definition.query, pairs), batch_id)
