"""The MATCH_RECOGNIZE queries of a workload on a streaming DataFrame, in append mode.

Clauses of one PARTITION BY and ORDER BY that the shared matcher takes are one stateful operator:
select -> mapInArrow (pack rows by bucket) -> transformWithState (advance) -> mapInArrow (unpack) -> select. Every other
clause has the operator that it has by itself (`clause_streaming.py`). Rows of all operators are put together.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.expressions.syntax import Column, Expr
from ostinato.rows.column_names import DECIDED
from ostinato.spark.clause.clause_streaming import check_query, match_stream, warn_of_unbounded_state
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.event_queries.common_rows import common_rows
from ostinato.spark.event_queries.event_tasks import QUERY, REPORT
from ostinato.spark.shipping.shipped_rows import described, stored_name
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.spark.streams.stream_buckets import FinishBuckets, with_errors_raised
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_checks import WATERMARK, check_machine
from ostinato.spark.streams.stream_definition import check_same_columns, columns_as_json
from ostinato.spark.streams.stream_operator import through_buckets
from ostinato.spark.workloads.clause_parts import ClausePart, ClauseWorkload, TogetherPart, selected_rows
from ostinato.spark.workloads.clause_tasks import ClauseOutput
from ostinato.spark.workloads.clauses_stream_task import ClausesBucketTask, ClausesDefinition, written
from ostinato.streams.stream_settings import StreamSettings
from ostinato.workloads.plan.clause_groups import plan_clauses
from ostinato.workloads.report_rows import REPORT_TYPE


def stream_parts(asked: ClauseWorkload) -> list[ClausePart]:
    """One for each stateful operator. Raises before anything starts, with the way out."""
    check_machine(asked.df.sparkSession)
    plans = asked.plans()
    queries = [SparkQuery(plan, asked.df, asked.limits, asked.settings) for plan in plans]
    delays = [check_query(query) for query in queries]
    typed = [query.typed for query in queries]
    planned = plan_clauses(typed, asked.names, asked.bounded, asked.options.sharing, on_stream=True)
    parts: list[ClausePart] = []
    for stream in planned.streams:
        numbers = tuple(clause.clause for clause in stream.clauses)
        for number in numbers:
            warn_of_unbounded_state(plans[number])
        parts.append(StreamPart(asked, numbers, [plans[number] for number in numbers], delays[numbers[0]]))
    return [*parts, *(_AlonePart(asked, number, queries[number]) for number in planned.alone)]


class StreamPart(TogetherPart):
    """The queries of one shared operator; `delay_ms` is that of the watermark, None where the rows are no stream."""

    def __init__(
        self, asked: ClauseWorkload, numbers: tuple[int, ...], plans: Sequence[MatchPlan], delay_ms: int | None
    ) -> None:
        super().__init__(asked, numbers, plans)
        self.delay_ms = delay_ms

    @functools.cached_property
    def rows(self) -> DataFrame:
        return through_buckets(
            self.travelling.shipped,
            self.travelling.bound.partition_by,
            self.asked.options.buckets,
            self.task,
            self.schema,
            has_watermark=True,
        )

    @property
    def schema(self) -> s.StructType:
        """With when a row was decided, which is an event time for operators that follow."""
        marked = None if self.delay_ms is None else {WATERMARK: self.delay_ms}
        return s.StructType([*self.fields, s.StructField(DECIDED, s.TimestampType(), metadata=marked)])

    @functools.cached_property
    def task(self) -> ClausesBucketTask:
        """What is sent to the executors. Planned again, all queries of the operator are in one stream once more."""
        definition, schema = self.definition, self.travelling.source.arrow_schema(self.schema)
        return ClausesBucketTask(
            shipped=self.travelling.shipped.schema,
            output=schema,
            fingerprint=definition.fingerprint,
            definition=definition.to_json(),
            task=self.clauses_task(on_stream=True),
            given=ClauseOutput(self.names, self.numbers, self.columns, schema),
            conditions=len(self.shared.row_conditions),
        )

    @property
    def definition(self) -> ClausesDefinition:
        """What is being asked, to be kept."""
        queries = [self.asked.queries[number] for number in self.numbers]
        return ClausesDefinition(
            queries=tuple(written(query) for query in queries),
            input_names=tuple(query.clause.input_name for query in queries),
            names=self.names,
            columns=columns_as_json(self.asked.df.schema),
            shipped=described(self.travelling.shipped.schema),
            settings=self.asked.settings,
            options=self.asked.options,
            request=self.request,
        )


def finished_clauses(definition: ClausesDefinition, opened: Checkpoint) -> DataFrame:
    """The matches that wait for the watermark: of one query in its own columns, of several as a workload gives them."""
    queries, empty = tuple(definition.parsed()), definition.empty_input(opened.spark)
    asked = ClauseWorkload(
        queries, definition.names, empty, definition.settings, definition.options, definition.request
    )
    part = _FinishedPart(asked, opened)
    check_same_columns(described(part.travelling.shipped.schema), definition)
    return part.of_query(0) if len(queries) == 1 else common_rows([part.part_rows()])


class _FinishedPart(StreamPart):
    """The same operator over the state that it left."""

    def __init__(self, asked: ClauseWorkload, opened: Checkpoint) -> None:
        super().__init__(asked, tuple(range(len(asked.queries))), asked.plans(), delay_ms=None)
        self.opened = opened

    @functools.cached_property
    def rows(self) -> DataFrame:
        return with_errors_raised(self.opened.buckets(), FinishBuckets(self.task), self.schema)


class _AlonePart(ClausePart):
    """A query that has an operator of its own."""

    def __init__(self, asked: ClauseWorkload, number: int, query: SparkQuery) -> None:
        super().__init__(asked, (number,))
        self.query = query
        found = match_stream(query, StreamSettings(buckets=asked.options.buckets))
        self.found = selected_rows(asked.queries[number], found)

    def of_query(self, at: int) -> DataFrame:
        return self.found

    def keys(self, at: int) -> Sequence[str]:
        return self.query.bound.partition_by

    def expressions(self, at: int) -> list[Expr]:
        return [Column(stored_name(place)) for place in range(len(self.found.columns))]

    @functools.cached_property
    def rows(self) -> DataFrame:
        stored = self.found.toDF(*(stored_name(place) for place in range(len(self.found.columns))))
        report = F.lit(None).cast(spark_type(REPORT_TYPE))
        return stored.withColumns({QUERY: F.lit(self.numbers[0]), REPORT: report})
