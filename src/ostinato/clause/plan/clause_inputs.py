"""MatchPlans over one input -> the same plans, one list of columns to ship, and one list of row conditions.

An expression that several clauses share is evaluated and shipped once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ostinato.clause.plan.match_plan import MAX_PUSHED, MatchPlan, PlanInput
from ostinato.errors import QueryError
from ostinato.expressions.syntax import Column, Expr
from ostinato.rows.column_names import PREFIX


@dataclass(frozen=True, slots=True)
class SharedInputs:
    """`plans` use the names of `inputs`."""

    plans: tuple[MatchPlan, ...]
    inputs: tuple[PlanInput, ...]
    row_conditions: tuple[Expr, ...]

    def condition_indexes(self, plan: int) -> tuple[int, ...]:
        """For each row condition of a plan its index in `row_conditions`."""
        return tuple(self.row_conditions.index(condition) for condition in self.plans[plan].row_conditions)


def share_inputs(plans: Sequence[MatchPlan]) -> SharedInputs:
    """Merges the inputs of all clauses. Raises TOO_MANY_CONDITIONS."""
    inputs: dict[Expr, PlanInput] = {}
    for plan in plans:
        for item in plan.inputs:
            if item.expr not in inputs:
                name = item.name if isinstance(item.expr, Column) else f"{PREFIX}d{len(inputs)}"
                inputs[item.expr] = PlanInput(name, item.expr)
    conditions = tuple(dict.fromkeys(condition for plan in plans for condition in plan.row_conditions))
    pushed = len(conditions) + sum(item.is_computed for item in inputs.values())
    if pushed > MAX_PUSHED:
        raise QueryError(
            "TOO_MANY_CONDITIONS",
            f"the workload has {pushed:,} different expressions over one row; {MAX_PUSHED:,} is the most",
            hint="split it into several workloads",
        )
    renamed = tuple(replace(plan, inputs=tuple(inputs[item.expr] for item in plan.inputs)) for plan in plans)
    return SharedInputs(renamed, tuple(inputs.values()), conditions)
