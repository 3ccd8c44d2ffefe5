"""What a correlation on a stream keeps between batches: two folders, of which each batch overwrites the older.

The one of the batch before stays whole until the next batch, so a batch that is run once more (after a kill, in
whatever moment) begins where it began the first time. No file has to be deleted, on any file system.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.spark.correlations.correlation_definition import CorrelationDefinition, read_definition
from ostinato.spark.correlations.correlation_packing import (
    ARCHIVE_COUNT,
    DEFINITION,
    KIND,
    LATEST,
    NO_BUCKET,
    PACK,
    SENT,
    STEPPED,
    WANTED,
)
from ostinato.spark.correlations.released_rows import Released, released_from_json, released_to_json
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.streams.stream_packing import BUCKET

BATCH = f"{PREFIX}batch"
WATERMARK = f"{PREFIX}watermark"
RELEASED = f"{PREFIX}released"
LATE_ARCHIVE_ROWS = "late_archive_rows"
_KEPT = s.StructType(
    [
        *(field for field in STEPPED.fields if field.name != ERROR),
        s.StructField(BATCH, s.LongType()),
        s.StructField(WATERMARK, s.LongType()),
        s.StructField(RELEASED, s.StringType()),
        s.StructField(LATE_ARCHIVE_ROWS, s.LongType()),
    ]
)
_SLOTS = (0, 1)


@dataclass(frozen=True, slots=True)
class Kept:
    """What one batch left."""

    slot: int
    batch: int
    latest: int | None
    """The latest time of all rows up to this batch; None: there was none."""
    watermark: int | None
    """The one that the batch had: what came later than it may still wait."""
    archive_rows: int = 0
    """How many rows of another table as archive the batch took in."""
    before: tuple[Released, ...] = ()
    """The rows of that table that earlier batches took in."""
    is_whole: bool = True
    """Whether no bucket waits for older rows before it can complete the batch."""

    @property
    def released(self) -> tuple[Released, ...]:
        """The rows of another table as archive that this batch and earlier ones took in."""
        if self.watermark is None:
            return self.before
        after = self.before[-1].until if self.before else None
        return (*self.before, Released(after, self.watermark, self.archive_rows))


@dataclass(frozen=True, slots=True)
class Told:
    """What of a batch is the same for all buckets."""

    batch: int
    watermark: int | None
    definition: str
    released: tuple[Released, ...] = ()
    """The rows of another table as archive that earlier batches took in."""
    late_archive_rows: int = 0
    """How many rows reached that table too late to be taken in."""


@dataclass(frozen=True, slots=True)
class CorrelationCheckpoint:
    """The folder `correlation` inside a stream's checkpoint."""

    spark: SparkSession
    path: str

    def rows(self, slot: int) -> DataFrame:
        """All that was kept in one of the two folders."""
        return self.spark.read.schema(_KEPT).parquet(self._folder(slot))

    @property
    def released_path(self) -> str:
        """The folder of rows that were released from another table as archive, where they have to be read again."""
        return f"{self.path.rstrip('/')}/correlation-archive"

    def _folder(self, slot: int) -> str:
        return f"{self.path.rstrip('/')}/correlation/slot={slot}"

    def last(self, before: int | None = None) -> Kept | None:
        """What the latest batch left, among those before this one; None: there was none."""
        kept = [found for found in map(self._kept, _SLOTS) if found is not None]
        known = [found for found in kept if before is None or found.batch < before]
        return max(known, key=lambda found: found.batch, default=None)

    def _kept(self, slot: int) -> Kept | None:
        with without_error_log():
            try:
                told = F.max(BATCH), F.max(LATEST), F.max(WATERMARK), F.sum(ARCHIVE_COUNT), F.max(RELEASED)
                row = self.rows(slot).agg(*told).first()
            except AnalysisException:  # the folder isn't there yet
                return None
        if row is None or row[0] is None:
            return None
        batch, latest, watermark, archive_rows, released = row
        return Kept(slot, batch, latest, watermark, archive_rows or 0, released_from_json(released))

    def sent(self, kept: Kept, kind: int) -> DataFrame:
        """Packs that a batch left, in the form that buckets get."""
        return self.rows(kept.slot).where(F.col(KIND) == kind).select(*SENT.names)

    def keep(self, stepped: DataFrame, slot: int, told: Told) -> Kept:
        """Writes what a batch leaves over what the one two before it left."""
        observed = Observation()
        rows = stepped.drop(ERROR).observe(
            observed,
            F.max(LATEST).alias("latest"),
            F.sum(ARCHIVE_COUNT).alias("archive_rows"),
            F.count_if(F.col(KIND) == WANTED).alias("wanted"),
        )
        named = rows.unionByName(self._told(told), allowMissingColumns=True).select(*_KEPT.names)
        named.write.mode("overwrite").parquet(self._folder(slot))
        return Kept(
            slot,
            told.batch,
            observed.get["latest"],
            told.watermark,
            archive_rows=observed.get["archive_rows"] or 0,
            before=told.released,
            is_whole=not observed.get["wanted"],
        )

    def _told(self, told: Told) -> DataFrame:
        """One row beside those of the buckets, with what is the same for all of them.

        Values of a table, not constants in columns: Spark compiles its code anew for each constant that it meets.
        """
        row = self.spark.sql(
            "SELECT * FROM VALUES (CAST(:bucket AS INT), CAST(:kind AS BYTE), CAST(:pack AS BINARY),"
            " CAST(:batch AS LONG), CAST(:watermark AS LONG), CAST(:released AS STRING), CAST(:late AS LONG))",
            args={
                "bucket": NO_BUCKET,
                "kind": DEFINITION,
                "pack": told.definition,
                "batch": told.batch,
                "watermark": told.watermark,
                "released": released_to_json(told.released),
                "late": told.late_archive_rows,
            },
        )
        return row.toDF(BUCKET, KIND, PACK, BATCH, WATERMARK, RELEASED, LATE_ARCHIVE_ROWS)

    @property
    def is_new(self) -> bool:
        """Whether no batch was ever begun."""
        return self._last_of("offsets") is None

    @property
    def is_settled(self) -> bool:
        """Whether no batch was begun that hasn't been completed."""
        return self._last_of("offsets") == self._last_of("commits")

    def _last_of(self, log: str) -> int | None:
        """The highest batch in one of Spark's own logs, whose files have the batches' numbers as names."""
        with without_error_log():
            try:
                files = self.spark.read.format("binaryFile").load(f"{self.path.rstrip('/')}/{log}").select("path")
                names = [row[0].rpartition("/")[2] for row in files.collect()]
            except AnalysisException:  # the folder isn't there yet
                return None
        return max((int(name) for name in names if name.isdigit()), default=None)

    def definition(self, kept: Kept) -> CorrelationDefinition:
        row = self.rows(kept.slot).where(F.col(KIND) == DEFINITION).select(F.col(PACK).cast("string")).first()
        if row is None:
            raise QueryError("NO_STATE", f"{self.path} holds no state of a correlation")
        return read_definition(row[0])
