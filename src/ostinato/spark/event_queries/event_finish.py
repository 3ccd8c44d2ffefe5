"""The state of a stopped stream of event queries -> the rows that the end of input would give, as a batch."""

from __future__ import annotations

from pyspark.sql import DataFrame

from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.spark.event_queries.event_dataframes import SparkEvents
from ostinato.spark.event_queries.event_stream_definition import EventsDefinition
from ostinato.spark.event_queries.event_streaming import event_stream_task, stream_fields
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_buckets import FinishBuckets
from ostinato.spark.streams.stream_checkpoint import Checkpoint, with_errors_raised
from ostinato.spark.streams.stream_definition import check_same_columns
from ostinato.spark.workload_rows.common_rows import common_rows


def finished_events(definition: EventsDefinition, opened: Checkpoint) -> DataFrame:
    """The rows of one query in its own columns; of several, as in a workload."""
    options = definition.options
    requests = [EventRequest(parse_event_query(text), options=options) for text in definition.queries]
    empty = definition.empty_input(opened.spark)
    queries = SparkEvents(requests, definition.names, empty, options, definition.request, for_stream=True)
    (shuffle,) = queries.shuffles
    check_same_columns(described(shuffle.shipped.schema), definition)
    task = event_stream_task(shuffle, queries.task(shuffle))
    rows = with_errors_raised(opened.buckets(), FinishBuckets(task), stream_fields(queries.schema))
    return queries.of_query(0, [rows]) if len(requests) == 1 else common_rows(queries.operator_rows([rows]))
