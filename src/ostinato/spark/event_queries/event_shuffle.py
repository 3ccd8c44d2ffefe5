"""Event queries that share a shuffle: the shipped columns, the keys of the shuffle, and the tasks.

In: a DataFrame and bound queries with the same GROUP BY (or the same SAME, if there is no group). Out: their output
rows in the columns of a layout.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.event_queries.enumeration.match_conditions import run_conditions
from ostinato.event_queries.language.event_query import BoundEventQuery
from ostinato.event_queries.plan.event_plan import VARIABLE, EventsPlan, plan_events
from ostinato.event_queries.plan.event_types import TypedEventsPlan, type_events
from ostinato.event_queries.task.output_columns import trend_columns
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Expr, Operator
from ostinato.rows.column_names import ERROR
from ostinato.rows.packed_conditions import bits_columns
from ostinato.rows.workload_layout import OutputColumn, Role, WorkloadLayout
from ostinato.spark.event_queries.event_keys import ShuffleKey
from ostinato.spark.event_queries.event_tasks import PARTIALS, EventsTask, GroupsTask, PartialsTask, SumsTask
from ostinato.spark.shipping.shipped_rows import ShippedRows, by_key, packed_columns, stored_name, with_row_of_nulls
from ostinato.spark.shipping.spark_input import SparkInput, SparkRefused, refused
from ostinato.spark.shipping.spark_types import spark_schema, spark_type
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.workload_rows.query_rows import QUERY, REPORT
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.report_rows import REPORT_TYPE
from ostinato.workloads.task.shared_event_matches import SharedPlans, shared_plans


def _refused(source: SparkInput, plan: EventsPlan) -> QueryError | None:
    """The error for the first expression of the plan that Spark refuses."""
    for query in plan.queries:
        alone = plan_events([query.bound])
        exprs = (*alone.conditions, *(item.expr for item in alone.inputs))
        for expr in (conjunct for condition in exprs for conjunct in _conjuncts(condition)):
            error = refused(source.df, expr, expr, query.bound.query.text)
            if error is not None:
                return error
    return None


def _conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The operands of ANDs. Each of them has its own position in the text."""
    if isinstance(expr, Operator) and expr.op == "and":
        return tuple(conjunct for arg in expr.args for conjunct in _conjuncts(arg))
    return (expr,)


class Shuffle:
    """Queries that share a shuffle."""

    def __init__(
        self,
        source: SparkInput,
        bounds: Sequence[BoundEventQuery],
        numbers: tuple[int, ...],
        names: Sequence[str],
        key: ShuffleKey,
        options: WorkloadOptions,
        request: BoundRequest,
    ) -> None:
        """`names` are those of all queries of the workload, `numbers` those of the queries of this shuffle."""
        self.source = source
        self.numbers = numbers
        self.names = tuple(names[number] for number in numbers)
        self.by_same = key.by_same
        self.carried = key.carried
        self.options = options
        self.request = request.for_queries(self.names)
        self.reports = not request.is_empty
        """Whether rows have a column for reports. All rows of a workload have it, or none."""
        plan = plan_events(bounds)
        try:
            self.types = source.types([*plan.conditions, *(item.expr for item in plan.inputs if item.is_computed)])
        except SparkRefused:
            error = _refused(source, plan)
            if error is None:
                raise
            raise error from None
        self.typed: TypedEventsPlan = type_events(
            plan,
            source.arrow_column,
            source.settings,
            numbers=options.numbers,
            approximate=options.approximate,
            expression_type=self._expression_type,
        )
        for name in self.typed.plan.keys:
            source.arrow_column(name)
        self._check_run_conditions()
        self.columns = trend_columns(self.typed, _ArrowTypes(self), options.match_id)
        self.shared = self._shared()

    def _shared(self) -> SharedPlans | None:
        """The plans of the shared matcher; None if it can't run any query."""
        candidates = sum(query.returns_matches for query in self.typed.plan.queries)
        if not self.carried and self.request.is_empty and (candidates < 2 or self.options.sharing == "never"):
            return None
        limits = self.options.limits()
        carried = frozenset(range(len(self.numbers))) if self.carried else frozenset()
        return shared_plans(self.typed, self.names, self.options.sharing, self.request, limits, carried=carried)

    def _check_run_conditions(self) -> None:
        """Raises for conditions over several events that workers can't evaluate."""
        for number, query in enumerate(self.typed.plan.queries):
            if query.run:
                run_conditions(self.typed, number)

    def _expression_type(self, expr: Expr) -> pa.DataType:
        if expr not in self.types:
            self.types |= self.source.types([expr])
        return self.source.arrow(self.types[expr], render_expression(expr))

    def spark_type(self, query: int, column: OutputColumn) -> s.DataType:
        """The type of an output column. Spark's type may be more precise than Arrow's: INTERVAL HOUR."""
        bound = self.typed.plan.queries[query].bound
        match column.role:
            case Role.GROUP:
                return self.source.column_types[column.key]
            case Role.MATCH_START | Role.MATCH_END:
                return self.source.column_types[bound.time]
            case Role.EVENTS:
                fields = [s.StructField(name, self.source.column_types[name]) for name in bound.columns]
                return s.ArrayType(s.StructType([s.StructField(VARIABLE, s.StringType()), *fields]))
            case _:
                return spark_type(column.type)

    # --- before ---

    @functools.cached_property
    def shipped(self) -> ShippedRows:
        """Keys, inputs, packed conditions, and columns that order ties if a window counts events."""
        plan = self.typed.plan
        columns = {name: quote(name) for name in plan.keys}
        columns |= {item.name: render_expression(item.expr) for item in plan.inputs}
        if any(program.extent.by_place for query in plan.queries for program in query.programs):
            columns |= {name: quote(name) for name in plan.queries[0].bound.columns if self._is_orderable(name)}
        return ShippedRows.of(self.source, columns | packed_columns(plan.conditions, self.types))

    def _is_orderable(self, name: str) -> bool:
        try:
            return not pa.types.is_map(self.source.arrow_column(name))
        except QueryError:
            return False

    @property
    def bits(self) -> tuple[str, ...]:
        """The bit columns, if events that fulfil no condition can be left out; otherwise none."""
        plan = self.typed.plan
        if any(plan.needs_all_rows(stream) for stream in range(len(plan.streams))):
            return ()
        return self._all_bits

    @property
    def _all_bits(self) -> tuple[str, ...]:
        return bits_columns(len(self.typed.plan.conditions))

    def together(self) -> DataFrame:
        """The shipped rows, all of a group in one task. If there is one group, those with equal values of SAME."""
        stream, df = self.typed.plan.streams[0], self.shipped.selected
        if self.bits:
            df = df.where(" OR ".join(f"{self.shipped.travelling(name)} <> 0" for name in self.bits))
        if not stream.group_by:
            df = with_row_of_nulls(df, zeros=[self.shipped.travelling(name) for name in self._all_bits])
        keys = stream.same if self.by_same else stream.group_by
        return by_key(df, [self.shipped.travelling(name) for name in keys])

    # --- tasks ---

    def task(self, layout: WorkloadLayout) -> EventsTask:
        """The task of the queries. Its rows have the columns of the layout."""
        arrow = [pa.field(stored_name(i), stored.type) for i, stored in enumerate(layout.stored)]
        report = [pa.field(REPORT, REPORT_TYPE)] if self.reports else []
        return EventsTask(
            typed=self.typed,
            names=self.names,
            options=self.options,
            request=self.request,
            shared=self.shared,
            shipped=self.shipped.names,
            numbers=self.numbers,
            positions=tuple(layout.column_numbers[number] for number in self.numbers),
            output=pa.schema([*arrow, *report, pa.field(QUERY, pa.int32()), pa.field(ERROR, pa.string())]),
        )

    def rows(self, task: EventsTask, schema: s.StructType) -> DataFrame:
        """The rows of the queries, with a column for the errors of tasks."""
        df = self.together()
        if not self.by_same:
            return df.mapInArrow(Checked(GroupsTask(task)), schema)
        partials = df.mapInArrow(Checked(PartialsTask(task)), spark_schema(PARTIALS))
        return partials.repartition(QUERY).mapInArrow(Checked(SumsTask(task)), schema)


class _ArrowTypes(dict[str, pa.DataType]):
    """The types of the input's columns on demand: an unsupported type is an error only if its column is shipped."""

    def __init__(self, shuffle: Shuffle) -> None:
        super().__init__()
        self.shuffle = shuffle

    def __missing__(self, name: str) -> pa.DataType:
        return self.shuffle.source.arrow_column(name)
