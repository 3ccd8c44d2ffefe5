"""The rows that a stream has read from an archive table: a copy in the checkpoint, and their counts.

Rows may reach the table after the watermark has passed them. The stream ignores such late rows, so they must not appear
when it reads older rows back. With `recent_rows`, the stream therefore copies the rows that it reads, and later reads
only the copy. The counts show how many rows were late.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_packing import PackedRows
from ostinato.spark.correlations.correlation_packs import ARCHIVE_ROWS, HISTORY
from ostinato.spark.correlations.stream_archive import ArchiveFolder, ArchiveTimes
from ostinato.spark.correlations.wanted_rows import Wanted
from ostinato.spark.shipping.shipped_rows import travelling_name
from ostinato.streams.stored_state import reading

COUNTED_BATCHES = 32
"""Late rows are counted between the watermarks of the last this many batches. Older late rows aren't counted."""


class Released(NamedTuple):
    """The number of archive rows that one batch read: those after `after`, up to `until`."""

    after: int | None
    until: int
    rows: int


def released_to_json(released: tuple[Released, ...]) -> str:
    return json.dumps(released)


def released_from_json(text: str | None) -> tuple[Released, ...]:
    """Reads `released_to_json`; None: nothing was released."""
    with reading("the counts of the archive in the state of this correlation"):
        return () if text is None else tuple(Released(*values) for values in json.loads(text))


def late_archive_rows(archive: DataFrame, times: ArchiveTimes, released: tuple[Released, ...]) -> int:
    """Number of rows that were missing in the archive when the batches of their times read it."""
    if not released:
        return 0
    rows_now = times.released(archive, released[0].after, released[-1].until).count()
    return int(max(rows_now - sum(batch.rows for batch in released), 0))


@dataclass(frozen=True, slots=True)
class ReleasedCopy:
    """The copy: the shipped columns, by batch and bucket, in the form of an archive that a stream writes."""

    spark: SparkSession
    folder: ArchiveFolder
    arriving: PackedRows
    """How rows of the table itself are packed."""
    stored: PackedRows
    """How rows of the copy are packed."""
    times: ArchiveTimes
    buckets: int

    def write(self, rows: DataFrame, batch: int) -> None:
        """Writes the rows of a batch. Overwrites those of an earlier run of the same batch."""
        columns = zip(self.arriving.columns.values(), self.stored.columns.values(), strict=True)
        copied = rows.select(*(F.expr(text).alias(name) for text, name in columns))
        self.folder.write(copied, batch, self.stored.bucket(self.buckets), self.times.keys)

    def of_batch(self, batch: int) -> DataFrame:
        """The rows of one batch, packed for buckets."""
        return self.stored.of(self.folder.read_batch(self.spark, batch), self.buckets, ARCHIVE_ROWS)

    def history(self, wanted: Wanted, before_batch: int) -> DataFrame:
        """The rows of earlier batches that buckets want."""
        rows = self.folder.read(self.spark, before_batch, wanted.buckets)
        return self.stored.of(self.times.wanted(rows, wanted), self.buckets, HISTORY)


def released_copy(
    spark: SparkSession, path: str, correlation: SparkCorrelation, arriving: PackedRows, buckets: int
) -> ReleasedCopy:
    """The copy of the archive rows of a correlation, in the folder `path`."""
    names = {name: travelling_name(i) for i, name in enumerate(arriving.columns)}
    keys = tuple(names[name] for name in correlation.archive_keys)
    clock, kinds = (
        correlation.clocks.archive.start,
        correlation.archive.df.select(*map(F.expr, arriving.columns.values())).schema,
    )
    columns = [s.StructField(name, field.dataType) for name, field in zip(names.values(), kinds.fields, strict=True)]
    return ReleasedCopy(
        spark=spark,
        folder=ArchiveFolder(path, s.StructType(columns), names[clock]),
        arriving=arriving,
        stored=PackedRows(names, keys, arriving.schema),
        times=ArchiveTimes(keys, names[clock], correlation.archive.source.column_types[clock], is_stored=True),
        buckets=buckets,
    )
