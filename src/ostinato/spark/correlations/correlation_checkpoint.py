"""The stored batches of a correlation on a stream: a ring of folders, its slots. A batch writes to the next slot.

A batch writes only the states that change, and says in which slots the others are. A batch also copies the current
states out of the slot that the next one overwrites. So a batch that runs again, after a kill at any moment, starts from
the same state. No file has to be deleted, on any file system.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
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
    STATE,
    STEPPED,
    WANTED,
)
from ostinato.spark.correlations.released_rows import Released, released_from_json, released_to_json
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.streams.stream_checkpoint import last_batch
from ostinato.spark.streams.stream_packing import BUCKET
from ostinato.streams.stored_state import reading

BATCH = f"{PREFIX}batch"
WATERMARK = f"{PREFIX}watermark"
RELEASED = f"{PREFIX}released"
EARLIER = f"{PREFIX}earlier"
LATE_ARCHIVE_ROWS = "late_archive_rows"
_STORED = s.StructType(
    [
        *(field for field in spark_schema(STEPPED).fields if field.name != ERROR),
        s.StructField(BATCH, s.LongType()),
        s.StructField(WATERMARK, s.LongType()),
        s.StructField(RELEASED, s.StringType()),
        s.StructField(EARLIER, s.StringType()),
        s.StructField(LATE_ARCHIVE_ROWS, s.LongType()),
    ]
)
SLOTS = 8
_SLOT = "slot"

States = Mapping[int, frozenset[int]]
"""For each slot the buckets whose current state is there."""


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
    states: States = field(default_factory=dict)

    @property
    def next_slot(self) -> int:
        """The slot of the batch after this one."""
        return (self.slot + 1) % SLOTS

    @property
    def copied_next(self) -> frozenset[int]:
        """The buckets whose states the next batch copies: those in the slot that the one after it overwrites."""
        return self.states.get((self.slot + 2) % SLOTS, frozenset())

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
    latest: int | None = None
    """The latest time of all rows before this batch."""
    states: States = field(default_factory=dict)
    """The states before this batch."""


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
        values = F.max(LATEST), F.max(WATERMARK), F.sum(ARCHIVE_COUNT), F.max(RELEASED), F.max(EARLIER), _written()
        with without_error_log():
            try:
                by_slot = self._all_rows().groupBy(_SLOT).agg(F.max(BATCH).alias(BATCH), *values)
                found = by_slot.where(f"{BATCH} < {before}" if before is not None else f"{BATCH} IS NOT NULL").collect()
            except AnalysisException:  # the folder isn't there yet
                return None
        if not found:
            return None
        slot, batch, latest, watermark, archive_rows, released, earlier, written = max(
            found, key=lambda row: row[BATCH]
        )
        return StoredBatch(
            slot,
            batch,
            latest,
            watermark,
            archive_rows or 0,
            released_from_json(released),
            states=_with_written(_states_from_json(earlier), slot, written),
        )

    def states(self, stored: StoredBatch) -> DataFrame:
        """The states after a stored batch, in the form that buckets read."""
        if not set(stored.states) - {stored.slot}:
            states = self.rows(stored.slot)
        else:
            current = (F.col(BUCKET).isin(*buckets) & (F.col(_SLOT) == slot) for slot, buckets in stored.states.items())
            states = self._all_rows().where(reduce(or_, current))
        return states.where(F.col(KIND) == STATE).select(*SENT.names)

    def _all_rows(self) -> DataFrame:
        """The rows of all slots."""
        columns = s.StructType([*_STORED.fields, s.StructField(_SLOT, s.IntegerType())])
        return self.spark.read.schema(columns).parquet(f"{self.path.rstrip('/')}/correlation")

    def store(self, stepped: DataFrame, slot: int, values: BatchValues) -> StoredBatch:
        """Writes a batch over the older one in the slot."""
        observed = Observation()
        rows = stepped.drop(ERROR).observe(
            observed,
            F.max(LATEST).alias("latest"),
            F.sum(ARCHIVE_COUNT).alias("archive_rows"),
            F.count_if(F.col(KIND) == WANTED).alias("wanted"),
            _written().alias("written"),
        )
        named = rows.unionByName(self._values_row(values), allowMissingColumns=True).select(*_STORED.names)
        named.write.mode("overwrite").parquet(self._folder(slot))
        latest = [time for time in (values.latest, observed.get["latest"]) if time is not None]
        return StoredBatch(
            slot,
            values.batch,
            max(latest, default=None),
            values.watermark,
            archive_rows=observed.get["archive_rows"] or 0,
            before=values.released,
            is_complete=not observed.get["wanted"],
            states=_with_written(values.states, slot, observed.get["written"]),
        )

    def _values_row(self, values: BatchValues) -> DataFrame:
        """One row beside those of the buckets, with the values of the batch.

        It is a table, not constant columns: Spark would compile its code again for each new constant.
        """
        row = self.spark.sql(
            "SELECT * FROM VALUES (CAST(:bucket AS INT), CAST(:kind AS BYTE), CAST(:pack AS BINARY),"
            " CAST(:batch AS LONG), CAST(:latest AS LONG), CAST(:watermark AS LONG), CAST(:released AS STRING),"
            " CAST(:earlier AS STRING), CAST(:late AS LONG))",
            args={
                "bucket": NO_BUCKET,
                "kind": DEFINITION,
                "pack": values.definition,
                "batch": values.batch,
                "latest": values.latest,
                "watermark": values.watermark,
                "released": released_to_json(values.released),
                "earlier": json.dumps({slot: sorted(buckets) for slot, buckets in values.states.items()}),
                "late": values.late_archive_rows,
            },
        )
        return row.toDF(BUCKET, KIND, PACK, BATCH, LATEST, WATERMARK, RELEASED, EARLIER, LATE_ARCHIVE_ROWS)

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


# --- which slot has the state of a bucket -----------------------------------------------------------------------------


def _written() -> Column:
    """The buckets whose states a batch writes, as a text."""
    return F.listagg(F.when(F.col(KIND) == STATE, F.col(BUCKET).cast("string")), F.lit(","))


def _with_written(states: States, slot: int, written: str | None) -> States:
    """The states after a batch that wrote these buckets to this slot."""
    now = frozenset(map(int, written.split(","))) if written else frozenset()
    after = {other: buckets - now for other, buckets in states.items() if other != slot} | {slot: now}
    return {slot: buckets for slot, buckets in after.items() if buckets}


def _states_from_json(text: str) -> States:
    with reading("the places of states in the state of this correlation"):
        return {int(slot): frozenset(map(int, buckets)) for slot, buckets in json.loads(text).items()}
