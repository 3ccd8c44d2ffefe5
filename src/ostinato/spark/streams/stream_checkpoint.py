"""A checkpoint's folder -> the state of Ostinato's operators in it, through Spark's own state reader."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.calls.options import a_path
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.column_names import ERROR
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.session.session_settings import check_spark, session_settings
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import ArrowTask, Checked
from ostinato.spark.streams.stream_buckets import (
    BUCKET_STATE,
    DEFINITION,
    HEADER,
    OPEN_HERE,
    OPEN_ROWS,
    WAITING,
    WAITING_HERE,
)
from ostinato.spark.streams.stream_packing import BUCKET
from ostinato.streams.stored_state import reading

_WATERMARK_MS = "batchWatermarkMs"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One of our operators in a checkpoint, as of its last committed batch."""

    spark: SparkSession
    path: str
    operator: int
    batch: int
    is_settled: bool
    """Whether no later batch was begun."""

    def variable(self, name: str, *, by_entry: bool = False) -> DataFrame:
        """The values of one state variable: `key`, and `value` or `list_value`.

        `by_entry`: a row for each entry of a map, with `user_map_key` and `user_map_value`.
        """
        reader = self.spark.read.format("statestore").option("operatorId", self.operator).option("batchId", self.batch)
        return reader.option("stateVarName", name).option("flattenCollectionTypes", by_entry).load(self.path)

    def definition(self) -> str:
        """The query's definition as JSON: the latest one that a bucket stores."""
        row = self.variable(DEFINITION).select("value.json", "value.since_batch").orderBy(F.desc("since_batch")).first()
        if row is None:
            raise QueryError("NO_STATE", f"the stream of {self.path} has seen no rows yet")
        return str(row[0])

    def watermark_us(self) -> int:
        """The watermark of the last committed batch; NO_TIME before the first one. Spark's log has it as JSON."""
        lines = self.spark.read.text(f"{self.path.rstrip('/')}/offsets/{self.batch}").collect()
        with reading("the log of this stream's offsets"):
            watermark_ms = next(json.loads(line[0])[_WATERMARK_MS] for line in lines if _WATERMARK_MS in line[0])
            return int(watermark_ms) * 1000 if watermark_ms > 0 else NO_TIME

    def buckets(self, *, with_definition: bool = False) -> DataFrame:
        """One row for each bucket: its number, its header, and its segments as arrays that may be NULL.

        `with_definition`: also the definition that the state belongs to, which may be older than `definition()`.
        """
        beside_header = {OPEN_ROWS: OPEN_HERE, WAITING: WAITING_HERE}
        values = [F.col(f"value.{name}") for name in (HEADER, *beside_header.values())]
        frame = self.variable(BUCKET_STATE).select(bucket_number(), *values)
        for name, here in beside_header.items():
            listed = self.variable(name).select(bucket_number(), F.col("list_value.segment").alias(name))
            segments = F.when(F.size(here) > 0, F.col(here)).otherwise(F.col(name))
            frame = frame.join(listed, BUCKET, "left").withColumn(name, segments).drop(here)
        if not with_definition:
            return frame
        definitions = self.variable(DEFINITION).select(bucket_number(), F.col("value.json").alias(DEFINITION))
        return frame.join(definitions, BUCKET, "left")


def bucket_number() -> Column:
    """The bucket of a row of the state reader."""
    return F.col(f"key.{BUCKET}").alias(BUCKET)


def with_errors_raised(buckets: DataFrame, task: ArrowTask, schema: s.StructType) -> DataFrame:
    """The rows that the task returns for the buckets, with the schema's columns. Raises an error that it returns."""
    with_error = s.StructType([*schema.fields, s.StructField(ERROR, s.StringType())])
    return buckets.mapInArrow(Checked(task), with_error).where(RAISES).drop(ERROR)


def check_folder(spark: Any, checkpoint: Any) -> str:
    """The checkpoint's folder as text. Also checks that `spark` is a session."""
    check_spark(spark)
    return a_path("checkpoint", checkpoint)


def open_checkpoint(spark: SparkSession, path: str, operator: int | None = None) -> Checkpoint:
    """Raises NO_STATE if there is no operator of Ostinato, AMBIGUOUS_STATE if there are several."""
    ours, committed = _our_operators(spark, path), last_batch(spark, path, "commits")
    if committed is None and (ours or _is_checkpoint(spark, path)):
        hint = "ask again after its first micro-batch"
        raise QueryError("NO_STATE", f"the stream of {path} has committed no batch yet", hint=hint)
    if not ours or committed is None:
        raise QueryError("NO_STATE", f"{path} isn't the checkpoint of one of Ostinato's streams")
    if operator is None:
        if len(ours) > 1:
            names = ", ".join(map(str, ours))
            raise QueryError(
                "AMBIGUOUS_STATE",
                f"the stream of {path} has {len(ours)} operators of Ostinato: {names}",
                hint="name one of them: operator=...; the last in the query has the lowest number",
            )
        operator = ours[0]
    elif operator not in ours:
        raise QueryError("NO_STATE", f"operator {operator} of {path} isn't one of Ostinato's: {ours}")
    begun = last_batch(spark, path, "offsets")
    return Checkpoint(spark, path, operator, committed, is_settled=begun == committed)


def check_session(spark: SparkSession, then: Settings) -> None:
    """Raises SETTINGS_DIFFER. This session computes the measures, so it needs the settings of the stream's session."""
    now = session_settings(spark.range(0))
    # The stored clause is rendered, so the setting for double quotes doesn't matter.
    if replace(now, double_quoted_identifiers=then.double_quoted_identifiers) != then:
        raise QueryError(
            "SETTINGS_DIFFER",
            f"the stream ran with ANSI mode {_on(then.ansi)}, time zone {then.timezone} and case-sensitive names"
            f" {_on(then.case_sensitive)}; this session has {_on(now.ansi)}, {now.timezone}, {_on(now.case_sensitive)}",
            hint="set spark.sql.ansi.enabled, spark.sql.session.timeZone and spark.sql.caseSensitive as they were",
        )


def _on(setting: bool) -> str:
    return "on" if setting else "off"


def _our_operators(spark: SparkSession, path: str) -> list[int]:
    with without_error_log():
        try:
            rows = spark.read.format("state-metadata").load(path).select("operatorId", "operatorProperties").collect()
        except PySparkException as error:
            raise QueryError(
                "NO_STATE", f"{path} isn't the checkpoint of a stream with state", hint=str(error).split("\n")[0]
            ) from None
    return sorted({row[0] for row in rows if _is_ours(row[1])})


def _is_ours(properties: str) -> bool:
    return all(name in properties for name in (BUCKET_STATE, OPEN_ROWS, WAITING, DEFINITION))


def last_batch(spark: SparkSession, path: str, log: str) -> int | None:
    """The highest batch number in a log of the checkpoint (`offsets`, `commits`), whose files have these names."""
    return max((int(name) for name in _files(spark, path, log) if name.isdigit()), default=None)


def _is_checkpoint(spark: SparkSession, path: str) -> bool:
    """Whether Spark began a stream here. It writes the file `metadata` first."""
    return bool(_files(spark, path, "metadata"))


def _files(spark: SparkSession, path: str, name: str) -> list[str]:
    """The names of the files in a folder of the checkpoint, or of one file; empty if there is none."""
    with without_error_log():
        try:
            rows = spark.read.format("binaryFile").load(f"{path.rstrip('/')}/{name}").select("path").collect()
        except AnalysisException:  # the path doesn't exist
            return []
    return [row[0].rpartition("/")[2] for row in rows]
