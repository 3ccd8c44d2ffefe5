"""A batch DataFrame and rules -> a lazy DataFrame of the rows that a stream of these rules gives by the end of its
input. All rows of a key are in one task, which runs the engine of the stream over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from ostinato.expressions.render import quote
from ostinato.spark.rules.rule_log import table_in_force
from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_stream import RulesTerms, named, rules_definition, rules_task, stored_schema
from ostinato.spark.rules.rules_task import RunRules
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.shipped_rows import ShippedRows
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.streams.stream_checkpoint import with_errors_raised


def rules_batch(df: DataFrame, changes: Sequence[str], terms: RulesTerms) -> DataFrame:
    """The rows of the rules, with the columns of `ost.rules`. Raises the error of a rule that is wrong.

    `changes` are rules as JSON (`RuleChange.to_json`). Rows without a time are left out: on a stream they are late.
    """
    source = SparkInput.of(df, session_settings(df))
    definition: RulesDefinition = rules_definition(source, terms)
    definition = replace(definition, fixed=table_in_force(list(changes), definition.declaration()))
    shipped = ShippedRows.of(source, {field.name: quote(field.name) for field in definition.fields})
    task = RunRules(rules_task(definition))
    return named(with_errors_raised(shipped.by_key(terms.keys), task, stored_schema(definition)), definition)
