"""The MATCH_RECOGNIZE queries of a workload on a DataFrame -> lazy DataFrames of their rows.

    select -> repartition by key -> mapInArrow -> where (raises) -> select

On a batch, clauses with the same PARTITION BY share one shuffle and one pass in Python, and Spark evaluates the
measures. The plan uses public operations only, so it is the same on Spark Connect. Streams are in
`clauses_streaming.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.rows.column_names import ERROR
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.workload_rows.common_rows import OperatorRows
from ostinato.spark.workloads.clause_operators import ClauseOperator, ClauseWorkload, SharedOperator
from ostinato.spark.workloads.clause_tasks import ClauseOutput, WholeKeysTask
from ostinato.spark.workloads.clauses_streaming import stream_operators
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest


class SparkClauses:
    """Queries on one DataFrame."""

    def __init__(
        self,
        queries: Sequence[ClauseQuery],
        names: Sequence[str],
        df: DataFrame,
        options: WorkloadOptions,
        request: BoundRequest = UNBOUNDED,
    ) -> None:
        """Raises BOUND_NOT_SUPPORTED for a query with a bound whose state can't be shed, and the errors of clauses."""
        own = request.for_queries(names)
        settings = session_settings(df)
        read = tuple(query.under(settings) for query in queries)
        workload = ClauseWorkload(read, tuple(names), df, settings, options, own)
        self.operators: list[ClauseOperator] = (
            stream_operators(workload) if df.isStreaming else _batch_operators(workload)
        )

    def of_query(self, number: int) -> DataFrame:
        """The rows of one query in its own columns."""
        operator = next(operator for operator in self.operators if number in operator.numbers)
        return operator.of_query(operator.numbers.index(number))

    def operator_rows(self) -> list[OperatorRows]:
        """For each operator, its rows and their columns in the common table of a workload."""
        return [operator.operator_rows() for operator in self.operators]


def _batch_operators(workload: ClauseWorkload) -> list[ClauseOperator]:
    """One for each PARTITION BY."""
    plans = workload.plans()
    by_key: dict[tuple[str, ...], list[int]] = {}
    for number, plan in enumerate(plans):
        by_key.setdefault(tuple(sorted(plan.bound.partition_by)), []).append(number)
    return [
        _BatchOperator(workload, tuple(numbers), [plans[number] for number in numbers]) for numbers in by_key.values()
    ]


class _BatchOperator(SharedOperator):
    """The queries of one shuffle of a batch."""

    def __init__(self, workload: ClauseWorkload, numbers: tuple[int, ...], plans: Sequence[MatchPlan]) -> None:
        super().__init__(workload, numbers, plans)
        self.task = self._task()

    @functools.cached_property
    def rows(self) -> DataFrame:
        """The rows of the tasks. Raises the error of a task when Spark reads its row."""
        df = self.merged.shipped.by_key(self.merged.bound.partition_by)
        return df.mapInArrow(Checked(self.task), self.schema).where(RAISES)

    @property
    def schema(self) -> s.StructType:
        return s.StructType([*self.fields, s.StructField(ERROR, s.StringType())])

    def _task(self) -> WholeKeysTask:
        output = ClauseOutput(self.names, self.numbers, self.columns, self.merged.source.arrow_schema(self.schema))
        return WholeKeysTask(
            self.clauses_task(),
            output,
            self.merged.shipped.names,
            len(self.shared.row_conditions),
        )
