"""The state of a clause's stream -> the rows that the end of input would give, and the open partial matches."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.clause.clause_stream_output import measured_stream, stream_schema
from ostinato.spark.clause.clause_stream_task import OpenRuns
from ostinato.spark.clause.clause_streaming import clause_task
from ostinato.spark.streams.stream_buckets import FinishBuckets
from ostinato.spark.streams.stream_checkpoint import Checkpoint, with_errors_raised


def finished_clause(definition: ClauseDefinition, opened: Checkpoint) -> DataFrame:
    """The rows that the end of input would give."""
    query = definition.query(opened.spark)
    task, schema = FinishBuckets(clause_task(query, definition)), stream_schema(query, definition.stream)
    return measured_stream(query, definition.stream, with_errors_raised(opened.buckets(), task, schema))


def open_partial_matches(definition: ClauseDefinition, opened: Checkpoint) -> DataFrame:
    """One row for each key with an open partial match."""
    query = definition.query(opened.spark)
    types = query.source.column_types
    schema = s.StructType(
        [
            *(s.StructField(name, types[name]) for name in query.bound.partition_by),
            s.StructField("waiting_since", types[query.bound.order_by[0].column]),
            s.StructField("rows", s.LongType()),
            s.StructField("next", s.ArrayType(s.StringType())),
        ]
    )
    task = OpenRuns(clause_task(query, definition), query.source.arrow_schema(schema))
    return with_errors_raised(opened.buckets(), task, schema)
