"""The MATCH_RECOGNIZE queries of a workload on a streaming DataFrame, in append mode.

Clauses with the same PARTITION BY and ORDER BY share one stateful operator, if the shared matcher supports them:
select -> mapInArrow (pack rows by bucket) -> transformWithState (advance) -> mapInArrow (unpack) -> select. Every other
clause has its own operator (`clause_streaming.py`). The rows of all operators are joined by a union.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.expressions.syntax import Column, Expr
from ostinato.spark.clause.clause_streaming import check_query, match_stream, warn_of_unbounded_state
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.shipping.shipped_rows import described, stored_name
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.spark.streams.stream_checks import check_machine
from ostinato.spark.streams.stream_definition import columns_as_json
from ostinato.spark.streams.stream_operator import decided_field, through_buckets
from ostinato.spark.workload_rows.query_rows import QUERY, REPORT
from ostinato.spark.workloads.clause_operators import ClauseOperator, ClauseWorkload, SharedOperator, selected_rows
from ostinato.spark.workloads.clause_tasks import ClauseOutput
from ostinato.spark.workloads.clauses_stream_definition import ClausesDefinition
from ostinato.spark.workloads.clauses_stream_task import ClausesBucketTask
from ostinato.streams.stream_settings import StreamSettings
from ostinato.workloads.plan.clause_groups import plan_clauses
from ostinato.workloads.report_rows import REPORT_TYPE


def stream_operators(workload: ClauseWorkload) -> list[ClauseOperator]:
    """The stateful operators. Raises if a clause can't run on a stream."""
    check_machine(workload.df.sparkSession)
    plans = workload.plans()
    queries = [SparkQuery(plan, workload.df, workload.limits, workload.settings) for plan in plans]
    delays = [check_query(query) for query in queries]
    typed = [query.typed for query in queries]
    planned = plan_clauses(typed, workload.names, workload.bounded, workload.options.sharing, on_stream=True)
    operators: list[ClauseOperator] = []
    for stream in planned.streams:
        numbers = tuple(clause.clause for clause in stream.clauses)
        for number in numbers:
            warn_of_unbounded_state(plans[number])
        operators.append(StreamOperator(workload, numbers, [plans[number] for number in numbers], delays[numbers[0]]))
    return [*operators, *(_OwnOperator(workload, number, queries[number]) for number in planned.alone)]


class StreamOperator(SharedOperator):
    """Several queries on a stream. `delay_ms` is the watermark's delay; None if the rows are no stream."""

    def __init__(
        self, workload: ClauseWorkload, numbers: tuple[int, ...], plans: Sequence[MatchPlan], delay_ms: int | None
    ) -> None:
        super().__init__(workload, numbers, plans)
        self.delay_ms = delay_ms

    @functools.cached_property
    def rows(self) -> DataFrame:
        return through_buckets(
            self.merged.shipped,
            self.merged.bound.partition_by,
            self.workload.options.buckets,
            self.task,
            self.schema,
            has_watermark=True,
        )

    @property
    def schema(self) -> s.StructType:
        return s.StructType([*self.fields, decided_field(self.delay_ms)])

    @functools.cached_property
    def task(self) -> ClausesBucketTask:
        """The task of the operator. If its queries are planned again, they share one operator again."""
        definition, schema = self.definition, self.merged.source.arrow_schema(self.schema)
        return ClausesBucketTask(
            shipped=self.merged.shipped.schema,
            output=schema,
            fingerprint=definition.fingerprint,
            definition=definition.to_json(),
            task=self.clauses_task(on_stream=True),
            output_rows=ClauseOutput(self.names, self.numbers, self.columns, schema),
            conditions=len(self.shared.row_conditions),
        )

    @property
    def definition(self) -> ClausesDefinition:
        """The definition to store."""
        queries = [self.workload.queries[number] for number in self.numbers]
        return ClausesDefinition(
            queries=tuple(query.to_sql() for query in queries),
            input_names=tuple(query.clause.input_name for query in queries),
            names=self.names,
            columns=columns_as_json(self.workload.df.schema),
            shipped=described(self.merged.shipped.schema),
            settings=self.workload.settings,
            options=self.workload.options,
            request=self.request,
        )


class _OwnOperator(ClauseOperator):
    """A query with its own operator."""

    def __init__(self, workload: ClauseWorkload, number: int, query: SparkQuery) -> None:
        super().__init__(workload, (number,))
        self.query = query
        measured = match_stream(query, StreamSettings(buckets=workload.options.buckets))
        self.selected = selected_rows(workload.queries[number], measured)

    def of_query(self, index: int) -> DataFrame:
        return self.selected

    def keys(self, index: int) -> Sequence[str]:
        return self.query.bound.partition_by

    def expressions(self, index: int) -> list[Expr]:
        return [Column(stored_name(i)) for i in range(len(self.selected.columns))]

    @functools.cached_property
    def rows(self) -> DataFrame:
        stored = self.selected.toDF(*(stored_name(i) for i in range(len(self.selected.columns))))
        report = F.lit(None).cast(spark_type(REPORT_TYPE))
        return stored.withColumns({QUERY: F.lit(self.numbers[0]), REPORT: report})
