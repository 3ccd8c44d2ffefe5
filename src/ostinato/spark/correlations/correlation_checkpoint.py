"""The stored batches of a correlation on a stream: two folders. Each batch overwrites the older one.

The folder of the batch before stays complete. So a batch that runs again, after a kill at any moment, starts from the
same state. No file has to be deleted, on any file system.
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
from ostinato.spark.correlations.correlation_packs import (
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
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.streams.stream_checkpoint import last_batch
from ostinato.spark.streams.stream_packing import BUCKET

BATCH = f"{PREFIX}batch"
WATERMARK = f"{PREFIX}watermark"
RELEASED = f"{PREFIX}released"
LATE_ARCHIVE_ROWS = "late_archive_rows"
_STORED = s.StructType(
    [
        *(field for field in spark_schema(STEPPED).fields if field.name != ERROR),
        s.StructField(BATCH, s.LongType()),
        s.StructField(WATERMARK, s.LongType()),
        s.StructField(RELEASED, s.StringType()),
        s.StructField(LATE_ARCHIVE_ROWS, s.LongType()),
    ]
)
_SLOTS = (0, 1)


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """One batch in the checkpoint."""

    slot: int
    batch: int
    latest: int | None
    """The latest time of all rows up to this batch; None: there were none."""
    watermark: int | None
    """The watermark of the batch. Rows after it may still wait."""
    archive_rows: int = 0
    """Number of rows that the batch read from an archive table."""
    before: tuple[Released, ...] = ()
    """The rows of the archive table that earlier batches read."""
    is_complete: bool = True
    """Whether no bucket wants older rows to complete the batch."""

    @property
    def released(self) -> tuple[Released, ...]:
        """The rows of the archive table that this batch and earlier ones read."""
        if self.watermark is None:
            return self.before
        after = self.before[-1].until if self.before else None
        return (*self.before, Released(after, self.watermark, self.archive_rows))


@dataclass(frozen=True, slots=True)
class BatchValues:
    """Values of a batch that are the same for all buckets."""

    batch: int
    watermark: int | None
    definition: str
    released: tuple[Released, ...] = ()
    """The rows of the archive table that earlier batches read."""
    late_archive_rows: int = 0
    """Number of rows that reached the archive table too late to be read."""


@dataclass(frozen=True, slots=True)
class CorrelationCheckpoint:
    """The folder `correlation` inside a stream's checkpoint."""

    spark: SparkSession
    path: str

    def rows(self, slot: int) -> DataFrame:
        """All rows of one of the two folders."""
        return self.spark.read.schema(_STORED).parquet(self._folder(slot))

    @property
    def released_path(self) -> str:
        """The folder with copies of archive table rows that later batches may read again."""
        return f"{self.path.rstrip('/')}/correlation-archive"

    def _folder(self, slot: int) -> str:
        return f"{self.path.rstrip('/')}/correlation/slot={slot}"

    def last(self, before: int | None = None) -> StoredBatch | None:
        """The latest stored batch, of those before the batch `before`; None: there is none."""
        stored = [batch for batch in map(self._stored, _SLOTS) if batch is not None]
        candidates = [batch for batch in stored if before is None or batch.batch < before]
        return max(candidates, key=lambda stored: stored.batch, default=None)

    def _stored(self, slot: int) -> StoredBatch | None:
        with without_error_log():
            try:
                values = F.max(BATCH), F.max(LATEST), F.max(WATERMARK), F.sum(ARCHIVE_COUNT), F.max(RELEASED)
                row = self.rows(slot).agg(*values).first()
            except AnalysisException:  # the folder isn't there yet
                return None
        if row is None or row[0] is None:
            return None
        batch, latest, watermark, archive_rows, released = row
        return StoredBatch(slot, batch, latest, watermark, archive_rows or 0, released_from_json(released))

    def sent(self, stored: StoredBatch, kind: int) -> DataFrame:
        """The packs of a stored batch, in the form that buckets read."""
        return self.rows(stored.slot).where(F.col(KIND) == kind).select(*SENT.names)

    def store(self, stepped: DataFrame, slot: int, values: BatchValues) -> StoredBatch:
        """Writes a batch over the one two batches before it."""
        observed = Observation()
        rows = stepped.drop(ERROR).observe(
            observed,
            F.max(LATEST).alias("latest"),
            F.sum(ARCHIVE_COUNT).alias("archive_rows"),
            F.count_if(F.col(KIND) == WANTED).alias("wanted"),
        )
        named = rows.unionByName(self._values_row(values), allowMissingColumns=True).select(*_STORED.names)
        named.write.mode("overwrite").parquet(self._folder(slot))
        return StoredBatch(
            slot,
            values.batch,
            observed.get["latest"],
            values.watermark,
            archive_rows=observed.get["archive_rows"] or 0,
            before=values.released,
            is_complete=not observed.get["wanted"],
        )

    def _values_row(self, values: BatchValues) -> DataFrame:
        """One row beside those of the buckets, with the values of the batch.

        It is a table, not constant columns: Spark would compile its code again for each new constant.
        """
        row = self.spark.sql(
            "SELECT * FROM VALUES (CAST(:bucket AS INT), CAST(:kind AS BYTE), CAST(:pack AS BINARY),"
            " CAST(:batch AS LONG), CAST(:watermark AS LONG), CAST(:released AS STRING), CAST(:late AS LONG))",
            args={
                "bucket": NO_BUCKET,
                "kind": DEFINITION,
                "pack": values.definition,
                "batch": values.batch,
                "watermark": values.watermark,
                "released": released_to_json(values.released),
                "late": values.late_archive_rows,
            },
        )
        return row.toDF(BUCKET, KIND, PACK, BATCH, WATERMARK, RELEASED, LATE_ARCHIVE_ROWS)

    @property
    def is_new(self) -> bool:
        """Whether no batch was ever begun."""
        return last_batch(self.spark, self.path, "offsets") is None

    @property
    def is_settled(self) -> bool:
        """Whether every batch that was begun is complete."""
        return last_batch(self.spark, self.path, "offsets") == last_batch(self.spark, self.path, "commits")

    def definition(self, stored: StoredBatch) -> CorrelationDefinition:
        row = self.rows(stored.slot).where(F.col(KIND) == DEFINITION).select(F.col(PACK).cast("string")).first()
        if row is None:
            raise QueryError("NO_STATE", f"{self.path} holds no state of a correlation")
        return read_definition(row[0])
