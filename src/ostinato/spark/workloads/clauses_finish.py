"""The state of a stopped stream of clauses -> the rows of matches that were waiting for the watermark, as a batch."""

from __future__ import annotations

import functools
import json

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.rows.column_names import ERROR
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_buckets import FinishBuckets
from ostinato.spark.streams.stream_workers import check_same
from ostinato.spark.workloads.clause_parts import ClauseWorkload, common_rows
from ostinato.spark.workloads.clauses_stream_task import ClauseStreamDefinition
from ostinato.spark.workloads.clauses_streaming import StreamPart


def finished_clauses(definition: ClauseStreamDefinition, buckets: DataFrame) -> DataFrame:
    """The rows of one query in its own columns; of several as a workload gives them."""
    empty = buckets.sparkSession.createDataFrame([], s.StructType.fromJson(json.loads(definition.columns)))
    queries, names = tuple(definition.parsed()), definition.names
    asked = ClauseWorkload(queries, names, empty, definition.settings, definition.options, definition.request)
    part = _FinishedPart(asked, buckets)
    check_same(part.task, definition.fingerprint)
    return part.of_query(0) if len(queries) == 1 else common_rows([part])


class _FinishedPart(StreamPart):
    """The same operator over the state that it left."""

    def __init__(self, asked: ClauseWorkload, buckets: DataFrame) -> None:
        super().__init__(asked, tuple(range(len(asked.queries))), asked.plans(), delay_ms=None)
        self.buckets = buckets

    @functools.cached_property
    def rows(self) -> DataFrame:
        schema = s.StructType([*self.schema.fields, s.StructField(ERROR, s.StringType())])
        return self.buckets.mapInArrow(Checked(FinishBuckets(self.task)), schema).where(RAISES)
