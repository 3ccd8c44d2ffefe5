"""The older rows that buckets want from the archive: their packs in the checkpoint -> a table of keys and times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.rows.column_names import PREFIX
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.streams.stream_packing import unpack_table

FROM, TO, ROWS_BEFORE = "from_us", "to_us", "rows_before"
"""For each key: the range of times (the end is excluded), and the number of rows before the range."""


@dataclass(frozen=True, slots=True)
class WantedSchema:
    """The columns of wanted rows: the archive's keys, numbered, then times and a count."""

    spark: s.StructType
    arrow: pa.Schema


def wanted_schema(correlation: SparkCorrelation) -> WantedSchema:
    query = correlation.archive
    keys = [
        s.StructField(wanted_key(i), query.source.column_types[name]) for i, name in enumerate(correlation.archive_keys)
    ]
    numbers = [s.StructField(name, s.LongType()) for name in (FROM, TO, ROWS_BEFORE)]
    schema = s.StructType([*keys, *numbers])
    return WantedSchema(schema, query.source.arrow_schema(schema))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that all buckets of a batch want."""

    rows: pa.Table
    buckets: frozenset[int]
    schema: WantedSchema

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
        return spark.createDataFrame(self.rows, self.schema.spark)


def read_wanted(packs: Iterable[tuple[int, bytes]], schema: WantedSchema) -> Wanted | None:
    """The packs of all buckets as one table; None: nothing is wanted."""
    by_bucket = list(packs)
    if not by_bucket:
        return None
    rows = unpack_table([bytes(pack) for _, pack in by_bucket], schema.arrow)
    return Wanted(rows, frozenset(bucket for bucket, _ in by_bucket), schema)


def wanted_key(i: int) -> str:
    """The column of the archive's key with this number. The prefix avoids clashes with columns of its rows."""
    return f"{PREFIX}wanted{i}"
