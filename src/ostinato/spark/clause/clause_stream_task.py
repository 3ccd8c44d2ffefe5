"""What the workers of a stream need, and the core loaded where it runs. The driver needn't load any kernel."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.rows.column_names import DECIDED
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.streams.stream_definition import StreamDefinition
from ostinato.spark.streams.stream_output import stream_schema
from ostinato.spark.streams.stream_workers import ByDefinition
from ostinato.streams.stream_settings import StreamSettings

if TYPE_CHECKING:
    from ostinato.clause.stream.clause_stream import StreamWorker
    from ostinato.rows.batches import OutputRows


@dataclass(frozen=True, slots=True)
class StreamTask:
    """Sent to the executors with every batch."""

    typed: TypedPlan
    shipped: pa.Schema
    output: pa.Schema
    settings: StreamSettings
    fingerprint: str
    definition: str

    @property
    def worker(self) -> StreamWorker:
        """The same one for all batches that a Python worker serves."""
        return _worker(ByDefinition(self))

    def rows(self, results: OutputRows) -> pa.Table:
        """Results as they leave."""
        if not results.count:
            return self.output.empty_table()
        # A first batch may show late rows before there is any watermark: the one that Spark starts with is 0.
        decided = results.arrays[DECIDED]
        from_0 = pc.max_element_wise(decided.view(pa.int64()), 0).view(decided.type)
        arrays = {**results.arrays, DECIDED: from_0}
        columns = [arrays[field.name].cast(field.type) for field in self.output]
        return pa.Table.from_arrays(columns, schema=self.output)


def stream_task(query: SparkQuery, definition: StreamDefinition) -> StreamTask:
    return StreamTask(
        typed=query.typed,
        shipped=query.shipped.schema,
        output=query.source.arrow_schema(stream_schema(query, definition.stream)),
        settings=definition.stream,
        fingerprint=definition.fingerprint,
        definition=definition.to_json(),
    )


@functools.lru_cache(maxsize=8)
def _worker(key: ByDefinition[StreamTask]) -> StreamWorker:
    from ostinato.clause.stream.clause_stream import StreamOptions, StreamWorker

    task = key.task
    options = StreamOptions(late=task.settings.late, eager=task.settings.eager)
    return StreamWorker(task.typed, condition_places(len(task.typed.plan.row_conditions)), options)
