"""One batch of a correlation on a stream: the rows and the state before in, pairs and the new state out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostinato.expressions.render import quote
from ostinato.spark.correlations.correlation_buckets import AdvanceBuckets
from ostinato.spark.correlations.correlation_checkpoint import BatchValues, CorrelationCheckpoint, StoredBatch
from ostinato.spark.correlations.correlation_clock import is_later
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_definition import CorrelationDefinition
from ostinato.spark.correlations.correlation_packing import PackedRows, archive_packing, live_packing
from ostinato.spark.correlations.correlation_packs import (
    ARCHIVE_ROWS,
    HISTORY,
    KIND,
    LIVE_ROWS,
    PACK,
    PAIRS,
    STEPPED,
    WANTED,
)
from ostinato.spark.correlations.released_rows import (
    COUNTED_BATCHES,
    Released,
    ReleasedCopy,
    late_archive_rows,
    released_copy,
)
from ostinato.spark.correlations.stream_archive import ArchiveFolder, ArchiveTimes, Source, read_source
from ostinato.spark.correlations.wanted_rows import Wanted, read_wanted
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_packing import BUCKET, UnpackResults


@dataclass(slots=True)
class CorrelationBatch:
    """A batch before its rows are read."""

    definition: CorrelationDefinition
    correlation: SparkCorrelation
    checkpoint: CorrelationCheckpoint
    batch_id: int
    before: StoredBatch | None
    """The stored batch before this one."""
    archive: Source | None
    """The archive's table, unless the stream's own rows are the archive."""
    finished: bool = False
    """Whether this is the end of input, without rows."""
    watermark: int | None = field(init=False)
    live: PackedRows = field(init=False)
    archived: PackedRows = field(init=False)

    def __post_init__(self) -> None:
        latest = None if self.before is None else self.before.latest
        watermarks = [] if latest is None else [latest - self.definition.delay]
        watermarks += [] if self.late_until is None else [self.late_until]  # never moves back, even if the delay grew
        self.watermark = max(watermarks, default=None)
        self.live = live_packing(self.correlation)
        self.archived = self.live if self.correlation.shared else archive_packing(self.correlation)

    @property
    def spark(self) -> SparkSession:
        return self.checkpoint.spark

    @property
    def late_until(self) -> int | None:
        """The watermark of the batch before. Rows of the stream up to this time are late."""
        return None if self.before is None else self.before.watermark

    # --- rows to pairs ---

    def advance(self, rows: DataFrame) -> StoredBatch:
        """Stores the batch's state and its pairs."""
        slot = 0 if self.before is None else self.before.next_slot
        sent = [*self._sent(), self.live.of(rows, self.definition.buckets, LIVE_ROWS)]
        values = self._batch_values()
        stored = self.checkpoint.store(self._stepped(sent), slot, values)
        if not stored.is_complete:  # some buckets want older rows: the batch runs again with these
            wanted = self._wanted(self.checkpoint.rows(slot))
            assert wanted is not None
            again = self._stepped([*sent, self._history(wanted)], wanted.buckets)
            stored = self.checkpoint.store(again, slot, values)
        return stored

    def pairs(self, stored: StoredBatch) -> DataFrame:
        """The pairs of a stored batch."""
        return self._pairs(self.checkpoint.rows(stored.slot))

    def rest(self) -> DataFrame:
        """The pairs at the end of input. Nothing is stored."""
        sent = self._sent()
        stepped = self._stepped(sent)
        drops_rows = self.definition.options.recent_rows is not None
        wanted = self._wanted(stepped) if drops_rows else None
        if wanted is not None:
            stepped = self._stepped([*sent, self._history(wanted)], wanted.buckets)
        return self._pairs(stepped)

    def _sent(self) -> list[DataFrame]:
        """The state of the batch before, and the rows of an archive table that the watermark, or the end, releases."""
        sent = [] if self.before is None else [self.checkpoint.states(self.before)]
        if not self.correlation.shared and (self.finished or self.watermark is not None):
            until = None if self.finished else self.watermark
            released = archive_times(self.correlation).released(self._other_archive(), self.late_until, until)
            sent.append(self._packed_archive(released))
        return sent

    def _packed_archive(self, released: DataFrame) -> DataFrame:
        """Released rows of an archive table, packed for the buckets. If later batches may read them, they are copied.

        The table may change while the batch runs, so the batch itself reads the copy.
        """
        if self.finished or not self.definition.copies_archive:
            return self.archived.of(released, self.definition.buckets, ARCHIVE_ROWS)
        copy = self._copy()
        copy.write(released, self.batch_id)
        return copy.of_batch(self.batch_id)

    def _stepped(self, sent: list[DataFrame], read_back: frozenset[int] = frozenset()) -> DataFrame:
        """One pass over all buckets."""
        step = AdvanceBuckets(
            task=self.correlation.task(),
            options=self.definition.options,
            live=self.live.schema,
            archive=self.archived.schema,
            pairs=self._pairs_schema,
            watermark=self.watermark,
            late_until=self.late_until,
            read_back=read_back,
            copied=frozenset() if self.before is None else self.before.copied_next,
            finished=self.finished,
        )
        by_bucket = reduce(DataFrame.unionAll, sent).repartition(BUCKET)
        return by_bucket.mapInArrow(Checked(step), spark_schema(STEPPED)).where(RAISES)

    def _batch_values(self) -> BatchValues:
        released: tuple[Released, ...] = ()
        late = 0
        if not self.correlation.shared and self.before is not None:
            released = self.before.released[-COUNTED_BATCHES:]
            late = late_archive_rows(self._other_archive(), archive_times(self.correlation), released)
        definition = self.definition.to_json()
        if self.before is None:
            return BatchValues(self.batch_id, self.watermark, definition, released, late)
        before = self.before
        return BatchValues(self.batch_id, self.watermark, definition, released, late, before.latest, before.states)

    def _wanted(self, stepped: DataFrame) -> Wanted | None:
        """The older rows that buckets want before the batch can complete; None: none."""
        packs = stepped.where(F.col(KIND) == WANTED).select(BUCKET, PACK).collect()
        return read_wanted(((row[0], row[1]) for row in packs), self.correlation)

    @property
    def _pairs_schema(self) -> pa.Schema:
        return self.correlation.live.source.arrow_schema(self.correlation.pairs.schema)

    def _pairs(self, stepped: DataFrame) -> DataFrame:
        """The pairs in the order of the tasks."""
        packs = stepped.where(F.col(KIND) == PAIRS).select(PACK)
        return self.correlation.measured(
            packs.mapInArrow(Checked(UnpackResults(self._pairs_schema)), self.correlation.pairs.schema)
        )

    # --- the archive ---

    def _other_archive(self) -> DataFrame:
        """The archive's table in its current state."""
        assert self.archive is not None
        return read_source(self.spark, self.archive, self.correlation.archive.df.schema)

    def _folder(self) -> ArchiveFolder:
        return archive_folder(self.definition, self.correlation)

    def _history(self, wanted: Wanted) -> DataFrame:
        """The rows that buckets want."""
        if not self.correlation.shared:
            return self._copy().history(wanted, self.batch_id)
        rows = self._folder().read(self.spark, self.batch_id, wanted.buckets)
        wanted_rows = archive_times(self.correlation).wanted(rows, wanted)
        return self.archived.of(wanted_rows, self.definition.buckets, HISTORY)

    def _copy(self) -> ReleasedCopy:
        path = self.checkpoint.released_path
        return released_copy(self.spark, path, self.correlation, self.archived, self.definition.buckets)

    def archive_rows(self, rows: DataFrame) -> None:
        """Writes the batch's rows to the archive, without late rows."""
        if not self.definition.writes_archive:
            return
        clock = self.correlation.clocks.live.start
        in_time = rows.where(is_later(quote(clock), self.late_until, self.correlation.live.source.column_types[clock]))
        bucket = self.live.bucket(self.definition.buckets)
        self._folder().write(in_time, self.batch_id, bucket, self.correlation.live.bound.partition_by)


def archive_folder(definition: CorrelationDefinition, correlation: SparkCorrelation) -> ArchiveFolder:
    """The folder of the stream's own rows."""
    return ArchiveFolder(str(definition.archive_path), correlation.live.df.schema, correlation.clocks.live.start)


def archive_times(correlation: SparkCorrelation) -> ArchiveTimes:
    """The archive's keys, in the order of `wanted`, and its clock."""
    clock = correlation.clocks.archive.start
    kind = correlation.archive.source.column_types[clock]
    # The two sides may order the stream's rows by different columns. The archive's files have the live side's clock.
    is_stored = correlation.shared and clock == correlation.clocks.live.start
    return ArchiveTimes(correlation.archive_keys, clock, kind, is_stored)
