"""The state of a stream of a workload's clauses -> the rows that the end of input would give, or counts of it."""

from __future__ import annotations

import functools

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_buckets import FinishBuckets
from ostinato.spark.streams.stream_checkpoint import Checkpoint, with_errors_raised
from ostinato.spark.streams.stream_definition import check_same_columns
from ostinato.spark.workload_rows.common_rows import common_rows
from ostinato.spark.workloads.clause_operators import ClauseWorkload
from ostinato.spark.workloads.clauses_stream_definition import ClausesDefinition
from ostinato.spark.workloads.clauses_stream_task import OpenClauses
from ostinato.spark.workloads.clauses_streaming import StreamOperator


def finished_clauses(definition: ClausesDefinition, opened: Checkpoint) -> DataFrame:
    """The matches that wait for the watermark: of one query in its own columns, of several as in a workload."""
    operator = _operator(definition, opened)
    return operator.of_query(0) if len(definition.queries) == 1 else common_rows([operator.operator_rows()])


def open_clauses(definition: ClausesDefinition, opened: Checkpoint) -> DataFrame:
    """The number of partial matches in each state of the merged plan."""
    operator = _operator(definition, opened)
    schema = (
        s.StructType()
        .add("state", "long")
        .add("variable", "string")
        .add("queries", s.ArrayType(s.StringType()))
        .add("partial_matches", "long")
    )
    view = OpenClauses(operator.task, operator.merged.source.arrow_schema(schema))
    *names, count = schema.names
    return with_errors_raised(opened.buckets(), view, schema).groupBy(*names).agg(F.sum(count).alias(count))


def _operator(definition: ClausesDefinition, opened: Checkpoint) -> _FinishedOperator:
    workload = ClauseWorkload(
        tuple(definition.parsed()),
        definition.names,
        definition.empty_input(opened.spark),
        definition.settings,
        definition.options,
        definition.request,
    )
    operator = _FinishedOperator(workload, opened)
    check_same_columns(described(operator.merged.shipped.schema), definition)
    return operator


class _FinishedOperator(StreamOperator):
    """A stream's operator, applied to its stored state."""

    def __init__(self, workload: ClauseWorkload, opened: Checkpoint) -> None:
        super().__init__(workload, tuple(range(len(workload.queries))), workload.plans(), delay_ms=None)
        self.opened = opened

    @functools.cached_property
    def rows(self) -> DataFrame:
        return with_errors_raised(self.opened.buckets(), FinishBuckets(self.task), self.schema)
