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
    """By number in `MergedPlan.run`. A condition over each event of a variable has that label, and the register for
    the event."""
    features: tuple[tuple[int, ...], ...]
    """[node] numbers in `program` of its features (`features.py`)."""
    row_values: RowValues
    """Computes the columns of `program` that aren't inputs."""
