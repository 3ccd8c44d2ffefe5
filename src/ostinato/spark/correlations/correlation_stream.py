"""A correlation on a stream: `ost.correlate(query, live=stream).start(...)` owns a foreachBatch.

Each batch: state of the batch before + rows -> buckets of keys (mapInArrow) -> the checkpoint (state and pairs, in one
write) -> from there the pairs, the rest of the SQL text around them -> output; the rows themselves -> archive. Every
write overwrites what the same batch wrote before, so a batch may be run as often as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import OstinatoError, carried
from ostinato.spark.correlations.correlation_batch import CorrelationBatch, archive_folder
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint, Kept
from ostinato.spark.correlations.correlation_clock import read_delay
from ostinato.spark.correlations.correlation_definition import CorrelationDefinition, Reads, plain_columns
from ostinato.spark.correlations.correlation_query import answer_of
from ostinato.spark.correlations.correlation_stream_checks import (
    check_archive_is_free,
    check_options,
    check_output,
    refuse_option,
)
from ostinato.spark.correlations.stream_archive import Source, read_source
from ostinato.spark.correlations.worker_reads import check_worker_reads
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.streams.stream_checks import watermark_delay_ms

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions
    from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation

DEFAULT_BUCKETS = 16
"""Fewer than those of other streams: each is a folder of the archive in each batch."""
Output = str | Callable[[DataFrame, int], None]
"""A folder of Parquet files, or a function of a batch's rows and its number, called again if the batch is run again."""


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """How a correlation lives on a stream.

    Without an `archive` the live rows are their own, as far back as the region reaches. With a path and `write_archive`
    they are also written there, and what `recent_rows` doesn't hold is read from there, by Spark or, from a disk that
    all workers share, by the workers themselves (`reads`). Otherwise `archive` is another table, read up to the
    watermark in each batch.
    """

    archive: Source | None = None
    write_archive: bool = False
    delay: str | int | None = None
    """How far the watermark is behind the latest row of earlier batches; None: that of the DataFrame's own, or none."""
    buckets: int = DEFAULT_BUCKETS
    reads: Reads = "spark"
    options: CorrelationOptions | None = None
    limits: Limits = Limits()


def start_correlation(
    text: str,
    live: DataFrame,
    terms: StreamTerms,
    *,
    output: Output,
    checkpoint: str,
    trigger: Mapping[str, Any] | str | None = None,
) -> StreamingQuery:
    """Starts a query whose pairs go to `output`, one folder `batch_id=N` per batch, overwritten if it is run again.

    `trigger` is what Spark's own takes, or how often a batch is due.
    """
    if not live.isStreaming:
        refuse_option("start takes a stream, and live is a batch DataFrame", "run() or ost.sql answer it as it is")
    definition = define_correlation(text, live, terms)
    check_output(definition, live.sparkSession, writes_files=isinstance(output, str))
    check_archive_is_free(definition, CorrelationCheckpoint(live.sparkSession, checkpoint))
    step = CorrelationStep(definition, checkpoint, output, None if terms.write_archive else terms.archive)
    writer = live.writeStream.foreachBatch(step).option("checkpointLocation", checkpoint)
    if isinstance(trigger, str):
        writer = writer.trigger(processingTime=trigger)
    elif trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()


def define_correlation(text: str, live: DataFrame, terms: StreamTerms) -> CorrelationDefinition:
    """What is asked of rows like those of `live`, with all that is to be refused refused."""
    from ostinato.correlations.task.correlation_task import CorrelationOptions  # loads kernels

    archive, options = terms.archive, terms.options or CorrelationOptions()
    check_options(archive, write_archive=terms.write_archive, buckets=terms.buckets, reads=terms.reads, options=options)
    definition = CorrelationDefinition(
        query=text,
        live_columns=plain_columns(live.schema),
        archive_columns=_archive_columns(live, terms),
        delay=0,
        buckets=terms.buckets,
        options=options,
        limits=terms.limits,
        settings=session_settings(live),
        archive_path=archive if isinstance(archive, str) else None,
        writes_archive=terms.write_archive,
        reads=terms.reads,
    )
    asked = definition.plan(live.sparkSession)  # errors in the query show here, not in the first batch
    if terms.write_archive:
        archive_folder(definition, asked)  # refuses columns that an archive can't have
    if terms.reads == "worker":
        check_worker_reads(asked, str(archive))
    return replace(definition, delay=_delay(live, asked, terms.delay))


def _archive_columns(live: DataFrame, terms: StreamTerms) -> str | None:
    """Those of another table; None where the live rows are their own archive."""
    if terms.archive is None or terms.write_archive:
        return None
    return plain_columns(read_source(live.sparkSession, terms.archive, live.schema).schema)


def _delay(live: DataFrame, asked: SparkCorrelation, given: str | int | None) -> int:
    """In the clock's units: what is given, or else what the stream's own watermark says."""
    clock = asked.clocks.live.start
    known = watermark_delay_ms(live, clock)
    if given is None and known is not None:
        given = f"{known} milliseconds"
    return read_delay(given, asked.live.source.column_types[clock])


@dataclass(slots=True)
class CorrelationStep:
    """For foreachBatch: one batch of a correlation. What it keeps in memory it can find in the checkpoint again."""

    definition: CorrelationDefinition
    checkpoint: str
    output: Output
    archive: Source | None = None
    _plan: SparkCorrelation | None = field(default=None, repr=False)
    _kept: Kept | None = field(default=None, repr=False)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.definition, self.checkpoint, self.output, self.archive

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.definition, self.checkpoint, self.output, self.archive = state
        self._plan = self._kept = None

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        try:
            self._run(rows, batch_id)
        except OstinatoError as error:
            raise RuntimeError(carried(error)) from None  # as it survives Spark: `unwrap` reads it back

    def _run(self, rows: DataFrame, batch_id: int) -> None:
        spark = rows.sparkSession
        if self._plan is None:
            self._plan = self.definition.plan(spark)
        checkpoint = CorrelationCheckpoint(spark, self.checkpoint)
        before = self._before(checkpoint, batch_id)
        batch = CorrelationBatch(self.definition, self._plan, checkpoint, batch_id, before, self.archive)
        is_read_again = self.definition.writes_archive or self.definition.options.recent_rows is not None
        rows = rows.persist() if is_read_again else rows
        try:
            kept = batch.advance(rows)
            self._give(batch.pairs(kept), batch_id)
            batch.archive_rows(rows)
        finally:
            rows.unpersist()
        self._kept = kept

    def _before(self, checkpoint: CorrelationCheckpoint, batch_id: int) -> Kept | None:
        """What the batch before it left: as remembered, or in a new process or a second try as it was written."""
        if self._kept is not None and self._kept.batch < batch_id:
            return self._kept
        before = checkpoint.last(before=batch_id)
        if before is not None:
            self.definition.check_goes_on(checkpoint.definition(before))
        return before

    def _give(self, pairs: DataFrame, batch_id: int) -> None:
        result = answer_of(self.definition.query, pairs)
        if isinstance(self.output, str):
            result.write.mode("overwrite").parquet(f"{self.output.rstrip('/')}/batch_id={batch_id}")
        else:
            self.output(result, batch_id)
