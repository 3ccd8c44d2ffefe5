"""Conditions over several variables of an event query: when each is asked, and how the search asks it.

A condition is asked as soon as nothing that may still come can change its answer: on the step after which none of its
variables can be bound any more, or at the end of a match if that comes first. It is compiled to the same small program
as DEFINE's conditions over the run (`expressions/run_conditions/lowering.py`) and run by the same interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import QueryError
from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton
from ostinato.event_queries.enumeration.event_search import build_event_search
from ostinato.event_queries.enumeration.event_tables import Steps
from ostinato.event_queries.language.event_query import RunCondition
from ostinato.expressions import types as t
from ostinato.expressions.run_conditions.interpreter import check
from ostinato.expressions.run_conditions.lowering import lower_conditions
from ostinato.expressions.run_conditions.opcodes import Keep
from ostinato.expressions.run_conditions.run_columns import Column, tie_to_columns
from ostinato.expressions.run_conditions.run_program import Register, RunProgram
from ostinato.expressions.run_conditions.run_registers import Conditions, update
from ostinato.expressions.syntax import Aggregate, Anchor, Expr, Literal, Navigation, Operator, walk
from ostinato.kernels.kernel_cache import called_kernel

NO_LABEL = -1
_TRUE = Literal("boolean", "TRUE")


@dataclass(frozen=True, slots=True)
class MatchCondition:
    """A condition as the search asks it: number i is condition i of the program."""

    waits_for: frozenset[int]
    """The labels that can still change the answer; with `each` only the others."""
    each: int
    """The label for each of whose events it is asked, or NO_LABEL."""
    register: int
    """The register in which the interpreter looks for that event, or -1."""


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """All conditions over several variables of a query, ready to be sent to workers."""

    program: RunProgram
    conditions: tuple[MatchCondition, ...]


def lower_run_conditions(
    run: Sequence[RunCondition],
    automaton: TrendAutomaton,
    operand_type: Callable[[Expr], pa.DataType],
    settings: t.Settings,
) -> MatchConditions | None:
    """The conditions of a RETURN MATCHES query; None when there are none. `operand_type`: of expressions over one row.

    Raises UNSUPPORTED_ACROSS_ROWS for what the kernel doesn't know.
    """
    if not run:
        return None
    sure = always_bound(automaton)
    numbers = {name: label for label, name in enumerate(automaton.labels)}
    wanted = []
    for condition in run:
        labels = frozenset(numbers[name] for name in condition.variables)
        wanted.append(condition.condition if labels <= sure else unless_unbound(condition))
    refuse_distinct(run)

    def input_type(operand: Expr) -> pa.DataType:
        return t.BOOL if operand == _TRUE else operand_type(operand)

    try:
        program = lower_conditions(wanted, automaton.labels, input_type, settings)
    except QueryError as error:
        if error.code == "UNSUPPORTED_ACROSS_ROWS":
            error.message = error.message.replace("several rows of the match in DEFINE", "several events of a match")
        raise
    return MatchConditions(program, tuple(match_condition(condition, numbers, program) for condition in run))


def match_condition(condition: RunCondition, numbers: dict[str, int], program: RunProgram) -> MatchCondition:
    """When a condition is asked; `numbers` are the labels by name, `program` is what it was lowered to."""
    labels = frozenset(numbers[name] for name in condition.variables)
    if condition.each is None:
        return MatchCondition(labels, NO_LABEL, -1)
    register = Register(Keep.LAST, frozenset({condition.each}))
    each = numbers[condition.each]
    alone = not any(
        condition.each in (node.rows or ())
        for node in walk(condition.condition)
        if isinstance(node, Aggregate) or (isinstance(node, Navigation) and node.anchor is Anchor.FIRST)
    )
    where = program.registers.index(register) if register in program.registers else -1
    return MatchCondition(labels - {each} if alone else labels, each, where)


def unless_unbound(condition: RunCondition) -> Expr:
    """The condition, or TRUE where one of its variables has no event."""
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
            here = bound[state] | {step.label}
            known = bound.get(step.target)
            if known is None or not known <= here:
                bound[step.target] = here if known is None else known & here
                waiting.append(step.target)
    ends = [bound[state] for state in automaton.accepting if state in bound]
    return frozenset.intersection(*ends) if ends else frozenset()


def refuse_distinct(run: Sequence[RunCondition]) -> None:
    for condition in run:
        for node in walk(condition.condition):
            if isinstance(node, Aggregate) and node.distinct and node.name not in ("min", "max"):
                raise QueryError(
                    "UNSUPPORTED_ACROSS_ROWS", "DISTINCT can't be asked of the events of a match", span=node.span
                )


# --- for the kernel ---------------------------------------------------------------------------------------------------


class Checks(NamedTuple):
    """When which condition is asked: on step t those from `step_at[t]` on, at an end in state q from `end_at[q]` on."""

    conditions: Conditions
    step_at: NDArray[np.int64]
    step_condition: NDArray[np.int32]
    step_all: NDArray[np.bool_]
    """Whether it is asked for all events of its `each` label, or for the one that takes the step."""
    end_at: NDArray[np.int64]
    end_condition: NDArray[np.int32]
    each: NDArray[np.int32]
    register: NDArray[np.int32]


def tie_checks(conditions: MatchConditions, steps: Steps, rows: int, column: Column) -> Checks:
    """The conditions over the rows at hand; `column` gives the values of an expression over one row, for all rows."""
    count = len(conditions.conditions)
    tied = tie_to_columns(
        conditions.program, range(count), np.arange(len(conditions.program.variables), dtype=np.int32), rows, column
    )
    later = _labels_to_come(steps)
    settled = [[not (item.waits_for & later[q]) for item in conditions.conditions] for q in range(len(later))]
    on_step: list[list[tuple[int, bool]]] = []
    for state in range(len(steps.entry)):
        for step in range(steps.leave_at[state], steps.leave_at[state + 1]):
            target, label = steps.target[step], steps.label[step]
            asked = []
            for number, item in enumerate(conditions.conditions):
                if settled[target][number] and (state == START or not settled[state][number]):
                    asked.append((number, True))
                elif settled[target][number] and label == item.each and item.each not in item.waits_for:
                    asked.append((number, False))
            on_step.append(asked)
    at_end = [[number for number in range(count) if not settled[state][number]] for state in range(len(later))]
    return Checks(
        conditions=tied,
        step_at=np.cumsum([0, *(len(asked) for asked in on_step)]),
        step_condition=np.array([number for asked in on_step for number, _ in asked], np.int32),
        step_all=np.array([whole for asked in on_step for _, whole in asked], np.bool_),
        end_at=np.cumsum([0, *(len(asked) for asked in at_end)]),
        end_condition=np.array([number for asked in at_end for number in asked], np.int32),
        each=np.array([item.each for item in conditions.conditions], np.int32),
        register=np.array([item.register for item in conditions.conditions], np.int32),
    )


def _labels_to_come(steps: Steps) -> list[set[int]]:
    """For each state the labels of events that may still follow."""
    later: list[set[int]] = [set() for _ in steps.entry]
    changed = True
    while changed:
        changed = False
        for state, found in enumerate(later):
            before = len(found)
            for step in range(steps.leave_at[state], steps.leave_at[state + 1]):
                found |= {int(steps.label[step])} | later[steps.target[step]]
            changed |= len(found) > before
    return later


@called_kernel
def _ask(number, whole, row, depth, first, end, work, checks):  # type: ignore[no-untyped-def]
    """Condition `number` over the events of depths 1 to depth + 1: 1 it holds, 0 not, negative an error."""
    each, register = checks.each[number], checks.register[number]
    of_all = whole and each != NO_LABEL and register >= 0
    kept = work.registers[depth + 1, register] if of_all else 0
    verdict = 1
    for place in range(1 if of_all else depth + 1, depth + 2):
        if of_all:
            if work.label[place] != each:
                continue
            work.registers[depth + 1, register] = work.row[place]
        verdict = check(number, work.label[depth + 1], row, depth, first, end, 0, work, checks.conditions)
        if verdict != 1:
            break
    if of_all:
        work.registers[depth + 1, register] = kept
    return verdict


@called_kernel
def _holds_on_step(step, row, depth, first, end, work, checks):  # type: ignore[no-untyped-def]
    for at in range(checks.step_at[step], checks.step_at[step + 1]):
        verdict = _ask(checks.step_condition[at], checks.step_all[at], row, depth, first, end, work, checks)
        if verdict != 1:
            return verdict
    return 1


@called_kernel
def _holds_at_end(state, row, depth, first, end, work, checks):  # type: ignore[no-untyped-def]
    for at in range(checks.end_at[state], checks.end_at[state + 1]):
        verdict = _ask(checks.end_condition[at], True, row, depth - 1, first, end, work, checks)
        if verdict != 1:
            return verdict
    return 1


search_checked_events = build_event_search("search_checked_events", update, _holds_on_step, _holds_at_end)
"""For queries with conditions over several variables."""
