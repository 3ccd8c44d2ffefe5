"""Clauses of a workload that share an operator -> their rows, in each query's own columns and in the common table.

In: plans over one DataFrame. Out: lazy DataFrames. `clause_dataframes.py` (batch) and `clauses_streaming.py` (streams)
add how rows reach the tasks.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.clause.plan.clause_inputs import share_inputs
from ostinato.clause.plan.match_plan import MatchPlan, PlanInput, make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import errors_quoting
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Column, ColumnRef, Expr, rebuild
from ostinato.expressions.types import Settings
from ostinato.rows.column_names import ERROR
from ostinato.rows.workload_layout import Role
from ostinato.spark.clause.spark_plan import SparkQuery, over_columns
from ostinato.spark.shipping.shipped_rows import stored_name
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.spark.workload_rows.common_rows import OperatorRows, ShownColumn
from ostinato.spark.workload_rows.query_rows import QUERY, REPORT
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.plan.clauses_task import ClausesTask
from ostinato.workloads.plan.typed_clauses import type_clauses
from ostinato.workloads.report_rows import REPORT_TYPE


@dataclass(frozen=True, slots=True)
class ClauseWorkload:
    """Clauses by name, their input and their options."""

    queries: tuple[ClauseQuery, ...]
    names: tuple[str, ...]
    df: DataFrame
    settings: Settings
    options: WorkloadOptions
    request: BoundRequest
    """Without the bounds of other queries."""

    @property
    def limits(self) -> Limits:
        return Limits(self.options.max_partial_matches)

    @property
    def bounded(self) -> tuple[bool, ...]:
        """For each query, whether it has a bound."""
        return self.request.bounds(self.names).bounded

    def plans(self) -> list[MatchPlan]:
        """The plans of the clauses. Raises their errors, with a caret."""
        plans = []
        for query in self.queries:
            with errors_quoting(query.clause.text):
                bound = bind(query.clause, self.df.columns, case_sensitive=self.settings.case_sensitive)
                plans.append(make_plan(bound))
        return plans


class ClauseOperator(ABC):
    """Queries whose rows come from one operator."""

    def __init__(self, workload: ClauseWorkload, numbers: tuple[int, ...]) -> None:
        self.workload = workload
        self.numbers = numbers

    @property
    @abstractmethod
    def rows(self) -> DataFrame:
        """The stored columns, the query's number, and reports."""

    @abstractmethod
    def of_query(self, index: int) -> DataFrame:
        """The rows of one query in its own columns. `index` counts the queries of this operator."""

    @abstractmethod
    def expressions(self, index: int) -> list[Expr]:
        """The columns of a query as expressions over the columns of `rows`."""

    @abstractmethod
    def keys(self, index: int) -> Sequence[str]:
        """The PARTITION BY columns of a query."""

    def operator_rows(self) -> OperatorRows:
        """The rows, and their columns in the common table of a workload."""
        columns = []
        for index, number in enumerate(self.numbers):
            keys = self.keys(index)
            for field, expr in zip(self.of_query(index).schema.fields, self.expressions(index), strict=True):
                role = Role.GROUP if field.name in keys else Role.MEASURE
                columns.append(ShownColumn(role, field.name, field.dataType, expr, number))
        return OperatorRows(self.rows, self.workload.names, columns, has_reports=True)


class SharedOperator(ClauseOperator):
    """Several queries with one projection and one list of stored columns."""

    def __init__(self, workload: ClauseWorkload, numbers: tuple[int, ...], plans: Sequence[MatchPlan]) -> None:
        """`plans` are those of these queries."""
        super().__init__(workload, numbers)
        self.names = tuple(workload.names[number] for number in numbers)
        self.request = workload.request.for_queries(self.names)
        self.shared = share_inputs(plans)
        of_plan = functools.partial(SparkQuery, df=workload.df, limits=workload.limits, settings=workload.settings)
        self.queries = [of_plan(plan) for plan in self.shared.plans]
        # One query with the inputs and conditions of all ships the rows.
        order = dict.fromkeys(key.column for plan in plans for key in plan.bound.order_by)
        inputs = dict.fromkeys((*self.shared.inputs, *(PlanInput(name, Column(name)) for name in order)))
        merged = replace(self.shared.plans[0], inputs=tuple(inputs), row_conditions=self.shared.row_conditions)
        self.merged = of_plan(merged)
        self.stored: dict[tuple[str, s.DataType], str] = {}
        self.columns = tuple(
            {
                field.name: self.stored.setdefault((field.name, field.dataType), stored_name(len(self.stored)))
                for field in query.worker_schema().fields
                if field.name != ERROR
            }
            for query in self.queries
        )

    @property
    def fields(self) -> list[s.StructField]:
        """The stored columns, a report, and the query's number."""
        fields = [s.StructField(name, kind) for (_, kind), name in self.stored.items()]
        return [*fields, s.StructField(REPORT, spark_type(REPORT_TYPE)), s.StructField(QUERY, s.IntegerType())]

    def clauses_task(self, *, on_stream: bool = False) -> ClausesTask:
        """The task of the workers. Raises BOUND_NOT_SUPPORTED."""
        names, request, options = self.names, self.request, self.workload.options
        bounded = request.bounds(names).bounded
        plans = [query.typed for query in self.queries]
        typed = type_clauses(self.shared, plans, names, bounded, options.sharing, on_stream=on_stream)
        return ClausesTask(typed, names, request, options.limits(), options.buckets if on_stream else 1)

    def of_query(self, index: int) -> DataFrame:
        is_own = (F.col(QUERY) == self.numbers[index]) & F.col(REPORT).isNull()
        columns = (F.col(stored).alias(name) for name, stored in self.columns[index].items())
        measured = self.queries[index].measured(self.rows.where(is_own).select(*columns))
        return selected_rows(self.workload.queries[self.numbers[index]], measured)

    def keys(self, index: int) -> Sequence[str]:
        return self.queries[index].bound.partition_by

    def expressions(self, index: int) -> list[Expr]:
        query, stored = self.workload.queries[self.numbers[index]], self.columns[index]
        outputs = self.queries[index].outputs()
        names = query.renamed(list(outputs))
        by_name = dict(zip(names, outputs.values(), strict=True))

        def over_outputs(expr: Expr) -> Expr:
            if isinstance(expr, ColumnRef):
                return over_columns(by_name[expr.parts[0].text], stored)
            return rebuild(expr, over_outputs)

        return [over_outputs(expr) for _, expr in query.selected(names)]


def selected_rows(query: ClauseQuery, measured: DataFrame) -> DataFrame:
    """The columns that a query selects from its clause's rows."""
    if query.selects_all:
        return measured
    with errors_quoting(query.text):
        named = measured.toDF(*query.renamed(measured.columns))
        selected = query.selected(named.columns)
    return named.selectExpr(*(f"{render_expression(expr)} AS {quote(name)}" for name, expr in selected))
