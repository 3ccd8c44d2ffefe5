"""Conditions over several variables in the search for events: the steps on which it evaluates each, and the kernel.

The search evaluates a condition as soon as no later event can change its value: on the step after which none of its
variables can be bound any more, or at the end of a match if that comes first. The interpreter of DEFINE's conditions
over the run (`expressions/run_conditions/interpreter.py`) computes the value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton
from ostinato.event_queries.enumeration.event_search import build_event_search
from ostinato.event_queries.enumeration.event_tables import Steps
from ostinato.event_queries.enumeration.match_conditions import NO_LABEL, MatchConditions
from ostinato.event_queries.plan.event_adjacency import labels_behind
from ostinato.expressions.run_conditions.interpreter import check
from ostinato.expressions.run_conditions.run_columns import Column, tie_to_columns
from ostinato.expressions.run_conditions.run_registers import ConditionArrays, update
from ostinato.kernels.kernel_cache import called_kernel


class Checks(NamedTuple):
    """The conditions to evaluate: on step t those from `step_at[t]` on, at an end in state q from `end_at[q]` on."""

    conditions: ConditionArrays
    step_at: NDArray[np.int64]
    step_condition: NDArray[np.int32]
    step_all: NDArray[np.bool_]
    """Whether the condition is evaluated for all events of its `each` label, or for the one that takes the step."""
    end_at: NDArray[np.int64]
    end_condition: NDArray[np.int32]
    each: NDArray[np.int32]
    register: NDArray[np.int32]


def tie_checks(
    conditions: MatchConditions, automaton: TrendAutomaton, steps: Steps, rows: int, column: Column
) -> Checks:
    """The conditions over the current rows; `column` gives the values of an expression over one row, for all rows."""
    count = len(conditions.conditions)
    tied = tie_to_columns(
        conditions.program, range(count), np.arange(len(conditions.program.variables), dtype=np.int32), rows, column
    )
    settled = [
        [not any(later >> label & 1 for label in item.waits_for) for item in conditions.conditions]
        for later in labels_behind(automaton)
    ]
    """For each state and condition, whether no later event can change the condition's value."""
    on_step: list[list[tuple[int, bool]]] = []
    for state in range(len(steps.entry)):
        for step in range(steps.leave_at[state], steps.leave_at[state + 1]):
            target, label = steps.target[step], steps.label[step]
            due = []
            for number, item in enumerate(conditions.conditions):
                if settled[target][number] and (state == START or not settled[state][number]):
                    due.append((number, True))
                elif settled[target][number] and label == item.each and item.each not in item.waits_for:
                    due.append((number, False))
            on_step.append(due)
    at_end = [[number for number in range(count) if not settled[state][number]] for state in range(automaton.states)]
    return Checks(
        conditions=tied,
        step_at=np.cumsum([0, *(len(due) for due in on_step)]),
        step_condition=np.array([number for due in on_step for number, _ in due], np.int32),
        step_all=np.array([for_all for due in on_step for _, for_all in due], np.bool_),
        end_at=np.cumsum([0, *(len(due) for due in at_end)]),
        end_condition=np.array([number for due in at_end for number in due], np.int32),
        each=np.array([item.each for item in conditions.conditions], np.int32),
        register=np.array([item.register for item in conditions.conditions], np.int32),
    )


@called_kernel
def _evaluate(number, for_all, row, depth, first, end, arrays, checks):  # type: ignore[no-untyped-def]
    """Condition `number` over the events of depths 1 to depth + 1. 1: it holds. 0: it doesn't. Negative: an error."""
    each, register = checks.each[number], checks.register[number]
    for_each = for_all and each != NO_LABEL and register >= 0
    saved_row = arrays.registers[depth + 1, register] if for_each else 0
    verdict = 1
    for event_depth in range(1 if for_each else depth + 1, depth + 2):
        if for_each:
            if arrays.label[event_depth] != each:
                continue
            arrays.registers[depth + 1, register] = arrays.row[event_depth]
        verdict = check(number, arrays.label[depth + 1], row, depth, first, end, 0, arrays, checks.conditions)
        if verdict != 1:
            break
    if for_each:
        arrays.registers[depth + 1, register] = saved_row
    return verdict


@called_kernel
def _holds_on_step(step, row, depth, first, end, arrays, checks):  # type: ignore[no-untyped-def]
    for at in range(checks.step_at[step], checks.step_at[step + 1]):
        verdict = _evaluate(checks.step_condition[at], checks.step_all[at], row, depth, first, end, arrays, checks)
        if verdict != 1:
            return verdict
    return 1


@called_kernel
def _holds_at_end(state, row, depth, first, end, arrays, checks):  # type: ignore[no-untyped-def]
    for at in range(checks.end_at[state], checks.end_at[state + 1]):
        verdict = _evaluate(checks.end_condition[at], True, row, depth - 1, first, end, arrays, checks)
        if verdict != 1:
            return verdict
    return 1


search_checked_events = build_event_search("search_checked_events", update, _holds_on_step, _holds_at_end)
"""For queries with conditions over several variables."""
