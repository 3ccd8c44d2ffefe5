"""Which older rows buckets want of the archive: what they wrote into the checkpoint -> a table of keys and times."""

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
"""For each key: from when, up to before when, and how many rows before that."""


@dataclass(frozen=True, slots=True)
class WantedSchema:
    """The columns of what is wanted: the archive's keys, numbered, then times and a count."""

    spark: s.StructType
    arrow: pa.Schema


def wanted_schema(asked: SparkCorrelation) -> WantedSchema:
    query = asked.archive
    keys = [s.StructField(wanted_key(i), query.source.column_types[name]) for i, name in enumerate(asked.archive_keys)]
    numbers = [s.StructField(name, s.LongType()) for name in (FROM, TO, ROWS_BEFORE)]
    schema = s.StructType([*keys, *numbers])
    return WantedSchema(schema, query.source.arrow_schema(schema))


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that the buckets of a batch want."""

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
    """The packs of all buckets as one; None: nothing is wanted."""
    by_bucket = list(packs)
    if not by_bucket:
        return None
    rows = unpack_table([bytes(pack) for _, pack in by_bucket], schema.arrow)
    return Wanted(rows, frozenset(bucket for bucket, _ in by_bucket), schema)


def wanted_key(i: int) -> str:
    """The column that holds the archive's key of this number: names of ours can't clash with those of its rows."""
    return f"{PREFIX}wanted{i}"
