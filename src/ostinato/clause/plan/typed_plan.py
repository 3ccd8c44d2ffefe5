"""MatchPlan + the types of its inputs -> TypedPlan: checked, with programs for the kernel, ready for workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from ostinato.calls.options import whole_number
from ostinato.clause.plan.match_plan import MatchPlan, SlotColumns, slot_name
from ostinato.errors import QueryError, Span, errors_quoting
from ostinato.expressions import types as t
from ostinato.expressions.aggregate_types import aggregate_type
from ostinato.expressions.run_conditions.lowering import lower_conditions
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.expressions.syntax import (
    Aggregate,
    Expr,
    Literal,
    MatchIdentity,
    MatchNumber,
    Navigation,
    RowClassifier,
)
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import type_of
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_names import PREFIX

DEFAULT_MAX_PARTIAL_MATCHES = 10_000_000
MOST_PARTIAL_MATCHES = 10**15
"""Kernels count in 64 bits, and one key may try a hundred times as many."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits at which a query is stopped."""

    max_partial_matches: int = DEFAULT_MAX_PARTIAL_MATCHES
    """The partial matches that may be tried from one row of one key."""

    def __post_init__(self) -> None:
        whole_number("max_partial_matches", self.max_partial_matches, most=MOST_PARTIAL_MATCHES)


@dataclass(frozen=True, slots=True)
class GeneralConditions:
    """Run conditions in the form of measures: `conditions` are over `slot_name(i)` columns."""

    conditions: tuple[Expr, ...]
    slots: tuple[Expr, ...]
    slot_types: tuple[pa.DataType, ...]
    reasons: tuple[str, ...]
    """For each condition that the kernel doesn't know, the first expression that it doesn't know."""


@dataclass(frozen=True, slots=True)
class TypedPlan:
    """A plan whose types are known."""

    plan: MatchPlan
    settings: Settings
    limits: Limits
    input_types: Mapping[Expr, pa.DataType]
    run: RunProgram | None
    """The program of the run conditions; None where there are none, or the kernel doesn't know them all."""
    general: GeneralConditions | None
    """The run conditions if the kernel doesn't know them all. They are evaluated row by row, which is slower."""
    slot_types: tuple[pa.DataType, ...]


def type_plan(
    plan: MatchPlan,
    input_type: Callable[[Expr], pa.DataType],
    column_type: Callable[[str], pa.DataType],
    settings: Settings,
    limits: Limits = Limits(),
) -> TypedPlan:
    """Checks all types that Spark doesn't check itself. `input_type` returns the types of `plan.inputs`."""
    types = {item.expr: t.normalise(input_type(item.expr), settings) for item in plan.inputs}

    def operand_type(operand: Expr) -> pa.DataType:
        if isinstance(operand, Literal):
            return type_of(operand, lambda node: None, settings)
        return types[operand]

    def fixed_leaf(node: Expr) -> pa.DataType | None:
        return operand_type(node.operand) if isinstance(node, Navigation) else None

    with errors_quoting(plan.bound.clause.text):
        for condition in plan.neighbour_conditions:
            check_condition(type_of(condition, fixed_leaf, settings), condition.span)
        run, general = None, None
        if plan.run_conditions:
            try:
                run = lower_conditions(plan.run_conditions, plan.bound.variables, operand_type, settings)
            except QueryError as error:
                if error.code != "UNSUPPORTED_ACROSS_ROWS":
                    raise
                general = _general(plan, operand_type, settings, error)
        slot_types = tuple(_slot_type(slot, operand_type, settings) for slot in plan.slots)
    _check_order(plan, column_type)
    return TypedPlan(plan, settings, limits, types, run, general, slot_types)


def _general(
    plan: MatchPlan, operand_type: Callable[[Expr], pa.DataType], settings: Settings, declined: QueryError
) -> GeneralConditions:
    """The run conditions as measures of the match so far; the kernel's error where the evaluator declines too."""
    slots = SlotColumns()
    conditions = tuple(slots.replace(condition) for condition in plan.run_conditions)
    kinds = tuple(_slot_type(slot, operand_type, settings) for slot in slots.slots)
    by_name = {slot_name(i): kind for i, kind in enumerate(kinds)}
    for condition in conditions:
        try:
            kind = type_of(condition, by_column_name(by_name), settings)
        except QueryError as error:
            raise declined if error.code in ("UNSUPPORTED_FUNCTION", "UNSUPPORTED_EXPRESSION") else error from None
        check_condition(kind, condition.span)
    reasons = tuple(dict.fromkeys((declined.message, *_unknown_to_the_kernel(plan, operand_type, settings))))
    return GeneralConditions(conditions, tuple(slots.slots), kinds, reasons)


def _unknown_to_the_kernel(
    plan: MatchPlan, operand_type: Callable[[Expr], pa.DataType], settings: Settings
) -> Iterator[str]:
    """The kernel's reasons for the conditions that it doesn't support, each condition on its own."""
    for condition in plan.run_conditions:
        try:
            lower_conditions([condition], plan.bound.variables, operand_type, settings)
        except QueryError as error:
            if error.code == "UNSUPPORTED_ACROSS_ROWS":
                yield error.message


def check_condition(kind: pa.DataType, span: Span | None) -> None:
    """Raises NOT_A_CONDITION unless the type is that of a condition."""
    if kind not in (t.BOOL, t.NULL):
        raise QueryError("NOT_A_CONDITION", f"a condition is TRUE or FALSE, this is {t.spark_name(kind)}", span=span)


def _slot_type(slot: Expr, operand_type: Callable[[Expr], pa.DataType], settings: Settings) -> pa.DataType:
    match slot:
        case MatchNumber():
            return t.INT64
        case MatchIdentity() | Navigation(operand=RowClassifier()):
            return t.STRING
        case Navigation(operand=operand):
            return operand_type(operand)
        case Aggregate(name, args, order_by=order_by, span=span):
            kinds = [type_of(arg, lambda node: argument_leaf(node, operand_type), settings) for arg in args]
            for item in order_by:
                if t.is_map(type_of(item.expr, lambda node: argument_leaf(node, operand_type), settings)):
                    raise QueryError("TYPE_MISMATCH", f"{name} can't be ordered by a map", span=item.expr.span)
            return aggregate_type(name, kinds, span)
    raise AssertionError(slot)


def argument_leaf(node: Expr, operand_type: Callable[[Expr], pa.DataType]) -> pa.DataType | None:
    """The type of a node in an aggregate's argument, if it is an input or depends on the match."""
    if isinstance(node, RowClassifier):
        return t.STRING
    if isinstance(node, MatchNumber):
        return t.INT64
    try:
        return None if isinstance(node, Literal) else operand_type(node)
    except KeyError:
        return None


def _named(column: str) -> str:
    """The name of a key in an error; nothing for an expression, whose column has a name that nobody wrote."""
    return "" if column.startswith(PREFIX) else f" '{column}'"


def _check_order(plan: MatchPlan, column_type: Callable[[str], pa.DataType]) -> None:
    for key in plan.bound.order_by:
        if t.is_map(column_type(key.column)):
            raise QueryError(
                "TYPE_MISMATCH",
                f"rows can't be ordered by the key{_named(key.column)}: it is a map",
                text=plan.bound.clause.text,
                span=key.key.span,
            )
    if plan.bound.clause.within is not None:
        first = plan.bound.order_by[0]
        kind = column_type(first.column)
        if not t.is_datetime(kind):
            raise QueryError(
                "INVALID_WITHIN",
                f"WITHIN measures time, but the first ORDER BY key{_named(first.column)} is {t.spark_name(kind)}",
                text=plan.bound.clause.text,
                span=first.key.span,
                hint="order by a DATE or TIMESTAMP first, or use MAXLENGTH",
            )
