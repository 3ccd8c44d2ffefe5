"""The search for events with conditions over several variables: when it evaluates each of them, and the kernels.

The search evaluates a condition as soon as no later event can change its value: on the step after which none of its
variables can be bound any more, or at the end of a match if that comes first. The interpreter of DEFINE's conditions
over the run (`expressions/run_conditions/interpreter.py`) computes the value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.enumeration.event_search import build_event_search
from ostinato.event_queries.enumeration.event_tables import Steps
from ostinato.event_queries.enumeration.match_conditions import NO_LABEL, MatchConditions
from ostinato.expressions.run_conditions.interpreter import check
from ostinato.expressions.run_conditions.run_columns import Column, tie_to_columns
from ostinato.expressions.run_conditions.run_registers import Conditions, update
from ostinato.kernels.kernel_cache import called_kernel


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
