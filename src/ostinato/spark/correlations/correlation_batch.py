"""One batch of a correlation on a stream: rows in, what the checkpoint keeps, pairs out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostinato.expressions.render import quote
from ostinato.spark.correlations.correlation_buckets import AdvanceBuckets
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint, Kept, Told
from ostinato.spark.correlations.correlation_clock import is_later
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_definition import CorrelationDefinition
from ostinato.spark.correlations.correlation_packing import (
    ARCHIVE_ROWS,
    HISTORY,
    KIND,
    LIVE_ROWS,
    PACK,
    PAIRS,
    STATE,
    STEPPED,
    WANTED,
    PackedRows,
    archive_packing,
    live_packing,
)
from ostinato.spark.correlations.released_rows import (
    COUNTED_BATCHES,
    Released,
    ReleasedCopy,
    late_archive_rows,
    released_copy,
)
from ostinato.spark.correlations.stream_archive import ArchiveFolder, ArchiveTimes, Source, read_source
from ostinato.spark.correlations.wanted_rows import Wanted, read_wanted, wanted_schema
from ostinato.spark.correlations.worker_reads import WorkerReads, worker_reads
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.streams.stream_packing import BUCKET, UnpackResults


@dataclass(slots=True)
class CorrelationBatch:
    """What is known of a batch before its rows are looked at."""

    definition: CorrelationDefinition
    asked: SparkCorrelation
    checkpoint: CorrelationCheckpoint
    batch_id: int
    before: Kept | None
    """What the batch before it left."""
    archive: Source | None
    """The archive's table where it is another than the stream's own rows."""
    finished: bool = False
    """No rows come any more: it is what the end of input gives."""
    watermark: int | None = field(init=False)
    live: PackedRows = field(init=False)
    archived: PackedRows = field(init=False)

    def __post_init__(self) -> None:
        latest = None if self.before is None else self.before.latest
        known = [] if latest is None else [latest - self.definition.delay]
        known += [] if self.late_until is None else [self.late_until]  # a longer delay than before takes nothing back
        self.watermark = max(known, default=None)
        self.live = live_packing(self.asked)
        self.archived = self.live if self.asked.shared else archive_packing(self.asked)

    @property
    def spark(self) -> SparkSession:
        return self.checkpoint.spark

    @property
    def late_until(self) -> int | None:
        """Rows of the stream that aren't later than this come too late: they were waited for in the batch before."""
        return None if self.before is None else self.before.watermark

    # --- rows to pairs ---

    def advance(self, rows: DataFrame) -> Kept:
        """Keeps the batch's state and its pairs."""
        slot = 0 if self.before is None else 1 - self.before.slot
        sent = [*self._sent(), self.live.of(rows, self.definition.buckets, LIVE_ROWS)]
        told = self._told()
        kept = self.checkpoint.keep(self._stepped(sent), slot, told)
        if not kept.is_whole:  # run once more with what is wanted, and kept in place of the first
            wanted = self._wanted(self.checkpoint.rows(slot))
            assert wanted is not None
            again = self._stepped([*sent, self._history(wanted)], wanted.buckets)
            kept = self.checkpoint.keep(again, slot, told)
        return kept

    def pairs(self, kept: Kept) -> DataFrame:
        """The pairs that the batch kept."""
        return self._pairs(self.checkpoint.rows(kept.slot))

    def rest(self) -> DataFrame:
        """The pairs that the end of input gives; nothing is kept."""
        sent = self._sent()
        stepped = self._stepped(sent)
        drops_rows = self.definition.options.recent_rows is not None
        wanted = self._wanted(stepped) if drops_rows else None
        if wanted is not None:
            stepped = self._stepped([*sent, self._history(wanted)], wanted.buckets)
        return self._pairs(stepped)

    def _sent(self) -> list[DataFrame]:
        """The state of the batch before, and the rows of another archive that the watermark, or the end, releases."""
        sent = [] if self.before is None else [self.checkpoint.sent(self.before, STATE)]
        if not self.asked.shared and (self.finished or self.watermark is not None):
            until = None if self.finished else self.watermark
            released = archive_times(self.asked).released(self._other_archive(), self.late_until, until)
            sent.append(self._taken_in(released))
        return sent

    def _taken_in(self, released: DataFrame) -> DataFrame:
        """Rows of another table on their way to the buckets; those that have to be read back pass through the copy.

        The table may change while the batch runs, so the batch itself reads what it has copied.
        """
        if self.finished or not self.definition.copies_archive:
            return self.archived.of(released, self.definition.buckets, ARCHIVE_ROWS)
        copy = self._copy()
        copy.write(released, self.batch_id)
        return copy.of_batch(self.batch_id)

    def _stepped(self, sent: list[DataFrame], read_back: frozenset[int] = frozenset()) -> DataFrame:
        """One pass over all buckets."""
        step = AdvanceBuckets(
            task=self.asked.task(),
            options=self.definition.options,
            live=self.live.schema,
            archive=self.archived.schema,
            pairs=self._pairs_schema,
            watermark=self.watermark,
            late_until=self.late_until,
            read_back=read_back,
            reader=self._reader(),
            finished=self.finished,
        )
        return reduce(DataFrame.unionAll, sent).repartition(BUCKET).mapInArrow(step, STEPPED).where(RAISES)

    def _told(self) -> Told:
        released: tuple[Released, ...] = ()
        late = 0
        if not self.asked.shared and self.before is not None:
            released = self.before.released[-COUNTED_BATCHES:]
            late = late_archive_rows(self._other_archive(), archive_times(self.asked), released)
        return Told(self.batch_id, self.watermark, self.definition.to_json(), released, late)

    def _wanted(self, stepped: DataFrame) -> Wanted | None:
        """What buckets want before the batch can be completed; None: nothing."""
        packs = stepped.where(F.col(KIND) == WANTED).select(BUCKET, PACK).collect()
        return read_wanted(((row[0], row[1]) for row in packs), wanted_schema(self.asked))

    @property
    def _pairs_schema(self) -> pa.Schema:
        return self.asked.live.source.arrow_schema(self.asked.pairs.schema)

    def _pairs(self, stepped: DataFrame) -> DataFrame:
        """In the order in which tasks gave them."""
        packs = stepped.where(F.col(KIND) == PAIRS).select(PACK)
        return self.asked.measured(packs.mapInArrow(UnpackResults(self._pairs_schema), self.asked.pairs.schema))

    # --- the archive ---

    def _other_archive(self) -> DataFrame:
        """The archive's table where it isn't the stream's own rows, as it is now."""
        assert self.archive is not None
        return read_source(self.spark, self.archive, self.asked.archive.df.schema)

    def _folder(self) -> ArchiveFolder:
        return archive_folder(self.definition, self.asked)

    def _history(self, wanted: Wanted) -> DataFrame:
        """The rows that buckets want."""
        if not self.asked.shared:
            return self._copy().history(wanted, self.batch_id)
        rows = self._folder().read(self.spark, self.batch_id, wanted.buckets)
        found = archive_times(self.asked).wanted(rows, wanted)
        return self.archived.of(found, self.definition.buckets, HISTORY)

    def _copy(self) -> ReleasedCopy:
        path = self.checkpoint.released_path
        return released_copy(self.spark, path, self.asked, self.archived, self.definition.buckets)

    def _reader(self) -> WorkerReads | None:
        if self.definition.reads == "spark":
            return None
        return worker_reads(self._folder(), self.batch_id, self.asked, self.archived.schema)

    def archive_rows(self, rows: DataFrame) -> None:
        """Writes the batch's rows to the archive, without those that came too late, as the buckets saw them."""
        if not self.definition.writes_archive:
            return
        clock = self.asked.clocks.live.start
        in_time = rows.where(is_later(quote(clock), self.late_until, self.asked.live.source.column_types[clock]))
        bucket = self.live.bucket(self.definition.buckets)
        self._folder().write(in_time, self.batch_id, bucket, self.asked.live.bound.partition_by)


def archive_folder(definition: CorrelationDefinition, asked: SparkCorrelation) -> ArchiveFolder:
    """Where the stream's own rows are kept."""
    return ArchiveFolder(str(definition.archive_path), asked.live.df.schema, asked.clocks.live.start)


def archive_times(asked: SparkCorrelation) -> ArchiveTimes:
    """The archive's keys, as `wanted` has them, and its clock."""
    clock = asked.clocks.archive.start
    kind = asked.archive.source.column_types[clock]
    # Both sides may order the stream's rows by different columns; the archive's files have the live one's clock.
    is_stored = asked.shared and clock == asked.clocks.live.start
    return ArchiveTimes(asked.archive_keys, clock, kind, is_stored)
