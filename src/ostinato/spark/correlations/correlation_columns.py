"""The columns of both sides of a correlation: those that are shipped to tasks, and those of the pairs they return.

If both sides read the same rows, these are shipped once. Otherwise the rows of both sides are one DataFrame with a
column that tells them apart, so one shuffle is enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START
from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.correlations.correlation_tasks import Arriving
from ostinato.spark.shipping.shipped_rows import ShippedRows, by_key, travelling_name

IS_LIVE = f"{PREFIX}is_live"


class ShippedSides:
    """The shipped rows of both sides."""

    def __init__(self, live: SparkQuery, archive: SparkQuery, keys: Sequence[tuple[str, str]], *, shared: bool) -> None:
        """`keys`: partition columns that are equal, as (live column, archive column)."""
        self.live = live
        self.archive = archive
        self.keys = tuple(keys)
        self.shared = shared
        self.archive_names = self._archive_names()

    def _archive_names(self) -> dict[str, str]:
        """For each column of the archive side, its name at workers; columns of the live side may be reused."""
        by_text = {text: name for name, text in self.live.shipped.columns.items()}
        names = {}
        for i, (name, text) in enumerate(self.archive.shipped.columns.items()):
            names[name] = by_text.setdefault(text, f"{PREFIX}of_archive{i}") if self.shared else name
        return names

    @property
    def arriving(self) -> Arriving:
        if self.shared:
            return Arriving(tuple(self.shared_columns), ())
        return Arriving(self.live.shipped.names, self.archive.shipped.names)

    @property
    def shared_columns(self) -> dict[str, str]:
        """If rows are shared: the SQL of all shipped columns, by their names at workers."""
        texts = dict(self.live.shipped.columns)
        for name, text in self.archive.shipped.columns.items():
            texts.setdefault(self.archive_names[name], text)
        return texts

    def by_key(self) -> DataFrame:
        """The rows of both sides, all of a key in one task."""
        rows = self._shared() if self.shared else self._both()
        return by_key(rows, [self._key(live, archive) for live, archive in self.keys])

    def _key(self, live: str, archive: str) -> Column:
        """The column to hash for a pair of keys."""
        names = self.live.shipped.names
        key = F.col(travelling_name(names.index(live)))
        if self.shared:
            return key
        other = F.col(travelling_name(len(names) + self.archive.shipped.names.index(archive)))
        return F.when(F.col(IS_LIVE), key).otherwise(other)

    def _shared(self) -> DataFrame:
        return ShippedRows.of(self.live.source, self.shared_columns).selected

    def _both(self) -> DataFrame:
        live = self.live.shipped.selected
        archive = self.archive.shipped.selected
        nothing_live = [F.lit(None).cast(field.dataType) for field in live.schema.fields]
        nothing_archived = [F.lit(None).cast(field.dataType) for field in archive.schema.fields]
        live_rows = live.select(F.lit(True), *live.columns, *nothing_archived)
        archive_rows = archive.select(F.lit(False), *nothing_live, *archive.columns)
        width = len(nothing_live) + len(nothing_archived)
        return live_rows.unionAll(archive_rows).toDF(IS_LIVE, *(travelling_name(i) for i in range(width)))


class PairColumns:
    """The columns of a pair: its times, then the columns of its live match and of its archive match."""

    def __init__(self, live: SparkQuery, archive: SparkQuery, start: s.DataType, end: s.DataType) -> None:
        self.times = [s.StructField(CORRELATION_START, start), s.StructField(CORRELATION_END, end)]
        self.stored: dict[bool, dict[str, s.StructField]] = {
            is_live: {
                field.name: s.StructField(f"{PREFIX}{'l' if is_live else 'a'}{i}", field.dataType)
                for i, field in enumerate(query.worker_schema().fields)
                if field.name != ERROR
            }
            for is_live, query in ((True, live), (False, archive))
        }
        """[is live][column of the side] -> the stored column."""

    @property
    def schema(self) -> s.StructType:
        """The columns in the order of a task's output."""
        return s.StructType([*self.times, *self.stored[True].values(), *self.stored[False].values()])

    @property
    def schema_with_error(self) -> s.StructType:
        return s.StructType([*self.schema.fields, s.StructField(ERROR, s.StringType())])
