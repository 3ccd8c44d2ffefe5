"""The archive of a correlation on a stream: a folder that the same query writes, or any table.

The folder has a sub-folder for each batch, which is overwritten if the batch runs again, so it has every row once.
Inside is a sub-folder for each bucket of keys, with files sorted by key and time: a read by bucket and time range opens
few files (`archive/batch_id=7/bucket=3/part-....parquet`). The files also have the time as an integer, because Parquet
has no statistics for timestamps as Spark writes them by default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.correlations.task.wanted_schema import FROM, ROWS_BEFORE, TO, wanted_key
from ostinato.errors import QueryError
from ostinato.expressions.render import quote
from ostinato.rows.column_names import PREFIX
from ostinato.spark.correlations.correlation_clock import as_constant, as_number, is_later
from ostinato.spark.correlations.wanted_rows import Wanted
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.spark_input import raise_early

BATCH_ID, BUCKET_ID = "batch_id", "bucket"
"""The names of the archive's sub-folders. Archived columns can't have these names."""
CLOCK = f"{PREFIX}clock"
"""The column with a row's time as an integer."""
_RANK = f"{PREFIX}rank"

Source = str | DataFrame | Callable[[SparkSession], DataFrame]
"""A path to Parquet files, a table, or a function that returns the current table."""


@dataclass(frozen=True, slots=True)
class ArchiveFolder:
    """A folder that a stream writes its rows to."""

    path: str
    columns: s.StructType
    time: str
    """The column that orders the rows."""

    def __post_init__(self) -> None:
        reserved = [field.name for field in self.columns.fields if field.name.lower() in (BATCH_ID, BUCKET_ID)]
        if reserved:
            raise QueryError(
                "INVALID_OPTION",
                f"an archive has folders named {BATCH_ID} and {BUCKET_ID}, and the stream has a column {reserved[0]}",
                hint="rename the column before the stream is correlated",
            )

    @property
    def times(self) -> str:
        """SQL of a row's time as an integer."""
        return as_number(quote(self.time), self.columns[self.time].dataType)

    @property
    def stored(self) -> s.StructType:
        """The columns of the files, then those of the sub-folders' names."""
        folders = [s.StructField(BATCH_ID, s.LongType()), s.StructField(BUCKET_ID, s.IntegerType())]
        return s.StructType([*self.columns.fields, s.StructField(CLOCK, s.LongType()), *folders])

    def write(self, rows: DataFrame, batch: int, bucket: Column, keys: Sequence[str]) -> None:
        """Writes the rows of a batch. Overwrites those of an earlier run of the same batch."""
        with_folders = rows.withColumns({CLOCK: F.expr(self.times), BUCKET_ID: bucket}).repartition(BUCKET_ID)
        in_order = with_folders.sortWithinPartitions(BUCKET_ID, *map(quote, keys), CLOCK)
        in_order.write.mode("overwrite").partitionBy(BUCKET_ID).parquet(f"{self.path.rstrip('/')}/{BATCH_ID}={batch}")

    def read(self, spark: SparkSession, before_batch: int, buckets: Collection[int]) -> DataFrame:
        """The rows of earlier batches in some buckets, with their CLOCK. Spark opens no other folder."""
        is_wanted = (F.col(BATCH_ID) < before_batch) & F.col(BUCKET_ID).isin(*buckets)
        return self._rows(spark).where(is_wanted).drop(BATCH_ID, BUCKET_ID)

    def read_batch(self, spark: SparkSession, batch: int) -> DataFrame:
        """The rows of one batch, with their CLOCK."""
        return self._rows(spark).where(F.col(BATCH_ID) == batch).drop(BATCH_ID, BUCKET_ID)

    def _rows(self, spark: SparkSession) -> DataFrame:
        return _or_empty(lambda: spark.read.schema(self.stored).parquet(self.path), spark, self.stored)


def read_source(spark: SparkSession, source: Source, columns: s.StructType) -> DataFrame:
    """The archive's current table. If its path doesn't exist yet, an empty table with these columns."""
    if isinstance(source, DataFrame):
        return source
    if isinstance(source, str):
        return _or_empty(lambda: spark.read.parquet(source), spark, columns)
    return source(spark)


def _or_empty(read: Callable[[], DataFrame], spark: SparkSession, columns: s.StructType) -> DataFrame:
    with without_error_log():
        try:
            rows = raise_early(read())  # if there is no path
        except AnalysisException as error:
            if error.getCondition() not in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
                raise
            return spark.createDataFrame([], columns)
    return rows


@dataclass(frozen=True, slots=True)
class ArchiveTimes:
    """How the archive's rows are read by key and time."""

    keys: tuple[str, ...]
    time: str
    kind: s.DataType
    is_stored: bool = False
    """Whether the rows have their CLOCK."""

    def released(self, rows: DataFrame, after: int | None, until: int | None) -> DataFrame:
        """The rows after `after`, up to `until`. None: no limit."""
        time = quote(self.time)
        later = rows.where(is_later(time, after, self.kind))
        return later if until is None else later.where(f"{time} <= {as_constant(until, self.kind)}")

    def wanted(self, rows: DataFrame, wanted: Wanted) -> DataFrame:
        """The rows that buckets want: for each key, those in a time range and some rows before it."""
        ranges, columns = wanted.frame(rows.sparkSession), [quote(name) for name in rows.columns]
        within = self._between(rows, wanted.first, wanted.last)
        inside = self._of_keys(within, ranges).where(f"{self._number} >= {FROM} AND {self._number} < {TO}")
        inside = inside.select(*columns)
        if not wanted.rows_before:
            return inside
        # Looks twice as far back first: this is mostly enough, and opens few files.
        near = self._before(self._between(rows, 2 * wanted.first - wanted.last, wanted.last), ranges)
        if self._lacks_rows(near, ranges):
            near = self._before(self._between(rows, None, wanted.last), ranges)
        return inside.unionAll(near.select(*columns))

    def _between(self, rows: DataFrame, first: int | None, last: int) -> DataFrame:
        """The rows between two times. The condition uses a column with statistics in the files."""
        time = CLOCK if self.is_stored else quote(self.time)
        kind = s.LongType() if self.is_stored else self.kind
        rows = rows.where(f"{time} <= {as_constant(last, kind)}")
        return rows if first is None else rows.where(f"{time} >= {as_constant(first, kind)}")

    def _before(self, rows: DataFrame, ranges: DataFrame) -> DataFrame:
        """The last rows before each range. If rows at the limit have equal times, all of them are included."""
        by_key = Window.partitionBy(*map(quote, self.keys)) if self.keys else Window.partitionBy(F.lit(0))
        latest_first = by_key.orderBy(F.col(quote(self.time)).desc())
        before = self._of_keys(rows, ranges).where(f"{self._number} < {FROM}")
        return before.withColumn(_RANK, F.rank().over(latest_first)).where(f"{_RANK} <= {ROWS_BEFORE}")

    def _lacks_rows(self, before: DataFrame, ranges: DataFrame) -> bool:
        """Whether a key has fewer rows in `before` than it wants."""
        keys = [wanted_key(i) for i in range(len(self.keys))]
        # Renamed, so that Spark tells the keys of both sides of the join apart.
        counted = before.groupBy(*keys).agg(F.count("*")).toDF(*(f"{key}_counted" for key in keys), _RANK)
        same = [F.col(key).eqNullSafe(F.col(f"{key}_counted")) for key in keys] or [F.lit(True)]
        both = ranges.join(counted, same, "left")
        return bool(both.where(f"coalesce({_RANK}, 0) < {ROWS_BEFORE}").take(1))

    @property
    def _number(self) -> str:
        return CLOCK if self.is_stored else as_number(quote(self.time), self.kind)

    def _of_keys(self, rows: DataFrame, ranges: DataFrame) -> DataFrame:
        """The rows of the wanted keys, with the wanted ranges."""
        same = [F.col(quote(name)).eqNullSafe(F.col(wanted_key(i))) for i, name in enumerate(self.keys)]
        return rows.join(F.broadcast(ranges), same, "inner") if same else rows.crossJoin(ranges)
