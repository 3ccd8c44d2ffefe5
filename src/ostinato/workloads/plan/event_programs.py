"""Event queries (RETURN MATCHES) -> PatternPrograms for the shared plan, or the reason why a query has none.


Conditions over several variables are put on the steps that decide them, as the enumerator does (`checked_search.py`):
on the step after which none of their variables can be bound any more, or at the end of a match if that comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from ostinato.calls.bounds import Bounds
from ostinato.errors import QueryError, errors_quoting
from ostinato.event_queries.automaton.trend_automaton import START, Transition, TrendAutomaton
from ostinato.event_queries.enumeration.match_conditions import refuse_distinct, unless_unbound
from ostinato.event_queries.language.event_query import RunCondition, Selection
from ostinato.event_queries.plan.event_plan import EventsPlan, QueryPlan
from ostinato.event_queries.plan.event_program import BoundKind, Program
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.expressions import types as t
from ostinato.expressions.run_conditions.lowering import lower_conditions
from ostinato.expressions.syntax import Aggregate, Anchor, Expr
from ostinato.workloads.merging.drafts import reachable
from ostinato.workloads.merging.pattern_program import EdgeCheck, PatternProgram, PatternStep, canonical_names
from ostinato.workloads.merging.renamed_conditions import IS_BOUND, events_read, renamed


@dataclass(frozen=True, slots=True)
class BoundedPrograms:
    """The queries of a workload by number: each has a program, or a reason why it has none."""

    programs: Mapping[int, PatternProgram]
    declined: Mapping[int, str]


def bounded_programs(typed: TypedEventsPlan, names: Sequence[str], bounds: Bounds | None = None) -> BoundedPrograms:
    """`names`: of the queries, for reports. `bounds` has an entry for each query; None: nothing is bounded. Raises
    nothing: a query's own engine reports its errors."""
    programs: dict[int, PatternProgram] = {}
    declined: dict[int, str] = {}
    for number, query in enumerate(typed.plan.queries):
        reason = why_declined(query)
        if reason is None:
            program = pattern_program(names[number], query, typed.plan)
            reason = _why_not_lowered(program, query, typed)
        if reason is None:
            programs[number] = replace(program, bounded=bounds is not None and bounds.bounded[number])
        else:
            declined[number] = reason
    return BoundedPrograms(programs, declined)


def why_declined(query: QueryPlan) -> str | None:
    """Why the shared plan can't run a query; None: it can."""
    if query.is_conjunction:
        return "AND asks for pairs of matches"
    if not query.returns_matches:
        return "it returns aggregates, which are computed without the matches themselves"
    if query.limit is not None:
        return "with LIMIT, which matches are returned depends on those that are dropped"
    (program,) = query.programs
    if program.selection is Selection.NEXT:
        return "with SKIP TILL NEXT MATCH, which event is next depends on those that are dropped"
    if program.selection is Selection.STRICT and program.extent.kind is BoundKind.WINDOWS and program.extent.by_place:
        return "with STRICT in windows of events, the edge of a window decides which events have the same time"
    if any(step.source == START and step.absences for step in program.automaton.transitions):
        return "NOT at the start looks at events before the match"
    if program.automaton.end_absences:
        return "NOT at the end is decided after the match"
    if any(_absent_conditions(program, number) is None for number in range(len(program.automaton.absences))):
        return "NOT of several events, or with a condition between events, isn't one condition over one event"
    return None


def _absent_conditions(program: Program, absence: int) -> tuple[int, ...] | None:
    """The conditions over one event of which none may hold; None if one event can't decide.

    If every first event of the absent pattern already completes it, the rest of the pattern adds nothing.
    """
    automaton = program.automaton.absences[absence]
    if program.absent_edges and program.absent_edges[absence]:
        return None
    if automaton.absences or automaton.end_absences:
        return None
    first = [step for step in automaton.transitions if step.source == START]
    if not all(step.target in automaton.accepting for step in first):
        return None
    return tuple(program.absent_qualifies[absence][step.label] for step in first)


def pattern_program(name: str, query: QueryPlan, plan: EventsPlan) -> PatternProgram:
    """The program of a query that isn't declined."""
    (program,) = query.programs
    automaton = program.automaton
    labels = canonical_names(program.qualifies)
    canonical = dict(zip(automaton.labels, labels, strict=True))
    checks = _StepConditions(automaton, [renamed(condition, canonical) for condition in query.run], labels)
    entry = automaton.entry_labels()
    edges: dict[tuple[int, int], list[EdgeCheck]] = {}
    pairs: dict[tuple[int, int], list[RunCondition]] = {}
    for edge in program.edges:
        between = edge.before, edge.after
        if edge.op is not None:
            edges.setdefault(between, []).append(EdgeCheck(edge.op, edge.before_value, edge.after_value))
        elif edge.pair_test is not None:
            pairs.setdefault(between, []).append(RunCondition(plan.pair_tests[edge.pair_test], frozenset()))
    steps = []
    for step in automaton.transitions:
        between = entry[step.source], step.label
        absent = [number for absence in step.absences for number in _absent_conditions(program, absence) or ()]
        steps.append(
            PatternStep(
                source=step.source,
                label=step.label,
                target=step.target,
                absent=tuple(sorted(set(absent))),
                adjacent=program.selection is Selection.STRICT and step.source != START,
                checks=checks.numbered([*checks.on_step(step), *pairs.get(between, ())]),
                edges=tuple(edges.get(between, ())),
            )
        )
    accepting = tuple((state, checks.numbered(checks.at_end(state))) for state in sorted(automaton.accepting))
    return PatternProgram(
        name, labels, program.qualifies, automaton.states, tuple(steps), accepting, tuple(checks.run), program.extent,
        query.stream,
    )  # fmt: skip


# --- conditions over several variables --------------------------------------------------------------------------------


@dataclass(slots=True)
class _StepConditions:
    """Finds the step or end that checks each condition of a pattern."""

    automaton: TrendAutomaton
    conditions: Sequence[RunCondition]
    labels: tuple[str, ...]
    run: dict[RunCondition, int] = field(default_factory=dict)
    """The conditions as they are checked, in the order in which steps name them."""
    to_come: list[frozenset[str]] = field(init=False)
    """[state] labels that may still be bound."""
    sure: dict[int, frozenset[str]] = field(init=False)
    """[state] labels that every path to it binds."""
    possible: dict[int, frozenset[str]] = field(init=False)
    """[state] labels that at least one path to it binds."""

    def __post_init__(self) -> None:
        steps = self.automaton.transitions
        following: dict[int, set[int]] = {}
        for step in steps:
            following.setdefault(step.source, set()).add(step.target)
        entry = self.automaton.entry_labels()
        self.to_come = [
            frozenset(self.labels[entry[later]] for later in reachable(following.get(state, ()), following))
            for state in range(self.automaton.states)
        ]
        self.sure = self._bound_on_paths(every=True)
        self.possible = self._bound_on_paths(every=False)

    def _bound_on_paths(self, *, every: bool) -> dict[int, frozenset[str]]:
        """[state] the labels that every path to it binds, or that at least one path binds."""
        bound: dict[int, frozenset[str]] = {START: frozenset()}
        waiting = [START]
        while waiting:
            state = waiting.pop()
            for step in self.automaton.transitions:
                if step.source != state:
                    continue
                by_step = bound[state] | {self.labels[step.label]}
                before = bound.get(step.target, by_step)
                after = before & by_step if every else before | by_step
                if step.target not in bound or after != before:
                    bound[step.target] = after
                    waiting.append(step.target)
        return bound

    def numbered(self, conditions: Sequence[RunCondition]) -> tuple[int, ...]:
        return tuple(self.run.setdefault(condition, len(self.run)) for condition in conditions)

    def on_step(self, step: Transition) -> list[RunCondition]:
        """The conditions that the step decides. A condition over each event of a variable is first checked for all of
        its events, and later for the new event only."""
        label = self.labels[step.label]
        sure, possible = self.sure[step.source] | {label}, self.possible[step.source] | {label}
        conditions = []
        for condition in self.conditions:
            if not self._is_settled(condition, step.target):
                continue
            if not self._is_settled(condition, step.source):
                conditions += _when_bound(condition, sure, possible)
            elif label == condition.each and label not in _waits_for(condition):
                conditions += _when_bound(replace(condition, each=None), sure, possible)
        return conditions

    def at_end(self, state: int) -> list[RunCondition]:
        """The conditions that only the end of a match decides."""
        conditions = []
        for condition in self.conditions:
            if not self._is_settled(condition, state):
                conditions += _when_bound(condition, self.sure[state], self.possible[state])
        return conditions

    def _is_settled(self, condition: RunCondition, state: int) -> bool:
        return state != START and not (_waits_for(condition) & self.to_come[state])


def _waits_for(condition: RunCondition) -> frozenset[str]:
    """The variables that can still change the result; `each` only where other variables' values depend on it."""
    if condition.each is None:
        return condition.variables
    depends = any(
        condition.each in (read.rows or ())
        for read in events_read(condition.condition)
        if isinstance(read, Aggregate) or read.anchor is Anchor.FIRST
    )
    return condition.variables if depends else condition.variables - {condition.each}


def _when_bound(condition: RunCondition, sure: frozenset[str], possible: frozenset[str]) -> list[RunCondition]:
    """The condition, for matches that bind its variables. It holds if one of them isn't bound."""
    if condition.variables <= sure:
        return [condition]
    if condition.variables <= possible:
        unsure = replace(condition, variables=condition.variables - sure)
        return [replace(condition, condition=unless_unbound(unsure))]
    return []


# --- conditions that the kernel can't compute -------------------------------------------------------------------------


def _why_not_lowered(program: PatternProgram, query: QueryPlan, typed: TypedEventsPlan) -> str | None:
    def input_type(operand: Expr) -> pa.DataType:
        return t.BOOL if operand == IS_BOUND else typed.input_types[operand]

    try:
        with errors_quoting(query.bound.query.text):
            refuse_distinct(program.run)
            conditions = [run_condition.condition for run_condition in program.run]
            lower_conditions(conditions, program.labels, input_type, typed.settings)
    except QueryError as error:
        return error.message.replace("several rows of the match in DEFINE", "several events of a match")
    return None
