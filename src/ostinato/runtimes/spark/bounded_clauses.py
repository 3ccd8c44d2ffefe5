"""The MATCH_RECOGNIZE queries of a workload on a batch DataFrame: one pass over the rows for all of them.

    select -> repartition by key -> mapInArrow -> where (raises) -> select

Clauses with the same PARTITION BY share one shuffle and one pass in Python; measures are put around by Spark. All of it
is lazy and made of public operations only, so it is the same on Spark Connect.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.errors import QueryError, speaking_of
from ostinato.language.binding import bind
from ostinato.language.render import quote, render_expression
from ostinato.planning.clause_inputs import share_inputs
from ostinato.planning.plan import ERROR, MATCHED, Input, MatchPlan, make_plan
from ostinato.planning.typed import Limits
from ostinato.predicates.types import Settings
from ostinato.query.expressions import Case, Column, ColumnRef, Expr, Literal, Operator, rebuild
from ostinato.query.match_recognize import Output
from ostinato.runtimes.bounded_options import UNBOUNDED, BoundRequest
from ostinato.runtimes.bounded_report import REPORT_NAME, REPORT_TYPE
from ostinato.runtimes.event_queries import EventOptions
from ostinato.runtimes.local_query import LocalQuery
from ostinato.runtimes.spark.clause_tasks import WholeKeysTask
from ostinato.runtimes.spark.event_shuffle import stored_name
from ostinato.runtimes.spark.event_tasks import QUERY, REPORT
from ostinato.runtimes.spark.query import RAISES, SparkQuery, session_settings
from ostinato.runtimes.spark.types import spark_type
from ostinato.runtimes.task.workload_layout import QUERY as QUERY_NAME
from ostinato.runtimes.task.workload_layout import Role


class SparkClauses:
    """Queries on one DataFrame."""

    def __init__(
        self,
        queries: Sequence[LocalQuery],
        names: Sequence[str],
        df: DataFrame,
        options: EventOptions,
        request: BoundRequest = UNBOUNDED,
    ) -> None:
        """Raises BOUND_NOT_SUPPORTED for a query that has a bound and can't be shed."""
        if df.isStreaming:
            raise QueryError(
                "STREAM_NOT_SUPPORTED",
                "MATCH_RECOGNIZE in a workload is for batch DataFrames",
                hint="put the clause on the stream by itself with ost.match_recognize, or ask an event query",
            )
        self.queries = tuple(queries)
        self.names = tuple(names)
        self.request = request.for_queries(names)
        settings = session_settings(df)
        plans = []
        for query in queries:
            with speaking_of(query.clause.text):
                plans.append(make_plan(bind(query.clause, df.columns, case_sensitive=settings.case_sensitive)))
        by_key: dict[tuple[str, ...], list[int]] = {}
        for number, plan in enumerate(plans):
            by_key.setdefault(tuple(sorted(plan.bound.partition_by)), []).append(number)
        self.parts = [
            _Part(self, tuple(numbers), [plans[number] for number in numbers], df, settings, options)
            for numbers in by_key.values()
        ]

    def of_query(self, number: int) -> DataFrame:
        """The rows of one query, in its own columns."""
        part = next(part for part in self.parts if number in part.numbers)
        return part.of_query(part.numbers.index(number))

    def common(self, *, reports: bool = False) -> DataFrame:
        """The rows of all queries in one schema: `query`, `group` and `measures`; what queries give in different types
        is text. With `reports` also rows that tell what was given up, in a further column."""
        shown = [column for part in self.parts for column in part.shown()]
        kinds: dict[tuple[Role, str], set[s.DataType]] = {}
        for column in shown:
            kinds.setdefault((column.role, column.name), set()).add(column.kind)
        columns = {key: found.pop() if len(found) == 1 else s.StringType() for key, found in kinds.items()}
        return functools.reduce(
            lambda one, other: one.unionAll(other), (part.common(columns, reports) for part in self.parts)
        )


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of a query's result: an expression over the stored columns."""

    query: int
    role: Role
    name: str
    expr: Expr
    kind: s.DataType


class _Part:
    """The queries of one shuffle."""

    def __init__(
        self,
        whole: SparkClauses,
        numbers: tuple[int, ...],
        plans: Sequence[MatchPlan],
        df: DataFrame,
        settings: Settings,
        options: EventOptions,
    ) -> None:
        self.whole = whole
        self.numbers = numbers
        self.shared = share_inputs(plans)
        limits = Limits(options.max_partial_matches)
        self.queries = [SparkQuery(plan, df, limits, settings) for plan in self.shared.plans]
        # What travels is what a query would ship that has the inputs and conditions of all.
        order = dict.fromkeys(key.column for plan in plans for key in plan.bound.order_by)
        inputs = dict.fromkeys((*self.shared.inputs, *(Input(name, Column(name)) for name in order)))
        together = replace(self.shared.plans[0], inputs=tuple(inputs), row_conditions=self.shared.row_conditions)
        self.travelling = SparkQuery(together, df, limits, settings)
        self.options = options
        self.stored: dict[tuple[str, s.DataType], str] = {}
        self.columns = [
            {
                field.name: self.stored.setdefault((field.name, field.dataType), stored_name(len(self.stored)))
                for field in query.worker_schema().fields
                if field.name != ERROR
            }
            for query in self.queries
        ]
        self.task = self._task()

    def _task(self) -> WholeKeysTask:
        # Here, because these load kernels.
        from ostinato.matching.event_matches import MatchLimits
        from ostinato.planning.typed_clauses import type_clauses
        from ostinato.runtimes.task.bounded_clauses import ClausesTask

        names = tuple(self.whole.names[number] for number in self.numbers)
        request, options = self.whole.request.for_queries(names), self.options
        bounded = (False,) * len(names) if request.is_empty else request.bounds(names).bounded
        typed = type_clauses(self.shared, [query.typed for query in self.queries], names, bounded, options.sharing)
        limits = MatchLimits(most_matches=options.max_matches, max_partial_matches=options.max_partial_matches)
        return WholeKeysTask(
            ClausesTask(typed, names, request, limits),
            self.numbers,
            self.travelling.shipped_names,
            len(self.shared.row_conditions),
            tuple(self.columns),
            self.travelling.arrow_schema(self.schema),
        )

    @property
    def schema(self) -> s.StructType:
        """The stored columns, what was given up, the query's number and an error."""
        fields = [s.StructField(name, kind) for (_, kind), name in self.stored.items()]
        return s.StructType(
            [
                *fields,
                s.StructField(REPORT, spark_type(REPORT_TYPE)),
                s.StructField(QUERY, s.IntegerType()),
                s.StructField(ERROR, s.StringType()),
            ]
        )

    @functools.cached_property
    def rows(self) -> DataFrame:
        """What the tasks give; the error of one is raised when Spark reads its row."""
        keys = self.travelling.bound.partition_by
        df = self.travelling.projected()
        df = df.repartition(*(self.travelling.key_expression(name) for name in keys)) if keys else df.repartition(1)
        return df.mapInArrow(self.task, self.schema).where(RAISES)

    def of_query(self, at: int) -> DataFrame:
        query = self.whole.queries[self.numbers[at]]
        mine = (F.col(QUERY) == self.numbers[at]) & F.col(REPORT).isNull()
        columns = (F.col(stored).alias(name) for name, stored in self.columns[at].items())
        measured = self.queries[at].measured(self.rows.where(mine).select(*columns))
        if query.selects_all:
            return measured
        with speaking_of(query.text):
            named = measured.toDF(*query.renamed(measured.columns))
            selected = query.selected(named.columns)
        return named.selectExpr(*(f"{render_expression(expr)} AS {quote(name)}" for name, expr in selected))

    def shown(self) -> list[_Shown]:
        """The columns of all queries, in the order of the queries."""
        found = []
        for at, number in enumerate(self.numbers):
            keys = self.queries[at].bound.partition_by
            kinds = self.of_query(at).schema.fields
            for (name, expr), field in zip(self._selected(at), kinds, strict=True):
                role = Role.GROUP if name in keys else Role.MEASURE
                found.append(_Shown(number, role, name, expr, field.dataType))
        return found

    def _selected(self, at: int) -> list[tuple[str, Expr]]:
        """What a query selects, over the stored columns."""
        query, asked, stored = self.whole.queries[self.numbers[at]], self.queries[at], self.columns[at]
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

        return [(name, over_outputs(expr)) for name, expr in query.selected(names)]

    def common(self, columns: dict[tuple[Role, str], s.DataType], reports: bool) -> DataFrame:
        """The rows in the columns of the common schema."""
        names = F.array(*(F.lit(name) for name in self.whole.names))
        shown = self.shown()
        result = [F.element_at(names, F.col(QUERY) + 1).alias(QUERY_NAME)]
        for role in (Role.GROUP, Role.MEASURE):
            fields = [
                F.expr(_of_whom([column for column in shown if (column.role, column.name) == key], kind)).alias(key[1])
                for key, kind in columns.items()
                if key[0] is role
            ]
            if fields:
                result.append(F.struct(*fields).alias(role.value))
        if reports:
            return self.rows.select(*result, F.col(REPORT).alias(REPORT_NAME))
        return self.rows.where(F.col(REPORT).isNull()).select(*result)


def _of_whom(columns: Sequence[_Shown], kind: s.DataType) -> str:
    """The value that a row's query has for a column of the common schema; NULL where it has none."""
    if not columns:
        return f"CAST(NULL AS {kind.simpleString()})"
    branches = []
    for column in columns:
        mine = Operator("=", (Column(QUERY), Literal("number", str(column.query))))
        branches.append(f"WHEN {render_expression(mine)} THEN {_as(column, kind)}")
    return f"CASE {' '.join(branches)} END"


def _as(column: _Shown, kind: s.DataType) -> str:
    text = render_expression(column.expr)
    return text if column.kind == kind else f"CAST({text} AS {kind.simpleString()})"
