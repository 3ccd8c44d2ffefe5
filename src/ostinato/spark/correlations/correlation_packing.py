"""Rows of a stream, of its archive and of its state on their way to the buckets of keys, and what comes back.

All of it is one table of (bucket, kind, pack): rows travel as Arrow bytes, as in docs/decisions/010.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.shipping.shipped_rows import ShippedRows, travelling_name
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_operator import PACKED_TYPE, bucket_of
from ostinato.spark.streams.stream_packing import BUCKET, ROWS, PackByBucket

KIND, PACK, LATEST = f"{PREFIX}kind", f"{PREFIX}pack", f"{PREFIX}latest"
STATE, LIVE_ROWS, ARCHIVE_ROWS, HISTORY, PAIRS, WANTED, DEFINITION = range(7)
"""What a pack holds."""
NO_BUCKET = -1
"""Where the definition is kept."""
ARCHIVE_COUNT = "archive_rows"
"""How many rows of another table as archive a bucket took in."""
COUNTS = (
    "rows",
    "late_rows",
    ARCHIVE_COUNT,
    "live_matches",
    "archive_matches",
    "results",
    "buffered_rows",
    "cached_entries",
)
"""What a bucket met in a batch, in the row with its state."""

SENT = s.StructType(
    [
        s.StructField(BUCKET, s.IntegerType()),
        s.StructField(KIND, s.ByteType()),
        s.StructField(PACK, s.BinaryType()),
        s.StructField(LATEST, s.LongType()),
    ]
)
"""What buckets get. LATEST goes with a state: the latest time that the bucket has met."""
STEPPED = s.StructType(
    [
        *SENT.fields,
        *(s.StructField(name, s.LongType()) for name in COUNTS),
        s.StructField(ERROR, s.StringType()),
    ]
)
"""What buckets give."""


@dataclass(frozen=True, slots=True)
class PackedRows:
    """How rows of one table are packed: SQL of each column by the name under which it arrives, SQL of the keys."""

    columns: Mapping[str, str]
    keys: tuple[str, ...]
    schema: pa.Schema

    def of(self, df: DataFrame, buckets: int, kind: int) -> DataFrame:
        """The rows as SENT."""
        shipped = (F.expr(text).alias(travelling_name(i)) for i, text in enumerate(self.columns.values()))
        rows = df.select(self.bucket(buckets), *shipped).mapInArrow(Checked(PackByBucket(self.schema)), PACKED_TYPE)
        return rows.select(BUCKET, F.lit(kind).cast("byte").alias(KIND), ROWS, F.lit(None).cast("long")).toDF(
            *SENT.names
        )

    def bucket(self, buckets: int) -> Column:
        """The bucket that a row's key is in, of the table's own columns."""
        return bucket_of([F.expr(text) for text in self.keys], buckets).alias(BUCKET)


def live_packing(asked: SparkCorrelation) -> PackedRows:
    """Of the stream's rows; where these are their own archive, with what that side needs."""
    columns = asked.travelling.shared_columns if asked.shared else asked.live.shipped.columns
    return _packing(asked.live, columns, [one for one, _ in asked.plan.keys])


def archive_packing(asked: SparkCorrelation) -> PackedRows:
    """Of the archive's rows."""
    if asked.shared:
        return live_packing(asked)
    return _packing(asked.archive, asked.archive.shipped.columns, asked.archive_keys)


def _packing(query: SparkQuery, columns: Mapping[str, str], keys: Sequence[str]) -> PackedRows:
    schema = ShippedRows.of(query.source, columns).schema
    return PackedRows(dict(columns), tuple(columns[name] for name in keys), schema)
