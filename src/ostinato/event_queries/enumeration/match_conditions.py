"""Conditions over several variables of an event query -> a program for the interpreter. Loads no kernel.

A condition is compiled to the same small program as DEFINE's conditions over the run
(`expressions/run_conditions/lowering.py`). `checked_search.py` says when the search evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.errors import QueryError, errors_quoting
from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton
from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.expressions import types as t
from ostinato.expressions.run_conditions.lowering import lower_conditions
from ostinato.expressions.run_conditions.opcodes import RegisterRule
from ostinato.expressions.run_conditions.run_program import Register, RunProgram
from ostinato.expressions.syntax import Aggregate, Anchor, Expr, Literal, Navigation, Operator, walk

NO_LABEL = -1
_TRUE = Literal("boolean", "TRUE")


@dataclass(frozen=True, slots=True)
class MatchCondition:
    """When the search evaluates a condition; number i is condition i of the program."""

    waits_for: frozenset[int]
    """The labels that can still change the answer; with `each`, other labels than that one."""
    each: int
    """The label for each of whose events the condition is evaluated, or NO_LABEL."""
    register: int
    """The register in which the interpreter finds that event, or -1."""


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """All conditions over several variables of a query, ready to be sent to workers."""

    program: RunProgram
    conditions: tuple[MatchCondition, ...]


def run_conditions(typed: TypedEventsPlan, query: int) -> MatchConditions | None:
    """The lowered conditions of one query of a plan. Errors point into the query's text."""
    plan = typed.plan.queries[query]
    with errors_quoting(plan.bound.query.text):
        return lower_run_conditions(plan.run, plan.programs[0].automaton, typed.input_types.__getitem__, typed.settings)


def lower_run_conditions(
    run: Sequence[RunCondition],
    automaton: TrendAutomaton,
    operand_type: Callable[[Expr], pa.DataType],
    settings: t.Settings,
) -> MatchConditions | None:
    """The conditions of a RETURN MATCHES query; None if it has none. `operand_type` types expressions over one row.

    Raises UNSUPPORTED_ACROSS_ROWS for expressions that the kernel doesn't support.
    """
    if not run:
        return None
    always = always_bound(automaton)
    numbers = {name: label for label, name in enumerate(automaton.labels)}
    conditions = []
    for condition in run:
        labels = frozenset(numbers[name] for name in condition.variables)
        conditions.append(condition.condition if labels <= always else unless_unbound(condition))
    refuse_distinct(run)

    def input_type(operand: Expr) -> pa.DataType:
        return t.BOOL if operand == _TRUE else operand_type(operand)

    try:
        program = lower_conditions(conditions, automaton.labels, input_type, settings)
    except QueryError as error:
        if error.code == "UNSUPPORTED_ACROSS_ROWS":
            error.message = error.message.replace("several rows of the match in DEFINE", "several events of a match")
        raise
    return MatchConditions(program, tuple(match_condition(condition, numbers, program) for condition in run))


def match_condition(condition: RunCondition, numbers: dict[str, int], program: RunProgram) -> MatchCondition:
    """When a condition is evaluated; `numbers` are the labels by name, `program` is the lowered condition."""
    labels = frozenset(numbers[name] for name in condition.variables)
    if condition.each is None:
        return MatchCondition(labels, NO_LABEL, -1)
    register = Register(RegisterRule.LAST, frozenset({condition.each}))
    each = numbers[condition.each]
    alone = not any(
        condition.each in (node.rows or ())
        for node in walk(condition.condition)
        if isinstance(node, Aggregate) or (isinstance(node, Navigation) and node.anchor is Anchor.FIRST)
    )
    register_index = program.registers.index(register) if register in program.registers else -1
    return MatchCondition(labels - {each} if alone else labels, each, register_index)


def unless_unbound(condition: RunCondition) -> Expr:
    """The condition, or TRUE if one of its variables has no event."""
    rows = [Navigation(_TRUE, frozenset({name}), Anchor.LAST) for name in sorted(condition.variables)]
    missing = tuple(Operator("is null", (row,)) for row in rows)
    return Operator("or", (*missing, condition.condition))


def always_bound(automaton: TrendAutomaton) -> frozenset[int]:
    """The labels that every match binds."""
    bound: dict[int, frozenset[int]] = {START: frozenset()}
    waiting = [START]
    while waiting:
        state = waiting.pop()
        for step in automaton.transitions:
            if step.source != state:
                continue
            after = bound[state] | {step.label}
            before = bound.get(step.target)
            if before is None or not before <= after:
                bound[step.target] = after if before is None else before & after
                waiting.append(step.target)
    ends = [bound[state] for state in automaton.accepting if state in bound]
    return frozenset.intersection(*ends) if ends else frozenset()


def refuse_distinct(run: Sequence[RunCondition]) -> None:
    for condition in run:
        for node in walk(condition.condition):
            if isinstance(node, Aggregate) and node.distinct and node.name not in ("min", "max"):
                raise QueryError(
                    "UNSUPPORTED_ACROSS_ROWS", "aggregates over the events of a match take no DISTINCT", span=node.span
                )
