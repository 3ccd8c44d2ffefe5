"""One clause on a stream: its definition, stored beside the state, and the task of its workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.plan.typed_plan import Limits, TypedPlan
from ostinato.expressions.types import Settings
from ostinato.rows.column_names import DECIDED
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.clause.clause_stream_output import measured_stream, stream_schema
from ostinato.spark.clause.spark_plan import SparkQuery, plan_query
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_buckets import FinishBuckets, rows_or_error, states_of, with_errors_raised
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_definition import StreamDefinition, check_same_columns, columns_as_json
from ostinato.spark.streams.stream_task import FIRST_WATERMARK_US, BucketTask
from ostinato.streams.stream_settings import StreamSettings

if TYPE_CHECKING:
    from ostinato.clause.stream.clause_stream import StreamWorker
    from ostinato.rows.batches import OutputRows
    from ostinato.streams.bucket_state import BucketState


@dataclass(frozen=True, slots=True)
class ClauseDefinition(StreamDefinition):
    """One clause with everything that its result depends on."""

    kind: ClassVar[str] = "clause"

    clause: str
    """Rendered from the parsed clause, so spaces and comments of the user's text don't matter."""
    input_name: str | None
    columns: str
    """The input's columns as Spark's JSON, to resolve names."""
    shipped: str
    """The shipped columns, which the state stores, with their Arrow types."""
    settings: Settings
    limits: Limits
    stream: StreamSettings

    @staticmethod
    def of(query: SparkQuery, stream: StreamSettings) -> ClauseDefinition:
        clause = query.bound.clause
        return ClauseDefinition(
            clause=render_clause(clause),
            input_name=clause.input_name,
            columns=columns_as_json(query.df.schema),
            shipped=described(query.shipped.schema),
            settings=query.settings,
            limits=query.limits,
            stream=stream,
        )

    @staticmethod
    def read(values: dict[str, Any]) -> ClauseDefinition:
        settings, limits = Settings(**values["settings"]), Limits(**values["limits"])
        stream = StreamSettings(**values["stream"])
        return ClauseDefinition(**{**values, "settings": settings, "limits": limits, "stream": stream})

    def state_values(self) -> object:
        """All but limits, the treatment of late rows, and columns that the clause doesn't use."""
        values = asdict(self)
        del values["limits"], values["columns"], values["stream"]["late"]
        return values

    def query(self, spark: SparkSession) -> SparkQuery:
        """The plan over an empty input with the same columns."""
        clause = parse_clause(self.clause, input_name=self.input_name)
        query = plan_query(clause, self.empty_input(spark), self.limits, self.settings)
        check_same_columns(described(query.shipped.schema), self)
        return query

    def finished(self, opened: Checkpoint) -> DataFrame:
        query = self.query(opened.spark)
        rows = with_errors_raised(
            opened.buckets(), FinishBuckets(clause_task(query, self)), stream_schema(query, self.stream)
        )
        return measured_stream(query, self.stream, rows)

    def open_partial_matches(self, opened: Checkpoint) -> DataFrame:
        query = self.query(opened.spark)
        types = query.source.column_types
        schema = s.StructType(
            [
                *(s.StructField(name, types[name]) for name in query.bound.partition_by),
                s.StructField("waiting_since", types[query.bound.order_by[0].column]),
                s.StructField("rows", s.LongType()),
                s.StructField("next", s.ArrayType(s.StringType())),
            ]
        )
        task = OpenRuns(clause_task(query, self), query.source.arrow_schema(schema))
        return with_errors_raised(opened.buckets(), task, schema)


@dataclass(frozen=True, slots=True)
class ClauseBucketTask(BucketTask):
    """Sent to the executors with every batch."""

    typed: TypedPlan
    settings: StreamSettings

    def new_core(self) -> StreamWorker:
        from ostinato.clause.stream.clause_stream import StreamWorker

        conditions = condition_places(len(self.typed.plan.row_conditions))
        return StreamWorker(self.typed, conditions, self.settings, self.fingerprint)

    def rows(self, results: OutputRows) -> pa.Table:
        if not results.count:
            return self.output.empty_table()
        # A first batch may show late rows before there is a watermark.
        decided = results.arrays[DECIDED]
        clamped = pc.max_element_wise(decided.view(pa.int64()), FIRST_WATERMARK_US).view(decided.type)
        arrays = {**results.arrays, DECIDED: clamped}
        columns = [arrays[field.name].cast(field.type) for field in self.output]
        return pa.Table.from_arrays(columns, schema=self.output)


def clause_task(query: SparkQuery, definition: ClauseDefinition) -> ClauseBucketTask:
    return ClauseBucketTask(
        shipped=query.shipped.schema,
        output=query.source.arrow_schema(stream_schema(query, definition.stream)),
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
        typed=query.typed,
        settings=definition.stream,
    )


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """For mapInArrow: states of buckets in, their open partial matches out, with a column for an error."""

    task: ClauseBucketTask
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows_or_error(map(self._open_runs, states_of(batches)), self.output)

    def _open_runs(self, bucket: BucketState) -> pa.Table:
        from ostinato.clause.stream.open_runs import open_runs

        runs = open_runs(self.task.worker, bucket)
        columns = [column.cast(field.type) for column, field in zip(runs.columns, self.output, strict=True)]
        return pa.Table.from_arrays(columns, schema=self.output)
