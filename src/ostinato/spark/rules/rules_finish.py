"""The state of a stream of rules -> the rows that the end of input would give, and the rules with their open runs."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_stream import named, rules_task, stored_schema
from ostinato.spark.rules.rules_task import RULES, FinishRules, OpenRules
from ostinato.spark.streams.stream_checkpoint import Checkpoint, bucket_number, with_errors_raised
from ostinato.spark.streams.stream_packing import BUCKET


def finished_rules(definition: RulesDefinition, opened: Checkpoint) -> DataFrame:
    """The last rows of the rules in force."""
    task = FinishRules(rules_task(definition))
    return named(with_errors_raised(_buckets(opened), task, stored_schema(definition)), definition)


def open_rules(definition: RulesDefinition, opened: Checkpoint) -> DataFrame:
    """The rules in force or suspended, and for each automaton state the keys that have an open partial match there."""
    schema = s.StructType(
        [
            s.StructField("rule", s.StringType()),
            s.StructField("version", s.LongType()),
            s.StructField("status", s.StringType()),
            s.StructField("state", s.IntegerType()),
            s.StructField("variable", s.StringType()),
            s.StructField("keys", s.LongType()),
        ]
    )
    rows = with_errors_raised(_buckets(opened), OpenRules(rules_task(definition)), schema)
    *names, keys = schema.names
    return rows.groupBy(*names).agg(F.sum(keys).alias(keys))


def kept_keys(definition: RulesDefinition, opened: Checkpoint) -> DataFrame:
    """The keys that rules keep, and their rows, by rule and reason."""
    names = {"rule": s.StringType(), "version": s.LongType(), "reason": s.StringType()}
    counts = {"keys": s.LongType(), "rows": s.LongType()}
    schema = s.StructType([s.StructField(name, kind) for name, kind in (names | counts).items()])
    rows = with_errors_raised(_buckets(opened), OpenRules(rules_task(definition), by_reason=True), schema)
    return rows.groupBy(*names).agg(*(F.sum(count).alias(count) for count in counts))


def _buckets(opened: Checkpoint) -> DataFrame:
    """The buckets with their rules."""
    rules = opened.variable(RULES).select(bucket_number(), F.col(f"value.{RULES}").alias(RULES))
    return opened.buckets().join(rules, BUCKET, "left")
