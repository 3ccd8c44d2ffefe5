"""EventsPlan + types of its inputs -> TypedEventsPlan: types checked, edges as comparisons of numbers where possible.

Types decide which edges are comparisons of numbers: two integers are, two texts aren't. So the typed plan has a plan of
its own (`TypedEventsPlan.plan`) with new numbers. It replaces the untyped plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.typed_plan import check_condition
from ostinato.errors import QueryError, errors_quoting
from ostinato.event_queries.language.event_query import (
    GroupColumn,
    TimeSpan,
    TimeWindows,
    WindowEdge,
    aggregate_name,
)
from ostinato.event_queries.plan.event_adjacency import Comparison, as_pair_condition
from ostinato.event_queries.plan.event_plan import EventsPlan, PlanNumbering, QueryPlan, assembled
from ostinato.event_queries.plan.event_program import EdgeTest, Program, Slot, SlotKind
from ostinato.event_queries.plan.output_slots import (
    AggregateOutput,
    AverageOutput,
    ComputedOutput,
    CountOutput,
    Output,
    SlotOutput,
)
from ostinato.expressions import types as t
from ostinato.expressions.syntax import Case, Cast, Column, Expr, Literal, Navigation, Operator, walk
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import type_of
from ostinato.expressions.values.vectors import Vector
from ostinato.expressions.values.zones import DAY_US
from ostinato.kernels.numbers.number_columns import MAX_DIGITS, NumberForm
from ostinato.rows.column_leaves import by_column_name

MAX_EXACT_PRECISION = 18
"""Decimals with more digits don't fit into 64 bits as unscaled integers."""

ColumnType = Callable[[str], pa.DataType]
ExpressionType = Callable[[Expr], pa.DataType]


@dataclass(frozen=True, slots=True)
class TypedEventsPlan:
    """A plan with known types; it can be sent to workers."""

    plan: EventsPlan
    settings: Settings
    input_types: Mapping[Expr, pa.DataType]
    """The type of each expression of `plan.inputs`."""
    value_types: tuple[pa.DataType, ...]
    """The types of `plan.values`. Engines get the values as `engine_numbers` converts them."""
    output_types: tuple[tuple[pa.DataType, ...], ...]
    """For each query, the types of its output columns; empty for RETURN MATCHES."""
    form: NumberForm
    approximate: bool

    def slot_type(self, query: int, slot: int) -> pa.DataType | None:
        """The type of a slot's values; None if the slot counts events."""
        value = self.plan.queries[query].programs[0].slots[slot].value
        return None if value < 0 else self.value_types[value]

    def aggregate_type(self, query: int, output: AggregateOutput) -> pa.DataType:
        """The type of an aggregate's column."""
        slots = self.plan.queries[query].programs[0].slots
        return _aggregate_type(output, slots, self.value_types, self.form, self.approximate)


def type_events(
    plan: EventsPlan,
    column_type: ColumnType,
    settings: Settings,
    *,
    numbers: str = "decimal",
    approximate: bool = False,
    expression_type: ExpressionType | None = None,
) -> TypedEventsPlan:
    """Checks the types of all conditions, values and outputs.

    `expression_type` gives the type of expressions over one event that Spark evaluates (conditions and inputs). Without
    it they must be in the evaluator's subset. Raises NOT_A_CONDITION, UNSUPPORTED_TYPE, INVALID_TIME, INVALID_WITHIN
    and the evaluator's type errors.
    """
    form = NumberForm(numbers)
    if approximate and form is NumberForm.TEXT:
        raise QueryError("INVALID_OPTION", 'numbers="text" gives all digits, but approximate=True computes only some')
    types = _Types(plan, column_type, expression_type, settings)
    for query in plan.queries:
        with errors_quoting(query.bound.query.text):
            types.check_time(query)
            types.check_conditions(query)
    numbering = PlanNumbering()
    for condition in plan.conditions:
        numbering.condition(condition)
    retyped = []
    for query in plan.queries:
        with errors_quoting(query.bound.query.text):
            programs = tuple(types.program(program, query, numbering) for program in query.programs)
            retyped.append(replace(query, programs=programs))
    result = assembled(retyped, plan.streams, numbering)
    for test in result.pair_tests:
        check_condition(type_of(test, types.of_event, settings), test.span)
    values = tuple(types.of(value) for value in result.values)
    outputs = []
    for query in result.queries:
        with errors_quoting(query.bound.query.text):
            outputs.append(types.outputs(query, values, form, approximate))
    inputs = {item.expr: types.of(item.expr) for item in result.inputs}
    return TypedEventsPlan(result, settings, inputs, values, tuple(outputs), form, approximate)


class _Types:
    """The types of expressions over one event, and their consequences."""

    def __init__(
        self, plan: EventsPlan, column_type: ColumnType, expression_type: ExpressionType | None, settings: Settings
    ) -> None:
        self.plan = plan
        self.column_type = column_type
        self.expression_type = expression_type
        self.settings = settings
        self.known: dict[Expr, pa.DataType] = {}

    def of(self, expr: Expr) -> pa.DataType:
        """The type of an expression over one event."""
        if expr not in self.known:
            kind = self.column_type(expr.name) if isinstance(expr, Column) else self._computed(expr)
            self.known[expr] = t.normalise(kind, self.settings)
        return self.known[expr]

    def _computed(self, expr: Expr) -> pa.DataType:
        if self.expression_type is not None and not isinstance(expr, Literal):
            return self.expression_type(expr)
        return type_of(expr, lambda node: self.of(node) if isinstance(node, Column) else None, self.settings)

    def of_event(self, node: Expr) -> pa.DataType | None:
        """The type of a navigation, for conditions over several events."""
        return self.of(node.operand) if isinstance(node, Navigation) else None

    # --- checks ---

    def check_time(self, query: QueryPlan) -> None:
        """TIME must be a date or a timestamp. Whole numbers are allowed if nothing is measured in time."""
        name, bound = query.bound.time, query.bound.query.bound
        kind = self.of(Column(name))
        if t.is_datetime(kind):
            return
        if not t.is_integral(kind):
            raise QueryError(
                "INVALID_TIME",
                f"TIME must be a TIMESTAMP, a DATE or a whole number, but '{name}' is {t.spark_name(kind)}",
            )
        if isinstance(bound, TimeSpan | TimeWindows):
            raise QueryError(
                "INVALID_WITHIN",
                f"WITHIN measures time, but TIME '{name}' is {t.spark_name(kind)}",
                hint="use a DATE or TIMESTAMP column, or WITHIN n EVENTS",
            )

    def check_conditions(self, query: QueryPlan) -> None:
        for condition in query.bound.qualifies.values():
            check_condition(self.of(condition), condition.span)

    # --- programs ---

    def program(self, program: Program, query: QueryPlan, numbering: PlanNumbering) -> Program:
        """The program with values numbered anew, and edges compared according to their types."""
        return replace(
            program,
            slots=tuple(self.slot(slot, query, numbering) for slot in program.slots),
            edges=tuple(self.edge(edge, numbering) for edge in program.edges),
            absent_edges=tuple(tuple(self.edge(edge, numbering) for edge in edges) for edges in program.absent_edges),
        )

    def slot(self, slot: Slot, query: QueryPlan, numbering: PlanNumbering) -> Slot:
        if slot.value < 0:
            return slot
        value = self.plan.values[slot.value]
        kind = self.of(value)
        if slot.kind is SlotKind.COUNT and not _is_number(kind):
            value = _is_there(value)
            self.known[value] = t.INT32
        elif slot.kind is not SlotKind.COUNT:
            _check_value(slot.kind, value, kind)
        return replace(slot, value=numbering.value(value))

    def edge(self, edge: EdgeTest, numbering: PlanNumbering) -> EdgeTest:
        if edge.op is None:
            assert edge.pair_test is not None
            test = self.plan.pair_tests[edge.pair_test]
        else:
            compared = Comparison(edge.op, self.plan.values[edge.after_value], self.plan.values[edge.before_value])
            as_numbers = self.as_numbers(compared)
            if as_numbers is not None:
                before, after = numbering.value(as_numbers.before), numbering.value(as_numbers.after)
                return replace(edge, before_value=before, after_value=after)
            test = as_pair_condition(compared)
        pair = numbering.pair_tests.setdefault(test, len(numbering.pair_tests))
        return EdgeTest(edge.before, edge.after, pair_test=pair)

    def as_numbers(self, test: Comparison) -> Comparison | None:
        """The comparison with both sides of one type that engines can compare directly; None if there is none."""
        after, before = self.of(test.after), self.of(test.before)
        if after != before and not (t.is_numeric(after) and t.is_numeric(before)):
            return None
        common = t.common_type(after, before, self.settings, comparing=True)
        if common is None or not _is_number(common):
            return None
        return Comparison(test.op, self.cast(test.after, common), self.cast(test.before, common))

    def cast(self, expr: Expr, kind: pa.DataType) -> Expr:
        """The expression cast to the type. Engines don't distinguish integers of different sizes, or floats."""
        here = self.of(expr)
        if here == kind or (t.is_integral(here) and t.is_integral(kind)) or (t.is_float(here) and t.is_float(kind)):
            return expr
        cast = Cast(expr, t.spark_name(kind))
        self.known[cast] = kind
        return cast

    # --- outputs ---

    def outputs(
        self, query: QueryPlan, values: tuple[pa.DataType, ...], form: NumberForm, approximate: bool
    ) -> tuple[pa.DataType, ...]:
        def of_aggregate(output: AggregateOutput) -> pa.DataType:
            return _aggregate_type(output, query.programs[0].slots, values, form, approximate)

        def kind_of(output: Output) -> pa.DataType:
            match output:
                case GroupColumn(name):
                    return self.of(Column(name))
                case WindowEdge():
                    return window_type(query, self.of(Column(query.bound.time)))
                case ComputedOutput(expression, aggregates):
                    return self.computed(expression, [of_aggregate(each) for each in aggregates], form)
                case _:
                    return of_aggregate(output)

        return tuple(kind_of(output) for _, output in query.outputs)

    def computed(self, expression: Expr, kinds: Sequence[pa.DataType], form: NumberForm) -> pa.DataType:
        """The type of arithmetic over aggregates of these types, by Spark's rules."""
        if form is not NumberForm.DECIMAL:
            raise QueryError(
                "INVALID_OPTION",
                f'RETURN can\'t compute with aggregates that are numbers="{form.value}"',
                span=expression.span,
                hint="return the aggregates alone, or leave numbers out",
            )
        by_name = {aggregate_name(i): kind for i, kind in enumerate(kinds)}
        for node in walk(expression):
            if isinstance(node, Column) and not t.is_numeric(by_name[node.name]):
                kind = t.spark_name(by_name[node.name])
                raise QueryError(
                    "UNSUPPORTED_TYPE", f"RETURN computes with numbers only, this is {kind}", span=node.span
                )
        return type_of(expression, by_column_name(by_name), self.settings)


def _aggregate_type(
    output: AggregateOutput,
    slots: Sequence[Slot],
    values: Sequence[pa.DataType],
    form: NumberForm,
    approximate: bool,
) -> pa.DataType:
    match output:
        case CountOutput():
            return number_type(t.INT64, form, approximate)
        case AverageOutput():
            return t.DOUBLE
        case SlotOutput(i):
            kind = t.INT64 if slots[i].kind is SlotKind.COUNT else values[slots[i].value]
            is_sum = slots[i].kind in (SlotKind.COUNT, SlotKind.SUM)
            return number_type(kind, form, approximate) if is_sum else kind


def number_type(kind: pa.DataType, form: NumberForm, approximate: bool) -> pa.DataType:
    """The type of a count, or of a sum of values of this type."""
    if form is NumberForm.LOG10 or approximate or t.is_float(kind):
        return t.DOUBLE
    if form is NumberForm.TEXT:
        return t.STRING
    return pa.decimal128(MAX_DIGITS, kind.scale if t.is_decimal(kind) else 0)


def window_type(query: QueryPlan, time: pa.DataType) -> pa.DataType:
    """The type of a window's edges: that of TIME, a timestamp for windows in days, a number for windows that count
    events."""
    extent = query.programs[0].extent
    if extent.by_place:
        return t.INT64
    if time == t.DATE and (extent.length % DAY_US or extent.slide % DAY_US):
        return t.NTZ
    return time


EngineNumbers = tuple[NDArray[np.int64] | NDArray[np.float64], NDArray[np.bool_] | None]


def engine_numbers(vector: Vector, length: int) -> EngineNumbers:
    """A value of the plan for all rows in the form for engines, and where it isn't NULL (None: nowhere NULL).

    Integers, unscaled decimals, days of dates and microseconds of timestamps become int64; floats become float64.
    """
    if vector.type == t.NULL:
        return np.zeros(length, np.int64), np.zeros(length, np.bool_)
    expanded = vector.expanded(length)
    valid = None if expanded.valid is None else np.ascontiguousarray(expanded.valid)
    if t.is_float(vector.type):
        return np.ascontiguousarray(expanded.values, np.float64), valid
    return np.ascontiguousarray(expanded.values, np.int64), valid


def _is_number(kind: pa.DataType) -> bool:
    """Whether engines can hold values of the type."""
    if t.is_decimal(kind):
        return bool(kind.precision <= MAX_EXACT_PRECISION)
    return t.is_numeric(kind) or t.is_datetime(kind)


def _is_there(value: Expr) -> Expr:
    """1 where the value isn't NULL, for COUNT of values that aren't numbers."""
    return Case(None, ((Operator("not", (Operator("is null", (value,)),)), Literal("number", "1")),), None)


def _check_value(kind: SlotKind, value: Expr, type: pa.DataType) -> None:
    if _is_number(type) and (kind is not SlotKind.SUM or t.is_numeric(type)):
        return
    wanted = "numbers" if kind is SlotKind.SUM else "numbers, dates and timestamps"
    hint = None
    if t.is_decimal(type):
        wanted = f"decimals of at most {MAX_EXACT_PRECISION} digits"
        hint = f"CAST it AS DECIMAL({MAX_EXACT_PRECISION}, {min(type.scale, MAX_EXACT_PRECISION)})"
    raise QueryError(
        "UNSUPPORTED_TYPE",
        f"{kind.value.upper()} over trends takes {wanted}, this is {t.spark_name(type)}",
        span=value.span,
        hint=hint,
    )
