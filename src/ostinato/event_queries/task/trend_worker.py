"""TypedEventsPlan + the rows of some complete groups -> the output rows of each query. No Spark and no text here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError, errors_quoting
from ostinato.event_queries.enumeration.match_conditions import MatchConditions, run_conditions
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_plan import QueryPlan
from ostinato.event_queries.plan.event_program import BoundKind, Events, Program, QueryResults, SlotKind
from ostinato.event_queries.plan.event_types import TypedEventsPlan, engine_numbers
from ostinato.event_queries.task.engines import engine_of
from ostinato.event_queries.task.group_results import (
    OutputContext,
    conjunction,
    output_columns,
    results_by_group,
    row_without_matches,
)
from ostinato.event_queries.task.match_columns import Scene, match_columns, shown_matches, tie_breakers
from ostinato.event_queries.task.output_columns import match_output
from ostinato.event_queries.task.pair_tests import tie_pair_tests
from ostinato.event_queries.task.sequences import SequenceKeys, Sequences, find_sequences
from ostinato.event_queries.task.shared_matching import SharedMatching
from ostinato.event_queries.trends.engine_groups import Member, groups_of_stream
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Expr, Literal
from ostinato.expressions.values.vectors import Vector, from_arrow
from ostinato.rows.batches import Batch, Mask
from ostinato.rows.loss_report import Report
from ostinato.rows.workload_layout import OutputColumn


@dataclass(frozen=True, slots=True)
class WorkerOutput:
    """For each query of the plan its output columns, and statistics of the engines."""

    columns: Sequence[list[pa.Array]]
    statistics: Mapping[str, int]
    reports: tuple[Report, ...] = ()
    """Under a latency bound: a report on dropped state for each engine."""


def no_groups(column: str, groups: NDArray[np.int64]) -> pa.Array:
    """Group values for queries without GROUP BY; never called."""
    raise AssertionError(f"{column} of {len(groups)} groups")


class TrendWorker:
    """Runs the queries of one plan over batches. It has no state between batches."""

    def __init__(
        self,
        typed: TypedEventsPlan,
        names: Sequence[str],
        options: WorkloadOptions = WorkloadOptions(),
        shared: SharedMatching | None = None,
    ) -> None:
        """`shared` matches queries together. With None, each query that returns matches is enumerated by itself."""
        self.typed = typed
        self.plan = typed.plan
        self.names = names
        self.options = options
        self.shared = shared
        self.conditions: dict[int, MatchConditions | None] = {}

    def run(self, batch: Batch) -> WorkerOutput:
        """The output rows of all groups of the batch."""
        columns: dict[int, list[pa.Array]] = {}
        statistics: Counter[str] = Counter()
        reports: list[Report] = []
        for stream in range(len(self.plan.streams)):
            scene = self.scene(batch, stream)
            if self.shared is not None:
                together = self.shared.find(stream, scene, statistics)
                for query, matches in together.matches.items():
                    plan = self.plan.queries[query]
                    columns[query] = shown_matches(
                        plan, output_of(plan, scene, self.options), scene, matches, plan.limit
                    )
                reports += [] if together.report is None else [together.report]
            for query in self.plan.queries_of(stream):
                if self.plan.queries[query].returns_matches and query not in columns:
                    columns[query] = self.matches(query, scene)
            for query, results in self.results(stream, scene, statistics).items():
                columns[query] = self.shown(query, results, scene.group_value)
        return WorkerOutput(
            [columns[query] for query in range(len(self.plan.queries))], dict(statistics), tuple(reports)
        )

    # --- events ---

    def scene(self, batch: Batch, stream: int) -> Scene:
        """The events of a stream in order, with all conditions and values of its queries."""
        at = self.plan.streams[stream]
        queries = [self.plan.queries[i] for i in self.plan.queries_of(stream)]
        programs = [program for query in queries for program in query.programs]
        used = _used_conditions(programs)
        places = any(program.extent.by_place for program in programs)
        strict = any(program.selection is Selection.STRICT for program in programs)
        keys = SequenceKeys(
            [batch.arrays[name] for name in at.group_by],
            [batch.arrays[name] for name in at.same],
            batch.arrays[at.time],
        )
        sequences = find_sequences(
            batch.count,
            keys,
            matters=None if strict else _any_of([batch.row_masks[i] for i in sorted(used)]),
            places=places,
            ties=_ties(batch, queries) if places or any(query.returns_matches for query in queries) else None,
        )
        vectors: dict[Expr, Vector] = {}

        def vector(expr: Expr) -> Vector:
            if expr not in vectors:
                vectors[expr] = self._vector(expr, batch).take(sequences.rows)
            return vectors[expr]

        return Scene(batch, sequences, self._events(batch, sequences, programs, used, vector), vector)

    def _events(
        self,
        batch: Batch,
        sequences: Sequences,
        programs: Sequence[Program],
        used: frozenset[int],
        vector: Callable[[Expr], Vector],
    ) -> Events:
        rows, count = sequences.rows, len(sequences.rows)
        nowhere, zero = np.zeros(count, np.bool_), np.zeros(count, np.int64)
        conditions = [mask[rows] if i in used else nowhere for i, mask in enumerate(batch.row_masks)]
        needed = _used_values(programs)
        values = [
            engine_numbers(vector(value), count) if i in needed else (zero, None)
            for i, value in enumerate(self.plan.values)
        ]
        return Events(
            starts=sequences.starts,
            time=sequences.time,
            place=sequences.place,
            conditions=tuple(conditions),
            values=tuple(numbers for numbers, _ in values),
            valid=tuple(valid for _, valid in values),
            pair_tests=tie_pair_tests(
                self.plan.pair_tests, vector, self.typed.input_types.__getitem__, self.typed.settings
            ),
        )

    def _vector(self, expr: Expr, batch: Batch) -> Vector:
        if isinstance(expr, Literal):
            value = evaluate(expr, lambda node: None, 1, self.typed.settings)
            return from_arrow(value, value.type)
        return from_arrow(batch.arrays[self.plan.input_name(expr)], self.typed.input_types[expr])

    # --- aggregates ---

    def results(self, stream: int, scene: Scene, statistics: Counter[str]) -> dict[int, QueryResults]:
        """For each aggregate query of a stream, the results of its groups."""
        by_program: dict[Member, QueryResults] = {}
        new_states = [b""] * scene.sequences.count
        for group in groups_of_stream(self.plan, stream, self.options.sharing):
            engine = engine_of(group, not self.typed.approximate, self.options.sharing)
            step = engine.advance(scene.events, new_states, None)
            by_program.update(zip(group.members, step.results, strict=True))
            statistics.update(step.statistics)
        return self.combined(by_program, scene.sequences.group)

    def combined(self, by_program: Mapping[Member, QueryResults], group: NDArray[np.int64]) -> dict[int, QueryResults]:
        """The results of programs by sequence -> the results of queries by group; `group` has the group of each
        sequence."""
        results = {}
        for query in dict.fromkeys(member.query for member in by_program):
            plan = self.plan.queries[query]
            program_results = [by_program[Member(query, i)] for i in range(len(plan.programs))]
            query_results = conjunction(program_results) if plan.is_conjunction else program_results[0]
            results[query] = results_by_group(query_results, group, slot_kinds(plan))
        return results

    def results_of(self, batch: Batch) -> dict[int, QueryResults]:
        """For each aggregate query, the results of its groups over the rows of this batch."""
        by_query = {}
        for stream in range(len(self.plan.streams)):
            by_query.update(self.results(stream, self.scene(batch, stream), Counter()))
        return by_query

    def shown(
        self, query: int, results: QueryResults, group_value: Callable[[str, NDArray[np.int64]], pa.Array] = no_groups
    ) -> list[pa.Array]:
        """The output columns of an aggregate query. Without groups and windows there is always one row."""
        plan = self.plan.queries[query]
        if not len(results.sequence) and has_one_row(plan):
            results = row_without_matches(results, slot_kinds(plan))
        with errors_quoting(plan.bound.query.text):
            return output_columns(OutputContext(self.typed, query, self.names[query], group_value), results)

    # --- matches ---

    def matches(self, query: int, scene: Scene) -> list[pa.Array]:
        """The output columns of a query that returns matches."""
        plan = self.plan.queries[query]
        limits = self.options.limits(plan.limit)
        try:
            if query not in self.conditions:
                self.conditions[query] = run_conditions(self.typed, query)
            return match_columns(plan, output_of(plan, scene, self.options), scene, limits, self.conditions[query])
        except MatchError as error:
            where = f", in query '{self.names[query]}'" if self.names[query] else ""
            raise MatchError(error.code, f"{error.message}{where}", hint=error.hint) from None


def output_of(plan: QueryPlan, scene: Scene, options: WorkloadOptions) -> list[OutputColumn]:
    """The columns of a query that returns matches, with the types of the current rows."""
    return match_output(plan, {name: array.type for name, array in scene.batch.arrays.items()}, options.match_id)


def has_one_row(plan: QueryPlan) -> bool:
    """Whether the query gives a row even without a match."""
    no_windows = plan.programs[0].extent.kind is not BoundKind.WINDOWS
    return no_windows and not plan.bound.group_by and not plan.returns_matches


def slot_kinds(plan: QueryPlan) -> list[SlotKind]:
    """The kinds of the aggregates other than the count."""
    return [] if plan.is_conjunction else [slot.kind for slot in plan.programs[0].slots]


def _used_conditions(programs: Sequence[Program]) -> frozenset[int]:
    return frozenset(
        number
        for program in programs
        for numbers in (program.qualifies, *program.absent_qualifies)
        for number in numbers
    )


def _used_values(programs: Sequence[Program]) -> frozenset[int]:
    slots = (slot.value for program in programs for slot in program.slots)
    edges = (
        value
        for program in programs
        for tests in (program.edges, *program.absent_edges)
        for edge in tests
        for value in (edge.before_value, edge.after_value)
    )
    return frozenset(value for value in (*slots, *edges) if value >= 0)


def _any_of(masks: Sequence[Mask]) -> Mask | None:
    """The rows that qualify for some variable; None if all rows matter."""
    qualifying: Mask | None = np.logical_or.reduce(masks) if masks else None
    return None if qualifying is None or qualifying.all() else qualifying


def _ties(batch: Batch, queries: Sequence[QueryPlan]) -> Callable[[], list[pa.Array]]:
    """The columns that order events of the same time."""
    return lambda: tie_breakers(batch, queries[0].bound)
