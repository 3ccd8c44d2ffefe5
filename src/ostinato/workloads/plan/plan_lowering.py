"""MergedPlan + types -> PlanConditions: its run conditions and the features of its nodes as one program.

Registers, accumulators, columns and value programs are shared by all patterns of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.event_queries.enumeration.match_conditions import match_condition
from ostinato.expressions import types as t
from ostinato.expressions.run_conditions.lowering import lower_conditions
from ostinato.expressions.run_conditions.program_writer import InputType
from ostinato.expressions.syntax import Expr
from ostinato.workloads.merging.features import features_of
from ostinato.workloads.merging.merged_plan import MergedPlan
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.merging.renamed_conditions import IS_BOUND
from ostinato.workloads.merging.row_values import RowValues, pulled


def lower_plan(
    merged: MergedPlan,
    input_type: InputType,
    settings: t.Settings,
    values: Sequence[Expr] = (),
) -> PlanConditions:
    """`input_type`: type of an expression over one event. `values`: operands of the plan's edge checks, by number.

    Functions of one event become columns, which `row_values` computes for a batch.
    Raises UNSUPPORTED_ACROSS_ROWS for a run condition that the kernel can't compute. Front ends decline such patterns.
    Features that it can't compute are left out.
    """
    reads: dict[Expr, Expr] = {}

    def type_of_input(operand: Expr) -> pa.DataType:
        if operand == IS_BOUND:
            return t.BOOL
        return t.DOUBLE if operand in reads else input_type(operand)

    def can_compute(expr: Expr) -> bool:
        try:
            lower_conditions((), merged.labels, type_of_input, settings, (expr,))
        except QueryError:
            return False
        return True

    features = features_of(merged, values, can_compute)
    wanted = {expr: None for of_node in features for expr in of_node}
    number = {expr: index for index, expr in enumerate(wanted, start=len(merged.run))}
    exprs = [*(run_condition.condition for run_condition in merged.run), *wanted]
    exprs = [pulled(expr, reads, input_type) for expr in exprs]
    conditions, values_read = exprs[: len(merged.run)], exprs[len(merged.run) :]
    program = lower_conditions(conditions, merged.labels, type_of_input, settings, values_read)
    labels = {name: label for label, name in enumerate(merged.labels)}
    return PlanConditions(
        program=program,
        conditions=tuple(match_condition(run_condition, labels, program) for run_condition in merged.run),
        features=tuple(tuple(number[expr] for expr in of_node) for of_node in features),
        row_values=RowValues(reads, settings),
    )
