"""The MATCH_RECOGNIZE queries of a workload over a table in this process: matched together, each with its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.clause.plan.clause_inputs import share_inputs
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import errors_quoting
from ostinato.event_queries.enumeration.match_limits import DEFAULT_LIMITS, MatchLimits
from ostinato.expressions.types import Settings
from ostinato.rows.arrow_tables import columns_of
from ostinato.rows.batches import Batch
from ostinato.rows.evaluated_rows import evaluated_batch
from ostinato.rows.loss_report import Report
from ostinato.rows.workload_layout import OutputColumn, Role
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest
from ostinato.workloads.plan.clause_groups import Sharing
from ostinato.workloads.plan.clauses_task import ClausesTask
from ostinato.workloads.plan.typed_clauses import type_clauses
from ostinato.workloads.task.clauses_worker import ClausesWorker


@dataclass(frozen=True, slots=True)
class ClauseTables:
    """The table of every query, the roles of its columns, and a report for each stream with a bound."""

    tables: tuple[pa.Table, ...]
    columns: tuple[list[OutputColumn], ...]
    reports: tuple[Report, ...]


class LocalClauses:
    """Queries with MATCH_RECOGNIZE over tables of one schema."""

    def __init__(
        self,
        queries: Sequence[ClauseQuery],
        names: Sequence[str],
        schema: pa.Schema,
        settings: Settings,
        request: BoundRequest = UNBOUNDED,
        limits: MatchLimits = DEFAULT_LIMITS,
        sharing: Sharing = "dynamic",
    ) -> None:
        """Raises BOUND_NOT_SUPPORTED for a query that has a bound and can't be shed."""
        self.queries = queries
        self.settings = settings
        own = request.for_queries(names)
        bounded = own.bounds(names).bounded if not own.is_empty else (False,) * len(names)
        plans = []
        for query in queries:
            with errors_quoting(query.clause.text):
                plans.append(make_plan(bind(query.clause, schema.names, case_sensitive=settings.case_sensitive)))
        shared = share_inputs(plans)
        most = Limits(limits.max_partial_matches)
        self.plans = [EvaluatedPlan(plan, schema, settings, most) for plan in shared.plans]
        ready = {
            condition: prepared
            for plan in self.plans
            for condition, prepared in zip(plan.plan.row_conditions, plan.row_conditions, strict=True)
        }
        self.row_conditions = [ready[condition] for condition in shared.row_conditions]
        self.inputs = {name: prepared for plan in self.plans for name, prepared in plan.inputs.items()}
        self.typed = type_clauses(shared, [plan.typed for plan in self.plans], names, bounded, sharing)
        self.worker = ClausesWorker(ClausesTask(self.typed, tuple(names), own, limits))

    def run(self, table: pa.Table) -> ClauseTables:
        """The rows of all queries."""
        results = self.worker.run(self.batch(table))
        tables, columns = [], []
        for query, plan, rows in zip(self.queries, self.plans, results.rows, strict=True):
            with errors_quoting(query.clause.text):
                tables.append(query.select(plan.measured(rows), self.settings))
            keys = plan.plan.bound.partition_by
            columns.append(
                [
                    OutputColumn(item.name, Role.GROUP if item.name in keys else Role.MEASURE, item.type, item.name)
                    for item in tables[-1].schema
                ]
            )
        return ClauseTables(tuple(tables), tuple(columns), results.reports)

    def batch(self, table: pa.Table) -> Batch:
        """The rows, with all expressions over a single row evaluated."""
        return evaluated_batch(columns_of(table), table.num_rows, self.inputs, self.row_conditions)
