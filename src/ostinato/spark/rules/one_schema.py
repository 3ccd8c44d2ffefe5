"""Rows of any operator that runs rules -> rows of one schema (`rule_sets/run_rows.py`), for batches and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from ostinato.event_queries.event_request import EventRequest
from ostinato.rule_sets.run_rows import RowsOfEventQuery, RowsOfRules, RunRows, run_schema
from ostinato.spark.event_queries.event_dataframes import events_dataframe
from ostinato.spark.rules.rules_task import InOneSchema
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.shipped_rows import travelling_name
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.streams.stream_checkpoint import with_errors_raised


def rows_of_rules(found: DataFrame, keys: Sequence[str], severities: Mapping[str, str]) -> DataFrame:
    """The output of an operator of rules in the schema of a run. `severities` has those of rules that have one."""
    return _in_one_schema(found, RowsOfRules(severities, session_settings(found), tuple(keys)))


def rows_of_event_query(
    df: DataFrame, request: EventRequest, rule: str, keys: Sequence[str], severity: str | None
) -> DataFrame:
    """The rows of an event query in the schema of a run."""
    severities = {} if severity is None else {rule: severity}
    rows = RowsOfEventQuery(severities, session_settings(df), rule, tuple(keys))
    return _in_one_schema(events_dataframe(request, df), rows)


def _in_one_schema(found: DataFrame, rows: RunRows) -> DataFrame:
    arriving = SparkInput.of(found, rows.settings).arrow_schema(found.schema.fields)
    travelling = found.toDF(*(travelling_name(i) for i in range(len(arriving))))
    return with_errors_raised(travelling, InOneSchema(rows, arriving), spark_schema(run_schema(rows.settings)))
