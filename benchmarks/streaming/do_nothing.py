"""The three stages of our stream operator, without matching and without state: pack rows, pass a bucket, unpack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from benchmarks.streaming.grouping import PACKED
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.typed_plan import Limits
from ostinato.spark.clause.spark_plan import plan_query
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.streams.stream_operator import bucket_of
from ostinato.spark.streams.stream_packing import BUCKET, PackByBucket, UnpackResults, unpack_table
from ostinato.streams.stream_settings import DEFAULT_BUCKETS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_EMITTED = s.StructType([s.StructField("results", s.BinaryType()), s.StructField("rows", s.LongType())])


class PassRows(StatefulProcessor):
    """Unpacks the rows of a bucket, counts them, and emits no result."""

    def __init__(self, shipped: pa.Schema) -> None:
        self.shipped = shipped

    def init(self, handle: StatefulProcessorHandle) -> None:
        """There is no state."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        yield Row(results=None, rows=unpack_table((row[1] for row in rows), self.shipped).num_rows)


@dataclass(frozen=True, slots=True)
class Packed:
    """The rows that a clause ships, packed by bucket."""

    rows: DataFrame
    schema: pa.Schema
    """Of the rows in a pack."""


def packed_as_ours(stream: DataFrame, clause: str) -> Packed:
    """As `ost.match_recognize` up to the grouping."""
    query = plan_query(parse_clause(clause), stream, Limits(), session_settings(stream))
    shipped = query.shipped
    bucket = bucket_of([shipped.column(name) for name in query.bound.partition_by], DEFAULT_BUCKETS).alias(BUCKET)
    rows = shipped.selected.select(bucket, "*").mapInArrow(PackByBucket(shipped.schema), PACKED)
    return Packed(rows, shipped.schema)


def do_nothing(stream: DataFrame, clause: str) -> DataFrame:
    """No row: the rows of the stream pass the three stages and end there."""
    packed = packed_as_ours(stream, clause)
    passed = packed.rows.groupBy(BUCKET).transformWithState(PassRows(packed.schema), _EMITTED, "Append", "EventTime")
    counted = passed.observe("nothing", F.sum("rows").alias("rows"))
    return counted.select("results").mapInArrow(UnpackResults(packed.schema), spark_schema(packed.schema))
