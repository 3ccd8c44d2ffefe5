"""Where a stream's correlation finds older rows: a folder that the same query writes, or any table.

A folder that the query writes has one part for each batch, which is overwritten when the batch is run again, so rows
are in it exactly once; inside, one for each bucket of keys, with files sorted by key and time, so that a read by bucket
and time range opens little: `archive/batch_id=7/bucket=3/part-....parquet`. The time is there once more as a number:
Parquet keeps no statistics of timestamps in the form in which Spark writes them unless it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.expressions.render import quote
from ostinato.rows.column_names import PREFIX
from ostinato.spark.correlations.correlation_clock import as_constant, as_number, is_later
from ostinato.spark.correlations.wanted_rows import FROM, ROWS_BEFORE, TO, Wanted, wanted_key
from ostinato.spark.session.quiet import without_error_log

BATCH_ID, BUCKET_ID = "batch_id", "bucket"
"""The folders' names; columns of a table that is archived can't have them."""
CLOCK = f"{PREFIX}clock"
"""The column with a row's time as a number."""
_RANK = f"{PREFIX}rank"

Source = str | DataFrame | Callable[[SparkSession], DataFrame]
"""A path to Parquet files, a table, or a function that gives the table as of now."""


@dataclass(frozen=True, slots=True)
class ArchiveFolder:
    """A folder that a stream writes its rows to."""

    path: str
    columns: s.StructType
    time: str
    """The column that orders the rows."""

    def __post_init__(self) -> None:
        taken = [field.name for field in self.columns.fields if field.name.lower() in (BATCH_ID, BUCKET_ID)]
        if taken:
            raise QueryError(
                "INVALID_OPTION",
                f"an archive has folders named {BATCH_ID} and {BUCKET_ID}, and the stream has a column {taken[0]}",
                hint="rename the column before the stream is correlated",
            )

    @property
    def times(self) -> str:
        """SQL of a row's time as a number."""
        return as_number(quote(self.time), self.columns[self.time].dataType)

    @property
    def stored(self) -> s.StructType:
        """The columns of the files, then those of the folders' names."""
        folders = [s.StructField(BATCH_ID, s.LongType()), s.StructField(BUCKET_ID, s.IntegerType())]
        return s.StructType([*self.columns.fields, s.StructField(CLOCK, s.LongType()), *folders])

    def write(self, rows: DataFrame, batch: int, bucket: Column, keys: Sequence[str]) -> None:
        """Puts the rows of a batch in the place of whatever was there under its number."""
        placed = rows.withColumns({CLOCK: F.expr(self.times), BUCKET_ID: bucket}).repartition(BUCKET_ID)
        in_order = placed.sortWithinPartitions(BUCKET_ID, *map(quote, keys), CLOCK)
        in_order.write.mode("overwrite").partitionBy(BUCKET_ID).parquet(f"{self.path.rstrip('/')}/{BATCH_ID}={batch}")

    def read(self, spark: SparkSession, before_batch: int, buckets: Collection[int]) -> DataFrame:
        """The rows of earlier batches in some buckets, with their CLOCK; no other folder is opened."""
        mine = (F.col(BATCH_ID) < before_batch) & F.col(BUCKET_ID).isin(*buckets)
        return self._rows(spark).where(mine).drop(BATCH_ID, BUCKET_ID)

    def read_batch(self, spark: SparkSession, batch: int) -> DataFrame:
        """The rows of one batch, with their CLOCK."""
        return self._rows(spark).where(F.col(BATCH_ID) == batch).drop(BATCH_ID, BUCKET_ID)

    def _rows(self, spark: SparkSession) -> DataFrame:
        return _or_nothing(lambda: spark.read.schema(self.stored).parquet(self.path), spark, self.stored)


def read_source(spark: SparkSession, source: Source, columns: s.StructType) -> DataFrame:
    """The archive's table as it is now; of the given columns and without rows while a path isn't there yet."""
    if isinstance(source, DataFrame):
        return source
    if isinstance(source, str):
        return _or_nothing(lambda: spark.read.parquet(source), spark, columns)
    return source(spark)


def _or_nothing(read: Callable[[], DataFrame], spark: SparkSession, columns: s.StructType) -> DataFrame:
    with without_error_log():
        try:
            found = read()
            _ = found.schema  # Connect looks late: let it show here that there is nothing
        except AnalysisException as error:
            if error.getCondition() not in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
                raise
            return spark.createDataFrame([], columns)
    return found


@dataclass(frozen=True, slots=True)
class ArchiveTimes:
    """How the archive's rows are read by key and time."""

    keys: tuple[str, ...]
    time: str
    kind: s.DataType
    is_stored: bool = False
    """Whether the rows have their CLOCK."""

    def released(self, rows: DataFrame, behind: int | None, until: int | None) -> DataFrame:
        """The rows of the times between two watermarks; up to None: all that are later than the first."""
        time = quote(self.time)
        later = rows.where(is_later(time, behind, self.kind))
        return later if until is None else later.where(f"{time} <= {as_constant(until, self.kind)}")

    def wanted(self, rows: DataFrame, wanted: Wanted) -> DataFrame:
        """The rows that buckets want: for each of their keys those of a range of times, and some rows before it."""
        asked, columns = wanted.frame(rows.sparkSession), [quote(name) for name in rows.columns]
        within = self._between(rows, wanted.first, wanted.last)
        inside = self._of_keys(within, asked).where(f"{self._number} >= {FROM} AND {self._number} < {TO}")
        inside = inside.select(*columns)
        if not wanted.rows_before:
            return inside
        # As far back again as the ranges reach is mostly enough, and keeps most of the archive closed.
        near = self._before(self._between(rows, 2 * wanted.first - wanted.last, wanted.last), asked)
        if self._lacks_rows(near, asked):
            near = self._before(self._between(rows, None, wanted.last), asked)
        return inside.unionAll(near.select(*columns))

    def _between(self, rows: DataFrame, first: int | None, last: int) -> DataFrame:
        """In terms that statistics of files are kept of."""
        time = CLOCK if self.is_stored else quote(self.time)

        kind = s.LongType() if self.is_stored else self.kind
        rows = rows.where(f"{time} <= {as_constant(last, kind)}")
        return rows if first is None else rows.where(f"{time} >= {as_constant(first, kind)}")

    def _before(self, rows: DataFrame, asked: DataFrame) -> DataFrame:
        """The last rows before each range. Those of equal times are all among them, in whatever order they are."""
        by_key = Window.partitionBy(*map(quote, self.keys)) if self.keys else Window.partitionBy(F.lit(0))
        latest_first = by_key.orderBy(F.col(quote(self.time)).desc())
        before = self._of_keys(rows, asked).where(f"{self._number} < {FROM}")
        return before.withColumn(_RANK, F.rank().over(latest_first)).where(f"{_RANK} <= {ROWS_BEFORE}")

    def _lacks_rows(self, before: DataFrame, asked: DataFrame) -> bool:
        """Whether some key has fewer rows there than it wants."""
        keys = [wanted_key(i) for i in range(len(self.keys))]
        # Renamed: Spark would take the keys of both sides of the join for the same.
        counted = before.groupBy(*keys).agg(F.count("*")).toDF(*(f"{key}_counted" for key in keys), _RANK)
        same = [F.col(key).eqNullSafe(F.col(f"{key}_counted")) for key in keys] or [F.lit(True)]
        both = asked.join(counted, same, "left")
        return bool(both.where(f"coalesce({_RANK}, 0) < {ROWS_BEFORE}").take(1))

    @property
    def _number(self) -> str:
        return CLOCK if self.is_stored else as_number(quote(self.time), self.kind)

    def _of_keys(self, rows: DataFrame, asked: DataFrame) -> DataFrame:
        """Rows of the wanted keys with what is wanted of them."""
        same = [F.col(quote(name)).eqNullSafe(F.col(wanted_key(i))) for i, name in enumerate(self.keys)]
        return rows.join(F.broadcast(asked), same, "inner") if same else rows.crossJoin(asked)
