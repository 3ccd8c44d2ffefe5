"""The state of a clause's stream -> the rows that the end of input would give, and the open partial matches."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.clause.clause_stream_output import measured_stream, stream_schema
from ostinato.spark.clause.clause_stream_task import StateBy, StateView
from ostinato.spark.clause.clause_streaming import clause_task
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.streams.stream_buckets import ARRIVING, FinishBuckets
from ostinato.spark.streams.stream_checkpoint import Checkpoint, with_errors_raised
from ostinato.spark.streams.stream_operator import packed_rows
from ostinato.spark.streams.stream_packing import BUCKET, ROWS


def finished_clause(definition: ClauseDefinition, opened: Checkpoint, arriving: DataFrame | None = None) -> DataFrame:
    """The rows that the end of input would give, after the rows that still arrive."""
    definition = definition.that_keeps()
    query = definition.query(opened.spark, arriving)
    task, schema = clause_task(query, definition), stream_schema(query, definition.stream)
    buckets = opened.buckets(with_definition=True)
    if arriving is not None:
        packed = packed_rows(query.shipped, query.bound.partition_by, definition.stream.buckets, task)
        packs = packed.groupBy(BUCKET).agg(F.collect_list(ROWS).alias(ARRIVING))
        buckets = buckets.join(packs, BUCKET, "full")
    finish = FinishBuckets(task, opened.watermark_us())
    return measured_stream(query, definition.stream, with_errors_raised(buckets, finish, schema))


def state_rows(definition: ClauseDefinition, opened: Checkpoint, by: StateBy) -> DataFrame:
    """One row for each key with an open partial match, or numbers of keys by reason or by state of the automaton."""
    definition = definition.that_keeps()
    query = definition.query(opened.spark)
    schema = _open_match_schema(query) if by == "key" else _COUNTED[by]
    view = StateView(clause_task(query, definition), query.source.arrow_schema(schema), by)
    rows = with_errors_raised(opened.buckets(with_definition=True), view, schema)
    if by == "key":
        return rows
    numbers = [field.name for field in schema.fields if field.name in ("keys", "rows")]
    groups = [field.name for field in schema.fields if field.name not in numbers]
    return rows.groupBy(*groups).agg(*(F.sum(name).alias(name) for name in numbers))


_COUNTED = {
    "reason": s.StructType().add("reason", "string").add("keys", "long").add("rows", "long"),
    "state": s.StructType().add("state", "long").add("variable", "string").add("keys", "long"),
}


def _open_match_schema(query: SparkQuery) -> s.StructType:
    types = query.source.column_types
    return s.StructType(
        [
            *(s.StructField(name, types[name]) for name in query.bound.partition_by),
            s.StructField("waiting_since", types[query.bound.order_by[0].column]),
            s.StructField("rows", s.LongType()),
            s.StructField("next", s.ArrayType(s.StringType())),
        ]
    )
