"""Texts of queries + a table -> Work: what engines under different bounds run over, prepared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.api.events import events
from ostinato.clause.language.clause_query import as_clause_query
from ostinato.event_queries.enumeration.event_matches import EventMatches, find_event_matches
from ostinato.event_queries.enumeration.match_conditions import run_conditions
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.event_queries.task.match_columns import Scene
from ostinato.event_queries.task.trend_worker import TrendWorker
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import Settings
from ostinato.local.local_clause import match_table
from ostinato.local.local_clauses import LocalClauses
from ostinato.local.local_events import LocalEvents
from ostinato.rows.batches import Batch, Mask, one_array
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.merging.merged_plan import MergedPlan, merge
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.plan.event_programs import bounded_programs
from ostinato.workloads.plan.plan_lowering import lower_plan
from ostinato.workloads.plan.typed_clauses import typed_stream
from ostinato.workloads.task.arrival_rows import Arrival, arrive, numbers_of
from ostinato.workloads.task.clause_events import ClauseEvents

SETTINGS = Settings()
LIMITS = MatchLimits(most_matches=50_000_000, max_partial_matches=50_000_000)


@dataclass(frozen=True, slots=True)
class Work:
    """The patterns of one stream and its events. `separate` has their states apart."""

    names: tuple[str, ...]
    shared: MergedPlan
    shared_conditions: PlanConditions | None
    separate: MergedPlan
    separate_conditions: PlanConditions | None
    events: PlanEvents
    count_exactly: Callable[[], tuple[int, ...]]
    """The matches of each pattern, one after another by the engine that has no bounds."""

    def __len__(self) -> int:
        return len(self.events.time)

    def plan(self, *, separate: bool = False) -> tuple[MergedPlan, PlanConditions | None]:
        return (self.separate, self.separate_conditions) if separate else (self.shared, self.shared_conditions)


@dataclass(frozen=True, slots=True)
class EventWork:
    """Event queries, with their matches as the enumerator orders them."""

    work: Work
    local: LocalEvents
    scene: Scene
    arrival: Arrival

    def exactly(self, query: int) -> EventMatches:
        """By the enumerator."""
        program = self.local.typed.plan.queries[query].programs[0]
        conditions = run_conditions(self.local.typed, query)
        return find_event_matches(program, self.scene.events, LIMITS, conditions, self.scene.vector)

    def in_order(self, found: PatternMatches) -> EventMatches:
        return self.arrival.matches(found)


def event_work(texts: Sequence[str], table: pa.Table) -> EventWork:
    """Event queries of one stream, none of which the shared matcher declines."""
    names = tuple(f"q{number}" for number in range(1, len(texts) + 1))
    local = LocalEvents([events(text) for text in texts], names, table.schema, WorkloadOptions(), SETTINGS)
    typed = local.typed
    found = bounded_programs(typed, names)
    assert not found.declined, found.declined
    programs = [found.programs[number] for number in range(len(texts))]
    shared, separate = merge(programs), merge(programs, separate=True)
    scene = TrendWorker(typed, names).scene(local.batch(table), 0)
    arrival = arrive(scene, typed.plan.streams[0].keys)

    def conditions(plan: MergedPlan) -> PlanConditions:
        return lower_plan(plan, typed.input_types.__getitem__, typed.settings, typed.plan.values)

    def count_exactly() -> tuple[int, ...]:
        return tuple(whole.exactly(query).count for query in range(len(texts)))

    work = Work(
        *(names, shared, conditions(shared), separate, conditions(separate)),
        *(arrival.plan_events(numbers_of(scene.events)), count_exactly),
    )
    whole = EventWork(work, local, scene, arrival)
    return whole


def clause_work(texts: Sequence[str], table: pa.Table) -> Work:
    """MATCH_RECOGNIZE clauses of one stream, none of which runs alone."""
    names = tuple(f"q{number}" for number in range(1, len(texts) + 1))
    queries = [as_clause_query(text) for text in texts]
    local = LocalClauses(queries, names, table.schema, SETTINGS, sharing="always")
    assert not local.typed.alone, local.typed.alone
    shared = local.typed.streams[0]
    apart = typed_stream(shared.stream, [plan.typed for plan in local.plans], separate=True)
    batch = _clause_batch(local, table)
    rows = ClauseEvents(shared).read(batch, _row_conditions(local, batch))

    def count_exactly() -> tuple[int, ...]:
        return tuple(match_table(query.clause, table).num_rows for query in queries)

    return Work(
        *(names, shared.merged, shared.conditions, apart.merged, apart.conditions),
        *(rows.events, count_exactly),
    )


def _clause_batch(local: LocalClauses, table: pa.Table) -> Batch:
    """The rows with what is evaluated for each of them before matching."""
    columns = {name: one_array(table.column(name)) for name in table.column_names}

    def leaf(node: Expr) -> pa.Array | None:
        return columns.get(node.name) if isinstance(node, Column) else None

    computed = {name: ready.evaluate(leaf, table.num_rows) for name, ready in local.inputs.items()}
    masks = [ready.mask(leaf, table.num_rows) for ready in local.row_conditions]
    return Batch(table.num_rows, {**columns, **computed}, masks)


def _row_conditions(local: LocalClauses, batch: Batch) -> dict[Expr, Mask]:
    return {
        condition: batch.row_masks[place]
        for typed, places in zip(local.typed.clauses, local.typed.row_conditions, strict=True)
        for condition, place in zip(typed.plan.row_conditions, places, strict=True)
    }
