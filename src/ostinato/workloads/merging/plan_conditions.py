"""The run conditions of a MergedPlan and the features of its nodes, lowered to a program for the matcher."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.event_queries.enumeration.match_conditions import MatchCondition
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.workloads.merging.row_values import RowValues


@dataclass(frozen=True, slots=True)
class PlanConditions:
    """Ready to be sent to workers. `program.variables` are the labels of the plan."""

    program: RunProgram
    """Condition i is `MergedPlan.run[i]`. The values of features follow."""
    conditions: tuple[MatchCondition, ...]
    """For each of `MergedPlan.run` the label for each of whose events it is checked, and the register for that
    event."""
    features: tuple[tuple[int, ...], ...]
    """[node] numbers in `program` of the values that tell its partial matches apart; those that are decided soonest
    come first. A value reads bound variables only (`interpreter.value_of` with the last event as the row)."""
    to_ask: tuple[int, ...]
    """[node] number of run conditions and edge checks ahead of a partial match (SHARP, Section 5)."""
    row_values: RowValues
    """Computes the columns of `program` that aren't inputs."""
