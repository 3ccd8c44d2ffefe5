"""What clauses of a workload give, as DataFrames: each in its own columns, and all in the columns of the common schema.

In: plans over one DataFrame, and the stored columns that tasks fill. Out: lazy DataFrames. How rows come to the tasks
is said by the parts of `clause_dataframes.py` (batch) and `clauses_streaming.py` (streams).
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.plan.clause_inputs import share_inputs
from ostinato.clause.plan.match_plan import Input, MatchPlan, make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import Output
from ostinato.clause.query.clause_query import ClauseQuery
from ostinato.errors import speaking_of
from ostinato.event_queries.event_options import EventOptions
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Case, Column, ColumnRef, Expr, rebuild
from ostinato.expressions.types import Settings
from ostinato.rows.column_names import ERROR, MATCHED
from ostinato.rows.workload_layout import Role
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.event_queries.common_rows import PartRows, ShownColumn
from ostinato.spark.event_queries.event_tasks import QUERY, REPORT
from ostinato.spark.shipping.shipped_rows import stored_name
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.report_rows import REPORT_TYPE

if TYPE_CHECKING:
    from ostinato.workloads.task.clauses_worker import ClausesTask


@dataclass(frozen=True, slots=True)
class ClauseWorkload:
    """Clauses by name, what they are asked of, and how."""

    queries: tuple[ClauseQuery, ...]
    names: tuple[str, ...]
    df: DataFrame
    settings: Settings
    options: EventOptions
    request: BoundRequest
    """Says nothing of other queries."""

    @property
    def limits(self) -> Limits:
        return Limits(self.options.max_partial_matches)

    @property
    def bounded(self) -> tuple[bool, ...]:
        """For each query whether it has a bound."""
        return (False,) * len(self.names) if self.request.is_empty else self.request.bounds(self.names).bounded

    def plans(self) -> list[MatchPlan]:
        """Raises what the clauses deserve, with a caret."""
        found = []
        for query in self.queries:
            with speaking_of(query.clause.text):
                bound = bind(query.clause, self.df.columns, case_sensitive=self.settings.case_sensitive)
                found.append(make_plan(bound))
        return found


class ClausePart(ABC):
    """Queries whose rows come from one operator."""

    def __init__(self, asked: ClauseWorkload, numbers: tuple[int, ...]) -> None:
        self.asked = asked
        self.numbers = numbers

    @property
    @abstractmethod
    def rows(self) -> DataFrame:
        """Stored columns, the query's number, and what was given up."""

    @abstractmethod
    def of_query(self, at: int) -> DataFrame:
        """The rows of one query, in its own columns."""

    @abstractmethod
    def expressions(self, at: int) -> list[Expr]:
        """What the columns of a query are made of, over those of the rows."""

    @abstractmethod
    def keys(self, at: int) -> Sequence[str]:
        """The PARTITION BY columns of a query."""

    def part_rows(self) -> PartRows:
        """The rows, and what they show in the common table of a workload."""
        columns = []
        for at, number in enumerate(self.numbers):
            keys = self.keys(at)
            for field, expr in zip(self.of_query(at).schema.fields, self.expressions(at), strict=True):
                role = Role.GROUP if field.name in keys else Role.MEASURE
                columns.append(ShownColumn(role, field.name, field.dataType, expr, number))
        return PartRows(self.rows, self.asked.names, columns, has_reports=True)


class TogetherPart(ClausePart):
    """Queries of one shuffle: one projection, one list of stored columns."""

    def __init__(self, asked: ClauseWorkload, numbers: tuple[int, ...], plans: Sequence[MatchPlan]) -> None:
        """`plans` are those of these queries."""
        super().__init__(asked, numbers)
        self.names = tuple(asked.names[number] for number in numbers)
        self.request = asked.request.for_queries(self.names)
        self.shared = share_inputs(plans)
        of_plan = functools.partial(SparkQuery, df=asked.df, limits=asked.limits, settings=asked.settings)
        self.queries = [of_plan(plan) for plan in self.shared.plans]
        # What travels is what a query would ship that has the inputs and conditions of all.
        order = dict.fromkeys(key.column for plan in plans for key in plan.bound.order_by)
        inputs = dict.fromkeys((*self.shared.inputs, *(Input(name, Column(name)) for name in order)))
        together = replace(self.shared.plans[0], inputs=tuple(inputs), row_conditions=self.shared.row_conditions)
        self.travelling = of_plan(together)
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
        """The stored columns, what was given up, and the query's number."""
        fields = [s.StructField(name, kind) for (_, kind), name in self.stored.items()]
        return [*fields, s.StructField(REPORT, spark_type(REPORT_TYPE)), s.StructField(QUERY, s.IntegerType())]

    def clauses_task(self, *, on_stream: bool = False) -> ClausesTask:
        """What the workers run. Raises BOUND_NOT_SUPPORTED."""
        # Here, because these load kernels.
        from ostinato.event_queries.enumeration.event_matches import MatchLimits
        from ostinato.workloads.plan.typed_clauses import type_clauses
        from ostinato.workloads.task.clauses_worker import ClausesTask

        names, request, options = self.names, self.request, self.asked.options
        bounded = (False,) * len(names) if request.is_empty else request.bounds(names).bounded
        plans = [query.typed for query in self.queries]
        typed = type_clauses(self.shared, plans, names, bounded, options.sharing, on_stream=on_stream)
        limits = MatchLimits(most_matches=options.max_matches, max_partial_matches=options.max_partial_matches)
        return ClausesTask(typed, names, request, limits, options.buckets if on_stream else 1)

    def of_query(self, at: int) -> DataFrame:
        mine = (F.col(QUERY) == self.numbers[at]) & F.col(REPORT).isNull()
        columns = (F.col(stored).alias(name) for name, stored in self.columns[at].items())
        measured = self.queries[at].measured(self.rows.where(mine).select(*columns))
        return selected_rows(self.asked.queries[self.numbers[at]], measured)

    def keys(self, at: int) -> Sequence[str]:
        return self.queries[at].bound.partition_by

    def expressions(self, at: int) -> list[Expr]:
        query, asked, stored = self.asked.queries[self.numbers[at]], self.queries[at], self.columns[at]
        bound = asked.bound
        outputs: dict[str, Expr] = {name: Column(name) for name in asked.plan.shown}
        for measure, expr in zip(bound.measures, asked.plan.outer, strict=True):
            shows_unmatched = bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED
            outputs[measure.name] = Case(None, ((Column(MATCHED), expr),), None) if shows_unmatched else expr
        names = query.renamed(bound.output_names)
        by_name = {new: outputs[name] for new, name in zip(names, bound.output_names, strict=True)}

        def over_stored(expr: Expr) -> Expr:
            if isinstance(expr, Column):
                return Column(stored[expr.name])
            return rebuild(expr, over_stored)

        def over_outputs(expr: Expr) -> Expr:
            if isinstance(expr, ColumnRef):
                return over_stored(by_name[expr.parts[0].text])
            return rebuild(expr, over_outputs)

        return [over_outputs(expr) for _, expr in query.selected(names)]


def selected_rows(query: ClauseQuery, found: DataFrame) -> DataFrame:
    """What a query selects of its clause's rows."""
    if query.selects_all:
        return found
    with speaking_of(query.text):
        named = found.toDF(*query.renamed(found.columns))
        selected = query.selected(named.columns)
    return named.selectExpr(*(f"{render_expression(expr)} AS {quote(name)}" for name, expr in selected))
