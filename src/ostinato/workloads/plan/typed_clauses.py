"""Clauses of a workload with known types -> TypedClauses: everything that workers need, ready to be sent to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ostinato.clause.plan.clause_inputs import SharedInputs
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.expressions import types as t
from ostinato.expressions.syntax import Column, Expr, Literal
from ostinato.expressions.typing import type_of
from ostinato.workloads.merging.merged_plan import MergedPlan, merge
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.plan.clause_conditions import PLACE
from ostinato.workloads.plan.clause_groups import ClauseStream, Sharing, plan_clauses
from ostinato.workloads.plan.plan_lowering import lower_plan


@dataclass(frozen=True, slots=True)
class TypedStream:
    """A stream with the plan that its clauses share."""

    stream: ClauseStream
    inputs: TypedPlan
    """The plan of one of its clauses, with the inputs of all clauses."""
    merged: MergedPlan
    conditions: PlanConditions | None


@dataclass(frozen=True, slots=True)
class TypedClauses:
    """A workload of clauses."""

    clauses: tuple[TypedPlan, ...]
    row_conditions: tuple[tuple[int, ...], ...]
    """[clause] the indexes of its row conditions among those of the workload."""
    streams: tuple[TypedStream, ...]
    alone: dict[int, str]
    """The clauses that run alone, each with the reason."""


def type_clauses(
    shared: SharedInputs,
    typed: Sequence[TypedPlan],
    names: Sequence[str],
    bounded: Sequence[bool],
    sharing: Sharing = "dynamic",
    *,
    on_stream: bool = False,
) -> TypedClauses:
    """`typed` are the plans of `shared` with their types; `bounded` says which of them have a bound.

    `sharing="never"` keeps the state of every clause apart. `on_stream` as in `plan_clauses`. Raises
    BOUND_NOT_SUPPORTED.
    """
    plan = plan_clauses(typed, names, bounded, sharing, on_stream=on_stream)
    streams = tuple(typed_stream(stream, typed, separate=sharing == "never") for stream in plan.streams)
    row_conditions = tuple(shared.condition_indexes(number) for number in range(len(typed)))
    return TypedClauses(tuple(typed), row_conditions, streams, plan.alone)


def typed_stream(stream: ClauseStream, typed: Sequence[TypedPlan], *, separate: bool) -> TypedStream:
    """The stream with one plan for all of its clauses. With `separate` they share no state."""
    members = [typed[clause.clause] for clause in stream.clauses]
    inputs = dict.fromkeys(item for member in members for item in member.plan.inputs)
    kinds = {expr: kind for member in members for expr, kind in member.input_types.items()}
    first = members[0]
    together = replace(first, plan=replace(first.plan, inputs=tuple(inputs)), input_types=kinds)
    merged = merge([clause.program for clause in stream.clauses], separate=separate)
    conditions = lower_plan(merged, _operand_type(stream, together), first.settings)
    return TypedStream(stream, together, merged, conditions)


def _operand_type(stream: ClauseStream, typed: TypedPlan) -> Callable[[Expr], pa.DataType]:
    def kind(operand: Expr) -> pa.DataType:
        if isinstance(operand, Column):
            if operand.name == PLACE:
                return t.INT64
            if operand.name in stream.neighbours:
                return kind(stream.neighbours[operand.name].operand)
        if isinstance(operand, Literal):
            return type_of(operand, lambda node: None, typed.settings)
        return typed.input_types[operand]

    return kind
