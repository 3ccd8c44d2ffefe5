"""Bound event queries -> EventsPlan: conditions over rows, programs for engines, and outputs.

A workload is planned as a whole. A condition, a value or a test of pairs that several queries have is numbered, shipped
and evaluated once. A single query is a workload of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ostinato.clause.plan.match_plan import MAX_PUSHED, PlanInput
from ostinato.clause.plan.navigations import TRUE
from ostinato.errors import QueryError, errors_quoting
from ostinato.event_queries.automaton.trend_automaton import TrendAutomaton, both, build_trend_automaton
from ostinato.event_queries.language.event_query import (
    AdjacentCondition,
    AllOf,
    BoundEventQuery,
    EventSpan,
    EventWindows,
    ReturnMatches,
    RunCondition,
    Selection,
    TimeSpan,
    TimeWindows,
)
from ostinato.event_queries.plan.event_adjacency import Comparison, EdgeCondition, as_adjacent, edges_of, operands
from ostinato.event_queries.plan.event_program import BoundKind, EdgeTest, Extent, Program, Slot
from ostinato.event_queries.plan.output_slots import Output, OutputSlots
from ostinato.expressions.syntax import Column, Expr
from ostinato.rows.column_names import PREFIX

VARIABLE = "variable"
"""The field of a match's events that holds the name of the variable."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Queries with equal streams run over the same ordered sequences. Columns are sorted by name."""

    group_by: tuple[str, ...]
    same: tuple[str, ...]
    time: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify its sequences, each once."""
        return tuple(dict.fromkeys((*self.group_by, *self.same)))


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """One query of the workload.

    It has one program. A query with AND has three, for the first part, the second part and both (two if no match can
    belong to both). Its count is `number_columns.conjunction_counts` of their counts, sequence by sequence.
    """

    bound: BoundEventQuery
    stream: int
    programs: tuple[Program, ...]
    outputs: tuple[tuple[str, Output], ...]
    """The output columns by name; empty for RETURN MATCHES."""
    run: tuple[RunCondition, ...] = ()
    """Conditions over whole matches; only for RETURN MATCHES."""

    @property
    def returns_matches(self) -> bool:
        return isinstance(self.bound.query.returns, ReturnMatches)

    @property
    def limit(self) -> int | None:
        """The number of matches wanted for each group (and window); None if only the session limits it."""
        returns = self.bound.query.returns
        return returns.limit if isinstance(returns, ReturnMatches) else None

    @property
    def is_conjunction(self) -> bool:
        return isinstance(self.bound.query.pattern, AllOf)


@dataclass(frozen=True, slots=True)
class EventsPlan:
    """The plan of a workload. It has no types yet; `type_events` makes the plan that runs."""

    queries: tuple[QueryPlan, ...]
    streams: tuple[Stream, ...]
    conditions: tuple[Expr, ...]
    """Expressions over `Column`s of one event; programs refer to them by number."""
    values: tuple[Expr, ...]
    """Expressions over `Column`s of one event; slots and edges refer to them by number. Each is also in `inputs`."""
    pair_tests: tuple[Expr, ...]
    """Expressions over `Navigation(..., skip=1)` for the earlier event and `skip=0` for the later one."""
    inputs: tuple[PlanInput, ...]
    """The columns to ship besides `keys`: values, operands of pair tests and run conditions, returned columns."""

    def queries_of(self, stream: int) -> tuple[int, ...]:
        """The queries that run over a stream."""
        return tuple(i for i, query in enumerate(self.queries) if query.stream == stream)

    def input_name(self, expr: Expr) -> str:
        return next(item.name for item in self.inputs if item.expr == expr)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that group and order events, each once."""
        return tuple(dict.fromkeys(name for at in self.streams for name in (*at.group_by, *at.same, at.time)))

    def needs_all_rows(self, stream: int) -> bool:
        """Whether engines need events that qualify for no variable, for STRICT or for windows that count events."""
        programs = [program for i in self.queries_of(stream) for program in self.queries[i].programs]
        return any(program.selection is Selection.STRICT or program.extent.by_place for program in programs)


# --- planning ---------------------------------------------------------------------------------------------------------


def plan_events(bounds: Sequence[BoundEventQuery]) -> EventsPlan:
    """The plan of a workload whose queries are bound to the same input.

    Raises AGGREGATE_NEEDS_ADJACENT, AMBIGUOUS_NEGATION, CONJUNCTION_NOT_SUPPORTED, PATTERN_TOO_LARGE, RESERVED_NAME,
    TOO_MANY_CONDITIONS.
    """
    numbers = PlanNumbering()
    streams: dict[Stream, int] = {}
    queries = []
    for bound in bounds:
        stream = Stream(tuple(sorted(bound.group_by)), tuple(sorted(set(bound.same))), bound.time)
        with errors_quoting(bound.query.text):
            for name in bound.columns:
                if name.lower().startswith(PREFIX):
                    raise QueryError("RESERVED_NAME", f"column names that start with {PREFIX} are reserved: '{name}'")
                if name.lower() == VARIABLE and isinstance(bound.query.returns, ReturnMatches):
                    raise QueryError(
                        "RESERVED_NAME",
                        f"each event of a match has a field '{VARIABLE}' that names its variable, and the input has a "
                        f"column '{name}'",
                        hint="rename the column",
                    )
            queries.append(_query_plan(bound, streams.setdefault(stream, len(streams)), numbers))
    return assembled(queries, streams, numbers)


class PlanNumbering:
    """Numbers the conditions, values and pair tests of all queries; equal ones get the same number."""

    def __init__(self) -> None:
        self.conditions: dict[Expr, int] = {}
        self.values: dict[Expr, int] = {}
        self.pair_tests: dict[Expr, int] = {}

    def condition(self, expr: Expr) -> int:
        return self.conditions.setdefault(expr, len(self.conditions))

    def value(self, expr: Expr) -> int:
        return self.values.setdefault(expr, len(self.values))

    def edge(self, edge: EdgeCondition, automaton: TrendAutomaton) -> EdgeTest:
        before, after = automaton.labels.index(edge.before), automaton.labels.index(edge.after)
        if isinstance(edge.test, Comparison):
            values = self.value(edge.test.before), self.value(edge.test.after)
            return EdgeTest(before, after, edge.test.op, *values)
        return EdgeTest(before, after, pair_test=self.pair_tests.setdefault(edge.test, len(self.pair_tests)))


def assembled(queries: Sequence[QueryPlan], streams: Iterable[Stream], numbers: PlanNumbering) -> EventsPlan:
    """The plan for queries whose programs were numbered by `numbers`."""
    inputs: dict[Expr, PlanInput] = {}
    read = [*numbers.values]
    for condition in (*numbers.pair_tests, *(run.condition for query in queries for run in query.run)):
        read.extend(operands(condition))
    for query in queries:
        read.extend(Column(name) for name in query.bound.columns if query.returns_matches)
    for expr in read:
        name = expr.name if isinstance(expr, Column) else f"{PREFIX}d{len(inputs)}"
        inputs.setdefault(expr, PlanInput(name, expr))
    pushed = len(numbers.conditions) + sum(item.is_computed for item in inputs.values())
    if pushed > MAX_PUSHED:
        raise QueryError(
            "TOO_MANY_CONDITIONS",
            f"there are {pushed:,} different conditions and expressions over one event; {MAX_PUSHED:,} is the most",
            hint="run them as several workloads",
        )
    return EventsPlan(
        tuple(queries), tuple(streams), tuple(numbers.conditions), tuple(numbers.values), tuple(numbers.pair_tests),
        tuple(inputs.values()),
    )  # fmt: skip


def _query_plan(bound: BoundEventQuery, stream: int, numbers: PlanNumbering) -> QueryPlan:
    automata = _automata(bound)
    adjacent, run = _sorted_conditions(bound, automata)
    if run and not isinstance(bound.query.returns, ReturnMatches):
        raise QueryError(
            "AGGREGATE_NEEDS_ADJACENT",
            "aggregates are computed without listing the matches, so a condition may read one event, or two events "
            "that are adjacent in every match; this one reads others",
            span=run[0].condition.span,
            hint="RETURN MATCHES supports it",
        )
    slots = OutputSlots(automata[0], numbers.value)
    outputs = tuple((name, slots.output(item)) for name, item in bound.outputs)
    programs = tuple(_program(bound, automaton, adjacent, tuple(slots.numbers), numbers) for automaton in automata)
    return QueryPlan(bound, stream, programs, outputs, run)


def _automata(bound: BoundEventQuery) -> tuple[TrendAutomaton, ...]:
    """One automaton. For AND, those of both parts, and one for their common matches if there can be any."""
    pattern = bound.query.pattern
    if isinstance(pattern, AllOf):
        if bound.query.selection is Selection.NEXT:
            raise QueryError(
                "CONJUNCTION_NOT_SUPPORTED",
                "AND can't be used with SKIP TILL NEXT MATCH: its two parts have different next events",
                span=pattern.span,
                hint="leave it out, or use STRICT",
            )
        one, other = (build_trend_automaton(part) for part in pattern.parts)
        shared = both(one, other)
        return (one, other, shared) if shared.accepting else (one, other)
    automaton = build_trend_automaton(pattern)
    if automaton.end_absences and bound.query.bound is None:
        raise QueryError("NEGATION_NEEDS_WITHIN", "a NOT at the end needs WITHIN")
    return (automaton,)


def _sorted_conditions(
    bound: BoundEventQuery, automata: Sequence[TrendAutomaton]
) -> tuple[tuple[AdjacentCondition, ...], tuple[RunCondition, ...]]:
    """The conditions between adjacent events, and the remaining conditions over whole matches."""
    adjacent, run = dict.fromkeys(bound.adjacent), []
    for condition in bound.run:
        if not condition.variables.isdisjoint(bound.absent_variables):
            raise QueryError(
                "VARIABLE_UNDER_NOT",
                "a condition between events can't name a variable under NOT",
                span=condition.condition.span,
            )
        adjacent_in_each = [as_adjacent(condition, automaton) for automaton in automata]
        if None in adjacent_in_each:
            run.append(condition)
        else:
            adjacent.update(dict.fromkeys(item for items in adjacent_in_each for item in items or ()))
    return tuple(adjacent), tuple(run)


def _program(
    bound: BoundEventQuery,
    automaton: TrendAutomaton,
    adjacent: Sequence[AdjacentCondition],
    slots: tuple[Slot, ...],
    numbers: PlanNumbering,
) -> Program:
    def qualifies(of: TrendAutomaton) -> tuple[int, ...]:
        return tuple(numbers.condition(bound.qualifies.get(name, TRUE)) for name in of.labels)

    def edges(of: TrendAutomaton) -> tuple[EdgeTest, ...]:
        return tuple(numbers.edge(edge, of) for edge in edges_of(adjacent, of))

    absent_edges = tuple(edges(absence) for absence in automaton.absences)
    return Program(
        automaton=automaton,
        qualifies=qualifies(automaton),
        absent_qualifies=tuple(qualifies(absence) for absence in automaton.absences),
        edges=edges(automaton),
        slots=slots,
        extent=extent_of(bound),
        selection=bound.query.selection,
        absent_edges=absent_edges if any(absent_edges) else (),
    )


def extent_of(bound: BoundEventQuery) -> Extent:
    """The largest extent of a match of the query."""
    match bound.query.bound:
        case None:
            return Extent()
        case TimeSpan(length):
            return Extent(BoundKind.SPAN, False, microseconds(length))
        case EventSpan(length):
            return Extent(BoundKind.SPAN, True, length - 1)
        case TimeWindows(length, slide):
            return Extent(BoundKind.WINDOWS, False, microseconds(length), microseconds(slide))
        case EventWindows(length, slide):
            return Extent(BoundKind.WINDOWS, True, length, slide)


def microseconds(length: timedelta) -> int:
    return length // timedelta(microseconds=1)
