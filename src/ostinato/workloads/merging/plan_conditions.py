"""The run conditions of a MergedPlan and the features of its nodes, lowered: what the matcher asks and looks at."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.event_queries.enumeration.match_conditions import MatchCondition
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.workloads.merging.row_values import RowValues


@dataclass(frozen=True, slots=True)
class PlanConditions:
    """Ready to be sent to workers. `program.variables` are the labels of the plan."""

    program: RunProgram
    """Condition i is number i of `MergedPlan.run`; behind them come the values that features are."""
    conditions: tuple[MatchCondition, ...]
    """For each of `MergedPlan.run` the label for each of whose events it is asked, and the register for that event."""
    features: tuple[tuple[int, ...], ...]
    """For each node the numbers, within `program`, of the values by which its partial matches are told apart; those
    that are decided on soonest come first. A value is over what the partial match has bound (`interpreter.value_of`
    with its last event as the row)."""
    to_ask: tuple[int, ...]
    """For each node how many run conditions and edge checks a partial match may still be asked (SHARP, Section 5)."""
    row_values: RowValues
    """Columns of `program` that are no inputs: `row_values.column(...)` gives them too."""
