"""The older rows that buckets want from the archive: their packs in the checkpoint -> a table of keys and times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.correlations.task.wanted_schema import FROM, ROWS_BEFORE, TO, wanted_schema
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.streams.stream_packing import unpack_table


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that all buckets of a batch want."""

    rows: pa.Table
    buckets: frozenset[int]
    key_types: tuple[s.DataType, ...]
    """Spark's types of the keys, which may be more precise than Arrow's."""

    @property
    def first(self) -> int:
        return int(pc.min(self.rows.column(FROM)).as_py())

    @property
    def last(self) -> int:
        return int(pc.max(self.rows.column(TO)).as_py())

    @property
    def rows_before(self) -> int:
        return int(pc.max(self.rows.column(ROWS_BEFORE)).as_py())

    def frame(self, spark: SparkSession) -> DataFrame:
        numbers = (s.LongType() for _ in (FROM, TO, ROWS_BEFORE))
        types = zip(self.rows.column_names, (*self.key_types, *numbers), strict=True)
        return spark.createDataFrame(self.rows, s.StructType([s.StructField(name, kind) for name, kind in types]))


def read_wanted(packs: Iterable[tuple[int, bytes]], correlation: SparkCorrelation) -> Wanted | None:
    """The packs of all buckets as one table; None: nothing is wanted."""
    by_bucket = list(packs)
    if not by_bucket:
        return None
    source, keys = correlation.archive.source, correlation.archive_keys
    rows = unpack_table([bytes(pack) for _, pack in by_bucket], wanted_schema(map(source.arrow_column, keys)))
    key_types = tuple(source.column_types[name] for name in keys)
    return Wanted(rows, frozenset(bucket for bucket, _ in by_bucket), key_types)
