"""Event queries over tables in this process, no JVM. Expressions are the evaluator's subset of Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ostinato.event_queries.event_request import EventRequest, bound_queries, with_groups
from ostinato.event_queries.plan.event_plan import plan_events
from ostinato.event_queries.plan.event_types import TypedEventsPlan, type_events
from ostinato.event_queries.task.output_columns import trend_columns
from ostinato.event_queries.task.trend_worker import TrendWorker, WorkerOutput
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import PreparedExpression, prepare
from ostinato.expressions.syntax import Expr
from ostinato.local.missing_types import warn_of_missing_types
from ostinato.rows.arrow_tables import as_table, columns_of
from ostinato.rows.batches import Batch
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.evaluated_rows import evaluated_batch
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest
from ostinato.workloads.task.shared_event_matches import shared_plans


def match_events(query: EventRequest, table: Any, settings: t.Settings) -> pa.Table:
    """The rows of one event query."""
    arrow = as_table(table, settings)
    local = LocalEvents([query], ("",), arrow.schema, query.options, settings)
    return local.tables(local.run(arrow).columns)[0]


class LocalEvents:
    """Queries over tables of one schema, whose row expressions are evaluated here."""

    def __init__(
        self,
        queries: Sequence[EventRequest],
        names: Sequence[str],
        schema: pa.Schema,
        options: WorkloadOptions,
        settings: t.Settings,
        request: BoundRequest = UNBOUNDED,
    ) -> None:
        self.settings = settings
        self.names = names
        self.types = {field.name: field.type for field in schema}
        plan = plan_events(with_groups(bound_queries(queries, schema.names, settings)))
        self.typed: TypedEventsPlan = type_events(
            plan, self.types.__getitem__, settings, numbers=options.numbers, approximate=options.approximate
        )
        self.columns = trend_columns(self.typed, self.types, options.match_id)
        self.options = options
        self.request = request.for_queries(names)

    def run(self, table: pa.Table) -> WorkerOutput:
        warn_of_missing_types((query.bound for query in self.typed.plan.queries), table, self.settings)
        shared = shared_plans(self.typed, self.names, self.options.sharing, self.request, self.options.limits())
        return TrendWorker(self.typed, self.names, self.options, shared).run(self.batch(table))

    def batch(self, table: pa.Table) -> Batch:
        """The rows, with all expressions over a single row evaluated."""
        plan = self.typed.plan
        inputs = {item.name: self._prepared(item.expr) for item in plan.inputs if item.is_computed}
        conditions = [self._prepared(condition) for condition in plan.conditions]
        return evaluated_batch(columns_of(table), table.num_rows, inputs, conditions)

    def _prepared(self, expr: Expr) -> PreparedExpression:
        return prepare(expr, by_column_name(self.types), self.settings)

    def tables(self, answers: Sequence[Sequence[pa.Array] | None]) -> list[pa.Table]:
        """The output columns of each query as a table; None stands for no rows."""
        return [
            table.select([i for i, column in enumerate(columns) if column.name])
            for columns, table in zip(self.columns, self.all_columns(answers), strict=True)
        ]

    def all_columns(self, answers: Sequence[Sequence[pa.Array] | None]) -> list[pa.Table]:
        """The same tables with the groups that RETURN doesn't list; those columns have no name."""
        tables = []
        for columns, arrays in zip(self.columns, answers, strict=True):
            schema = pa.schema([pa.field(column.name, column.type) for column in columns])
            tables.append(schema.empty_table() if arrays is None else pa.Table.from_arrays(list(arrays), schema=schema))
        return tables
