"""The input and the output of buckets: rows of a stream, of its archive and of its state.

Both are tables of (bucket, kind, pack). Rows are packed as Arrow bytes, as in docs/decisions/010.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_packs import KIND, SENT
from ostinato.spark.shipping.shipped_rows import ShippedRows, travelling_name
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_operator import PACKED_TYPE, bucket_of
from ostinato.spark.streams.stream_packing import BUCKET, ROWS, PackByBucket


@dataclass(frozen=True, slots=True)
class PackedRows:
    """How rows of one table are packed: the SQL of each column by its name at workers, and the SQL of the keys."""

    columns: Mapping[str, str]
    keys: tuple[str, ...]
    schema: pa.Schema

    def of(self, df: DataFrame, buckets: int, kind: int) -> DataFrame:
        """The rows as packs of this kind, in the form SENT."""
        shipped = (F.expr(text).alias(travelling_name(i)) for i, text in enumerate(self.columns.values()))
        rows = df.select(self.bucket(buckets), *shipped).mapInArrow(Checked(PackByBucket(self.schema)), PACKED_TYPE)
        no_time = F.lit(None).cast("long")
        return rows.select(BUCKET, F.lit(kind).cast("byte").alias(KIND), ROWS, no_time, no_time).toDF(*SENT.names)

    def bucket(self, buckets: int) -> Column:
        """The bucket of a row, over the table's own columns."""
        return bucket_of([F.expr(text) for text in self.keys], buckets).alias(BUCKET)


def live_packing(correlation: SparkCorrelation) -> PackedRows:
    """The packing of the stream's rows. If they are their own archive, it has the columns of both sides."""
    columns = correlation.sides.shared_columns if correlation.shared else correlation.live.shipped.columns
    return _packing(correlation.live, columns, [live for live, _ in correlation.plan.keys])


def archive_packing(correlation: SparkCorrelation) -> PackedRows:
    """The packing of the archive's rows."""
    if correlation.shared:
        return live_packing(correlation)
    return _packing(correlation.archive, correlation.archive.shipped.columns, correlation.archive_keys)


def _packing(query: SparkQuery, columns: Mapping[str, str], keys: Sequence[str]) -> PackedRows:
    schema = ShippedRows.of(query.source, columns).schema
    return PackedRows(dict(columns), tuple(columns[name] for name in keys), schema)
