"""A streaming DataFrame and a change log of rules -> a streaming DataFrame of what the rules find, in append mode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.errors import QueryError, did_you_mean
from ostinato.expressions import types as t
from ostinato.expressions.render import quote
from ostinato.rule_sets.declaration import RuleKind, RuleLimits
from ostinato.rule_sets.rule_columns import DECIDED, output_schema
from ostinato.spark.rules.rule_log import rule_log
from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_processor import RulesProcessor
from ostinato.spark.rules.rules_task import RulesTask
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.shipped_rows import ShippedRows, stored_name
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.spark.streams.stream_checks import WATERMARK, check_machine, watermark_delay_ms, without_watermark
from ostinato.spark.streams.stream_definition import columns_as_json
from ostinato.spark.streams.stream_operator import through_buckets
from ostinato.streams.stream_settings import Late


@dataclass(frozen=True, slots=True)
class RulesTerms:
    """The declaration of a stream for all its rules."""

    keys: tuple[str, ...]
    time: tuple[str, ...]
    columns: tuple[str, ...] | None
    """The columns that rules may use beside keys and times; None: all."""
    late: Late
    buckets: int
    limits: RuleLimits
    kinds: tuple[RuleKind, ...]
    forget_keys_after: str | None = None


def rules_stream(stream: DataFrame, rules: Any, terms: RulesTerms) -> DataFrame:
    """The output of the rules; nothing runs yet."""
    time = terms.time
    check_machine(stream.sparkSession)
    source = SparkInput.of(stream, session_settings(stream))
    definition = rules_definition(source, terms)
    delay_ms = watermark_delay_ms(stream, time[0])
    if delay_ms is None:
        raise without_watermark(stream, time[0], None)
    declared = definition.declaration()
    if not t.is_datetime(declared.schema.field(time[0]).type):
        kind = t.spark_name(declared.schema.field(time[0]).type)
        raise QueryError("STREAM_NOT_SUPPORTED", f"the first column of time= is a time, but '{time[0]}' is {kind}")
    log = rule_log(rules, stream.sparkSession, declared)
    definition = replace(definition, fixed=log.fixed)
    schema = stored_schema(definition, delay_ms)
    rows = through_buckets(
        ShippedRows.of(source, {field.name: quote(field.name) for field in definition.fields}),
        terms.keys,
        terms.buckets,
        rules_task(definition),
        schema,
        has_watermark=True,
        processor=RulesProcessor,
        changes=log.for_buckets(terms.buckets if terms.keys else 1),  # without keys, all rows are in one bucket
    )
    return named(rows, definition)


def rules_definition(source: SparkInput, terms: RulesTerms) -> RulesDefinition:
    names = source.column_types
    wanted = dict.fromkeys((*terms.keys, *terms.time, *(names if terms.columns is None else terms.columns)))
    for name in wanted:
        if name not in names:
            hint = did_you_mean(name, names)
            raise QueryError("UNKNOWN_COLUMN", f"the stream has no column '{name}'", hint=hint)
        source.arrow_column(name)
    fields = [s.StructField(name, names[name]) for name in wanted]
    fields_as_json = columns_as_json(s.StructType(fields))
    return RulesDefinition(
        terms.keys,
        terms.time,
        fields_as_json,
        terms.buckets,
        terms.late,
        source.settings,
        terms.limits,
        terms.kinds,
        forget_keys_after=terms.forget_keys_after,
    )


def rules_task(definition: RulesDefinition) -> RulesTask:
    """The task of the operator."""
    declared = definition.declaration()
    output = output_schema(declared)
    names = [stored_name(i) for i in range(len(output))]
    return RulesTask(
        shipped=declared.schema,
        output=pa.schema([pa.field(name, field.type) for name, field in zip(names, output, strict=True)]),
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
        declared=declared,
        late=definition.late,
        fixed=definition.fixed,
    )


def stored_schema(definition: RulesDefinition, delay_ms: int | None = None) -> s.StructType:
    """The columns of the operator's rows, under names of our own. The decision time is an event time."""
    kinds = {field.name: field.dataType for field in definition.fields}
    fields = []
    for i, field in enumerate(output_schema(definition.declaration())):
        kind = kinds.get(field.name) or spark_type(field.type)
        metadata = {WATERMARK: delay_ms} if field.name == DECIDED and delay_ms is not None else None
        fields.append(s.StructField(stored_name(i), kind, metadata=metadata))
    return s.StructType(fields)


def named(rows: DataFrame, definition: RulesDefinition) -> DataFrame:
    """The operator's rows under the names that users see."""
    names = output_schema(definition.declaration()).names
    return rows.select(*(F.col(stored_name(i)).alias(name) for i, name in enumerate(names)))
