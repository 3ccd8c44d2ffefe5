"""The state of a stopped stream of event queries -> the rows of windows that were still open, as a batch."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.event_queries.event_request import EventRequest
from ostinato.rows.column_names import DECIDED, ERROR
from ostinato.spark.event_queries.event_dataframes import SparkEvents
from ostinato.spark.event_queries.event_stream_task import EventStreamDefinition
from ostinato.spark.event_queries.event_streaming import event_stream_task
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_buckets import FinishBuckets
from ostinato.spark.streams.stream_workers import check_same


def finished_events(definition: EventStreamDefinition, buckets: DataFrame) -> DataFrame:
    """The rows of one query in its own columns; of several as a workload gives them."""
    spark = buckets.sparkSession
    empty = spark.createDataFrame([], s.StructType.fromJson(json.loads(definition.columns)))
    asked = [EventRequest(query, options=definition.options) for query in definition.parsed()]
    found = SparkEvents(asked, definition.names, empty, definition.options, definition.request, for_stream=True)
    (shuffle,) = found.shuffles
    task = event_stream_task(shuffle, found.task(shuffle))
    check_same(task, definition.fingerprint)
    fields = [field for field in found.schema.fields if field.name != ERROR]
    ours = [s.StructField(DECIDED, s.TimestampType()), s.StructField(ERROR, s.StringType())]
    rows = buckets.mapInArrow(Checked(FinishBuckets(task)), s.StructType([*fields, *ours])).where(RAISES)
    return found.of_query(0, [rows]) if len(asked) == 1 else found.common([rows])
