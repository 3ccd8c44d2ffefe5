"""`rules=` of a call -> the change log: a stream of JSON texts, or texts that are known before the stream starts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.calls.options import a_path, shown
from ostinato.errors import OstinatoError, QueryError
from ostinato.rows.arrow_tables import is_spark_dataframe
from ostinato.rule_sets.compiled_rule import compile_rule
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import read_change
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.spark_input import SparkRefused
from ostinato.spark.streams.stream_operator import CHANGE
from ostinato.spark.streams.stream_packing import BUCKET

_TYPES = {"id": "string", "version": "bigint", "text": "string", "enabled": "boolean", "options": "string"}
_REQUIRED = ("id", "version", "text")


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


def rule_log(rules: Any, spark: SparkSession) -> RuleLog:
    """`rules` is the path of a folder of changes, or a DataFrame with a change in each row."""
    if is_spark_dataframe(rules):
        changes = _as_json(rules)
        if rules.isStreaming:
            return RuleLog(changes)
        return RuleLog(None, tuple(sorted(row[0] for row in changes.collect())))
    if not isinstance(rules, str | os.PathLike):
        hint = 'the path of a folder, spark.table("rules"), or spark.readStream.table("rules")'
        raise QueryError("INVALID_OPTION", f"rules is a folder or a DataFrame, not {shown(rules)}", hint=hint)
    return RuleLog(_read_folder(a_path("rules", rules), spark))


def _read_folder(folder: str, spark: SparkSession) -> DataFrame:
    """Every file is one change. Its whole text travels: the worker reports a file that it can't read."""
    reader = spark.readStream.format("text").option("wholetext", True).option("pathGlobFilter", "*.json")
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
    columns = [_column(name, types[name]).alias(name) for name in _TYPES if name in types]
    return rules.select(F.to_json(F.struct(*columns)).alias(CHANGE))


def _column(name: str, kind: s.DataType) -> Column:
    if name == "options" and isinstance(kind, s.MapType | s.StructType):
        return F.to_json(F.col(f"`{name}`"))
    return F.col(f"`{name}`").cast(_TYPES[name])


def check_fixed(log: RuleLog, declared: Declaration) -> None:
    """Raises the error of the first fixed rule that is wrong. It is known before the stream starts."""
    for text in log.fixed:
        change = read_change(text)
        try:
            if change.enabled:
                compile_rule(change, declared)
        except OstinatoError as error:
            error.message = f"the rule '{change.id}' (version {change.version}): {error.message}"
            raise
