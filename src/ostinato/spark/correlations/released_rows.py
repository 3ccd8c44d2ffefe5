"""The rows of another table that a stream has released as its archive: a copy in the checkpoint, and their counts.

Rows may reach that table behind the watermark. A stream never takes them in, so it must not meet them when it reads
older rows back. Where `recent_rows` makes it read back, it therefore keeps a copy of the rows that it took in, and
reads only this copy. The counts show how many rows have come too late.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_packing import ARCHIVE_ROWS, HISTORY, PackedRows
from ostinato.spark.correlations.stream_archive import ArchiveFolder, ArchiveTimes
from ostinato.spark.correlations.wanted_rows import Wanted
from ostinato.spark.shipping.shipped_rows import travelling_name
from ostinato.streams.stored_state import reading

COUNTED_BATCHES = 32
"""Late rows are counted whose times lie between the watermarks of so many batches; older ones are not looked for."""


class Released(NamedTuple):
    """The rows of the archive that one batch took in: those later than `after`, up to `until`."""

    after: int | None
    until: int
    rows: int


def released_to_json(released: tuple[Released, ...]) -> str:
    return json.dumps(released)


def released_from_json(text: str | None) -> tuple[Released, ...]:
    """None: nothing was released."""
    with reading("the counts of the archive in the state of this correlation"):
        return () if text is None else tuple(Released(*one) for one in json.loads(text))


def late_archive_rows(archive: DataFrame, times: ArchiveTimes, released: tuple[Released, ...]) -> int:
    """The rows that stand in the archive now, and did not when the batches of their times took its rows in."""
    if not released:
        return 0
    there = times.released(archive, released[0].after, released[-1].until).count()
    return int(max(there - sum(one.rows for one in released), 0))


@dataclass(frozen=True, slots=True)
class ReleasedCopy:
    """The copy: the columns that travel to the buckets, by batch and bucket, as an archive that a stream writes."""

    spark: SparkSession
    folder: ArchiveFolder
    arriving: PackedRows
    """How rows of the table itself are packed."""
    stored: PackedRows
    """How rows of the copy are packed."""
    times: ArchiveTimes
    buckets: int

    def write(self, rows: DataFrame, batch: int) -> None:
        """Puts the rows of a batch in the place of what an earlier run of the same batch wrote."""
        columns = zip(self.arriving.columns.values(), self.stored.columns.values(), strict=True)
        copied = rows.select(*(F.expr(text).alias(name) for text, name in columns))
        self.folder.write(copied, batch, self.stored.bucket(self.buckets), self.times.keys)

    def of_batch(self, batch: int) -> DataFrame:
        """The rows of one batch, as buckets get them."""
        return self.stored.of(self.folder.read_batch(self.spark, batch), self.buckets, ARCHIVE_ROWS)

    def history(self, wanted: Wanted, before_batch: int) -> DataFrame:
        """The rows of earlier batches that buckets want."""
        rows = self.folder.read(self.spark, before_batch, wanted.buckets)
        return self.stored.of(self.times.wanted(rows, wanted), self.buckets, HISTORY)


def released_copy(
    spark: SparkSession, path: str, asked: SparkCorrelation, arriving: PackedRows, buckets: int
) -> ReleasedCopy:
    """The copy of what `asked` has released, in the folder `path`."""
    names = {name: travelling_name(i) for i, name in enumerate(arriving.columns)}
    keys = tuple(names[name] for name in asked.archive_keys)
    clock, kinds = asked.clocks.archive.start, asked.archive.df.select(*map(F.expr, arriving.columns.values())).schema
    columns = [s.StructField(name, field.dataType) for name, field in zip(names.values(), kinds.fields, strict=True)]
    return ReleasedCopy(
        spark=spark,
        folder=ArchiveFolder(path, s.StructType(columns), names[clock]),
        arriving=arriving,
        stored=PackedRows(names, keys, arriving.schema),
        times=ArchiveTimes(keys, names[clock], asked.archive.source.column_types[clock], is_stored=True),
        buckets=buckets,
    )
