"""`ost.upsert`: a function for foreachBatch that writes every match once, whatever is replayed.

A folder of Parquet files only grows: a batch reads the keys that its days have, and adds the rows that are new or later
versions. Each write has folders of its own, so a killed write leaves nothing that a later one could mix with its own
files (docs/decisions/028). A table that supports MERGE (Delta, Iceberg) gets the MERGE statement.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as s

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_path, column_names, one_of
from ostinato.errors import OstinatoError, QueryError, carried, did_you_mean
from ostinato.expressions.render import quote
from ostinato.rows.column_names import PREFIX
from ostinato.spark.session.session_settings import check_spark
from ostinato.spark.sinks.merge_text import (
    WRITE,
    Versions,
    checked_key,
    checked_status,
    checked_unique,
    merge_statement,
)
from ostinato.streams.stream_settings import WITHDRAWN

TargetFormat = Literal["parquet", "table"]
DAY = "upsert_day"
"""The column of the target's outer folders: the UTC day of `time`. In it, each write has a folder (WRITE)."""
_GLOB = re.compile(r"[\\*?\[\]{}]")
_ROW_NUMBER = f"{PREFIX}row_number"
_MOST_DAYS = 1_000
"""Days of one batch whose folders are read apart from the others. A batch with more reads all folders."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """For `writeStream.foreachBatch(...)`. Made by `ost.upsert`."""

    target: str
    versions: Versions
    time: str | None
    format: TargetFormat

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch. A repeated call with the same rows adds only what is missing."""
        try:
            self._write(batch, batch_id)
        except OstinatoError as error:
            error.add_note(carried(error))  # Spark makes a text of the traceback, and `unwrap` reads the note there
            raise

    @only_our_errors()
    def _write(self, batch: DataFrame, batch_id: int) -> None:
        self._check_columns(batch)
        newest = self._newest(batch.withColumn(WRITE, f.lit(f"b{batch_id:020d}-{uuid4().hex[:12]}")))
        if self.format == "table":
            self._merge(newest.drop(WRITE))
            return
        rows = newest.persist()  # otherwise the stream's plan would run once for each action
        try:
            self._append(rows)
        finally:
            rows.unpersist()

    @only_our_errors()
    def read(self, spark: SparkSession) -> DataFrame:
        """The latest version of every row, without the columns of the folders and without withdrawn early results.

        >>> matches = upsert("/data/matches", key="run_id", status="status")
        >>> matches.read(spark)  # doctest: +SKIP
        """
        check_spark(spark)
        if self.format == "table":
            return spark.table(self.target)
        rows = self._latest(spark.read.option("mergeSchema", "true").parquet(self._pattern)).drop(*self._folders)
        status = self.versions.status
        return rows if status is None else rows.where(f"{quote(status)} <> '{WITHDRAWN}'")

    @only_our_errors()
    def statement(self, columns: Sequence[str], source: str = "batch") -> str:
        """The MERGE statement for a table, from a view with these columns.

        >>> print(upsert("matches", format="table").statement(["match_id"]).splitlines()[0])
        MERGE INTO matches AS target USING batch AS source
        """
        return merge_statement(self.target, source, columns, self.versions, self.time)

    @property
    def _folders(self) -> tuple[str, ...]:
        return (WRITE,) if self.time is None else (DAY, WRITE)

    @property
    def _pattern(self) -> str:
        """The target as Spark reads it: some characters of a path would be a pattern."""
        return _GLOB.sub(r"\\\g<0>", self.target)

    def _check_columns(self, batch: DataFrame) -> None:
        names = batch.columns
        for name in (*self.versions.columns, *(() if self.time is None else (self.time,))):
            if name not in names:
                hint = did_you_mean(name, names)
                raise QueryError("UNKNOWN_COLUMN", f"the rows to write have no column '{name}'", hint=hint)
        for name in names:
            if name.lower() in (DAY, WRITE):  # columns of Spark have no case
                message = f"the rows have a column '{name}', which is the name of the target's folders"
                raise QueryError("RESERVED_NAME", message, hint="rename the column")

    def _newest(self, batch: DataFrame) -> DataFrame:
        """The rows with their keys checked, one for each key."""
        checked = {name: f.expr(checked_key(name)) for name in self.versions.key}
        if self.versions.status is not None:
            checked[self.versions.status] = f.expr(checked_status(self.versions.status))
        rows = batch.withColumns(checked)
        if self.versions.is_single:  # later versions of a row differ; here they would be other rows
            name = self.versions.key[0]
            rows = rows.withColumn(name, f.expr(checked_unique(name, self.versions.key)))
        return self._latest(rows)

    def _latest(self, rows: DataFrame) -> DataFrame:
        """The latest version of each key."""
        keys = list(self.versions.key)
        if self.versions.is_single:
            return rows.dropDuplicates(keys)
        partition = ", ".join(map(quote, keys))
        number = f"row_number() OVER (PARTITION BY {partition} ORDER BY {self.versions.newest_first()})"
        return rows.withColumn(_ROW_NUMBER, f.expr(number)).where(f"{_ROW_NUMBER} = 1").drop(_ROW_NUMBER)

    # --- a folder of Parquet files ------------------------------------------------------------------------------------

    def _append(self, rows: DataFrame) -> None:
        """Adds the rows that the target lacks, or has in an earlier version."""
        if rows.isEmpty():
            return
        days: list[str | None] | None = None
        if self.time is not None:
            rows = rows.withColumn(DAY, f.expr(_utc_day(rows, self.time)))
            # As texts: Python has no dates after the year 9999.
            days = [row[0] for row in rows.select(f.col(DAY).cast("string")).distinct().limit(_MOST_DAYS + 1).collect()]
        there = self._there(rows, days)
        new = rows if there is None else self._without(rows, there)
        writer = new.write.mode("overwrite").partitionBy(*self._folders)
        # In this mode a write has a hidden folder of its own until it ends. It replaces nothing: its folders are new.
        writer.option("partitionOverwriteMode", "dynamic").parquet(self.target)

    def _there(self, rows: DataFrame, days: list[str | None] | None) -> DataFrame | None:
        """Keys and versions of the rows that the target has for these days; None if there are no files."""
        compared = [field for field in rows.schema.fields if field.name in self.versions.columns]
        folders = {DAY: s.DateType(), WRITE: s.StringType()}
        schema = s.StructType([*compared, *(s.StructField(name, folders[name]) for name in self._folders)])
        path = self._pattern
        if days is not None and len(days) <= _MOST_DAYS:
            # A pattern matches the folders that exist. A list of folders would have to exist as a whole.
            path = f"{path}/{DAY}={{{','.join(map(_folder_name, days))}}}"
        try:
            there = rows.sparkSession.read.schema(schema).option("basePath", self.target).parquet(path)
            there.schema  # noqa: B018 - Connect reads the folder here
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return None
            raise
        return self._latest(there)

    def _without(self, rows: DataFrame, there: DataFrame) -> DataFrame:
        """The rows that are new, or later versions."""
        is_there = f.expr(self.versions.is_there("new", "there"))
        return rows.alias("new").join(there.alias("there"), is_there, "anti")

    # --- a table that supports MERGE ----------------------------------------------------------------------------------

    def _merge(self, rows: DataFrame) -> None:
        view = f"{PREFIX}{uuid4().hex}"
        session = rows.sparkSession
        rows.createOrReplaceTempView(view)
        try:
            session.sql(self.statement(rows.columns, view))
        finally:
            session.catalog.dropTempView(view)


def _utc_day(rows: DataFrame, time: str) -> str:
    """An expression: the UTC day of a time column. It doesn't depend on the session's time zone."""
    kind = rows.schema[time].dataType
    match kind:
        case s.TimestampType():
            us, day_us = f"unix_micros({quote(time)})", 86_400_000_000
            return f"date_from_unix_date(CAST(({us} - pmod({us}, {day_us})) DIV {day_us} AS INT))"
        case s.TimestampNTZType() | s.DateType():
            return f"CAST({quote(time)} AS DATE)"
    raise QueryError("INVALID_TIME", f"time names '{time}', which is {kind.simpleString().upper()} and no time")


def _folder_name(day: str | None) -> str:
    """The value of a partition column in a folder's name."""
    return "__HIVE_DEFAULT_PARTITION__" if day is None else day


@only_our_errors()
def upsert(
    target: str | os.PathLike[str],
    *,
    key: str | Sequence[str] = "match_id",
    time: str | None = None,
    status: str | None = None,
    latest_by: str | Sequence[str] | None = None,
    format: TargetFormat = "parquet",
) -> Upsert:
    """Returns a function for `writeStream.foreachBatch(...)` that writes each row once, by its key.

    A micro-batch that is repeated after a kill adds only what is missing, and so does another stream with the same
    matches. `target` is a folder of Parquet files. With `format="table"` it is a table that supports MERGE, such as one
    of Delta.

    `time` names a time column whose value is the same in all rows of a key, such as the start of the match. The folder
    is then partitioned by its day, and a batch reads the keys of its own days only. Without it, a batch reads all keys.

    Rows of a key can change. With `latest_by`, the row with the greatest value of these columns wins. `status` is the
    column of early results (`emit="early"`): a later batch replaces a row, until it is final. `.read(spark)` gives the
    latest rows, without withdrawn ones.

    >>> matches = upsert("/data/matches", key="match_id", time="began")
    >>> query = df.writeStream.foreachBatch(matches).start()  # doctest: +SKIP
    """
    keys = column_names("key", key)
    if not keys:
        raise QueryError("INVALID_OPTION", "key names the columns that identify a row", hint='key="match_id"')
    times, statuses = column_names("time", time), column_names("status", status)
    for name, several in (("time", times), ("status", statuses)):
        if len(several) > 1:
            raise QueryError("INVALID_OPTION", f"{name} names one column, not {len(several)}")
    versions = Versions(keys, next(iter(statuses), None), column_names("latest_by", latest_by))
    if versions.status is not None and versions.latest_by:
        message = "status orders the versions of a row by itself: it can't stand beside latest_by"
        raise QueryError("INVALID_OPTION", message, hint="leave one of the two out")
    return Upsert(
        a_path("target", target),
        versions,
        next(iter(times), None),
        one_of("format", format, get_args(TargetFormat)),
    )
