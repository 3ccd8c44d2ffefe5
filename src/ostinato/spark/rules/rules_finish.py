"""The state of a stream of rules -> the rows that the end of input would give."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_stream import named, rules_task, stored_schema
from ostinato.spark.rules.rules_task import RULES, FinishRules
from ostinato.spark.streams.stream_checkpoint import Checkpoint, bucket_number, with_errors_raised
from ostinato.spark.streams.stream_packing import BUCKET


def finished_rules(definition: RulesDefinition, opened: Checkpoint) -> DataFrame:
    """The last rows of the rules in force."""
    rules = opened.variable(RULES).select(bucket_number(), F.col(f"value.{RULES}").alias(RULES))
    buckets = opened.buckets().join(rules, BUCKET, "left")
    task = FinishRules(rules_task(definition))
    return named(with_errors_raised(buckets, task, stored_schema(definition)), definition)
