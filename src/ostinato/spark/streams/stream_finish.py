"""What only the end of input decides: the state of a stopped stream -> the rest of its matches, as a batch."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import QueryError
from ostinato.rows.column_names import ERROR
from ostinato.spark.clause.clause_stream_task import stream_task
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint
from ostinato.spark.correlations.correlation_finish import finish_correlation
from ostinato.spark.event_queries.event_finish import finished_events
from ostinato.spark.event_queries.event_stream_task import EventStreamDefinition
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_buckets import FinishBuckets
from ostinato.spark.streams.stream_checkpoint import check_folder, check_session, open_checkpoint
from ostinato.spark.streams.stream_definition import StreamDefinition
from ostinato.spark.streams.stream_output import measured_stream, stream_schema
from ostinato.spark.workloads.clauses_finish import finished_clauses
from ostinato.spark.workloads.clauses_stream_task import ClauseStreamDefinition


@only_our_errors()
def finish(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None) -> DataFrame:
    """The rows that a stopped stream would still give if its input had ended. Nothing in the checkpoint changes.

    They are the rows of the clause, of the workload, the summary or the correlation: what the streaming query did with
    those has to be done to these as well. Where a query has several such operators, `operator` says which one
    is meant. Of a correlation with an archive that is no path, `ost.correlate(...).finish(checkpoint)` knows the rest.
    """
    checkpoint = check_folder(spark, checkpoint)
    if operator is None and CorrelationCheckpoint(spark, checkpoint).last() is not None:
        return finish_correlation(spark, checkpoint)
    opened = open_checkpoint(spark, checkpoint, operator)
    if not opened.is_settled:
        raise QueryError(
            "STREAM_NOT_SETTLED",
            f"the stream of {checkpoint} was stopped inside a batch, so its sink may hold more than its state knows",
            hint="start it once more with trigger(availableNow=True), let it end, then ask again",
        )
    definition = opened.definition()
    check_session(spark, definition.settings)
    if isinstance(definition, EventStreamDefinition):
        return finished_events(definition, opened.buckets())
    if isinstance(definition, ClauseStreamDefinition):
        return finished_clauses(definition, opened.buckets())
    if not isinstance(definition, StreamDefinition):
        from ostinato.spark.summaries.summary_finish import finished_summary  # loads kernels

        return finished_summary(definition, opened)
    query = definition.query(spark)
    task = stream_task(query, definition)
    schema = s.StructType([*stream_schema(query, definition.stream).fields, s.StructField(ERROR, s.StringType())])
    found = opened.buckets().mapInArrow(Checked(FinishBuckets(task)), schema)
    return measured_stream(query, definition.stream, found.where(RAISES))
