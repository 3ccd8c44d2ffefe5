"""`rules=` of a call -> the change log: a stream of JSON texts, or texts that are known before the stream starts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.calls.options import a_path, shown
from ostinato.errors import QueryError
from ostinato.rows.arrow_tables import is_spark_dataframe
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import FIELDS
from ostinato.rule_sets.rule_set import RuleSet
from ostinato.rule_sets.rules_in_force import RuleBook
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.spark_input import SparkRefused
from ostinato.spark.streams.stream_checks import WATERMARK
from ostinato.spark.streams.stream_operator import CHANGE
from ostinato.spark.streams.stream_packing import BUCKET

_REQUIRED = ("id", "version", "text")
_OLDEST = "36500d"
_TEXTS = ("id", "text", "options")


@dataclass(frozen=True, slots=True)
class RuleLog:
    """The changes that arrive while the stream runs, and those that are there at its start."""

    arriving: DataFrame | None
    """One column with JSON texts."""
    fixed: tuple[str, ...] = ()

    def for_buckets(self, buckets: int) -> DataFrame | None:
        """Every change once for each bucket."""
        if self.arriving is None:
            return None
        numbers = F.explode(F.sequence(F.lit(0), F.lit(buckets - 1)))
        return self.arriving.select(numbers.alias(BUCKET), F.col(CHANGE))


def rule_log(rules: Any, spark: SparkSession, declared: Declaration) -> RuleLog:
    """`rules` is the path of a folder of changes, or a DataFrame with a change in each row. Raises the error of a
    static table with a rule that is wrong: it is known before the stream starts."""
    if is_spark_dataframe(rules):
        changes = _as_json(rules)
        if not rules.isStreaming:
            return RuleLog(None, table_in_force([row[0] for row in changes.collect()], declared))
        _check_no_watermark(rules)
        return RuleLog(changes)
    if not isinstance(rules, str | os.PathLike):
        hint = 'the path of a folder, spark.table("rules"), or spark.readStream.table("rules")'
        raise QueryError("INVALID_OPTION", f"rules is a folder or a DataFrame, not {shown(rules)}", hint=hint)
    return RuleLog(_read_folder(a_path("rules", rules), spark))


def _read_folder(folder: str, spark: SparkSession) -> DataFrame:
    """Every file is one change. Its whole text travels: the worker reports a file that it can't read."""
    reader = spark.readStream.format("text").option("wholetext", True).option("pathGlobFilter", "*.json")
    reader = reader.option("maxFileAge", _OLDEST)  # otherwise a late start ignores files a week older than the newest
    with without_error_log():
        try:
            return reader.load(folder).select(F.col("value").alias(CHANGE))
        except SparkRefused as error:
            raise QueryError(
                "RULES_NOT_READABLE",
                f"the folder of rules can't be read: {str(error).splitlines()[0]}",
                hint="make the folder first; ost.write_rule does so, too",
            ) from None


def _as_json(rules: DataFrame) -> DataFrame:
    types = {field.name: field.dataType for field in rules.schema.fields}
    missing = [name for name in _REQUIRED if name not in types]
    if missing:
        raise QueryError(
            "UNKNOWN_COLUMN",
            f"the table of rules has no column '{missing[0]}'",
            hint="its columns are id, version, text, and perhaps enabled and options",
        )
    columns = [_column(name, types[name]).alias(name) for name in FIELDS if name in types]
    return rules.select(F.to_json(F.struct(*columns)).alias(CHANGE))


def _column(name: str, kind: s.DataType) -> Column:
    """Spark casts nothing that may fail: the error would stop the stream for all rules. The worker rejects the row."""
    column = F.col(f"`{name}`")
    if name == "options" and isinstance(kind, s.MapType | s.StructType):
        return F.to_json(column)
    return column.cast("string") if name in _TEXTS and isinstance(kind, _ALWAYS_A_TEXT) else column


_ALWAYS_A_TEXT = (s.StringType, s.BinaryType, s.NumericType, s.BooleanType, s.DatetimeType)
"""Types of which Spark casts every value to a text."""


def _check_no_watermark(rules: DataFrame) -> None:
    """Spark's watermark of a stream is the earliest of its sources: rules that seldom come would hold it back."""
    column = next((field.name for field in rules.schema.fields if WATERMARK in (field.metadata or {})), None)
    if column is not None:
        raise QueryError(
            "STREAM_NOT_SUPPORTED",
            f"the rules have a watermark, on the column '{column}': the rows would wait for the next rule",
            hint="read the rules without withWatermark",
        )


def table_in_force(changes: list[str], declared: Declaration) -> tuple[str, ...]:
    """The rules of a static table that are in force, and the removals. Raises the first error of a rule that would be
    rejected; wrong versions below the one in force don't matter."""
    applied = RuleBook(declared).apply(RuleSet(), changes)
    for rejection in applied.rejected:
        error = rejection.error
        which = "a rule" if rejection.rule is None else f"the rule '{rejection.rule}' (version {rejection.version})"
        error.message = f"{which}: {error.message}"
        raise error
    return tuple(record.change.to_json() for _, record in sorted(applied.rules.records.items()))
