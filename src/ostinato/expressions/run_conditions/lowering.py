"""Conditions over the run -> RunProgram. An error names an expression that kernels can't evaluate."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.functions.functions_units import DIFFERENCES, UNIT_US
from ostinato.expressions.run_conditions.opcodes import MATH_FUNCTIONS, Opcode
from ostinato.expressions.run_conditions.operator_code import OperatorCode
from ostinato.expressions.run_conditions.program_writer import InputType, scale_of, store_of
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.expressions.syntax import (
    Aggregate,
    Call,
    Case,
    Cast,
    Expr,
    Literal,
    MatchNumber,
    Navigation,
    Operator,
    RowClassifier,
)
from ostinato.expressions.values.zones import DAY_US

_MATH_ALIASES = {"log": "ln"}


def lower_conditions(
    conditions: Sequence[Expr],
    variables: tuple[str, ...],
    input_type: InputType,
    settings: t.Settings,
    values: Sequence[Expr] = (),
) -> RunProgram:
    """The program of all conditions, then of `values`, which get the next numbers.

    The program computes each value as a real number, which `interpreter.value_of` reads: dates as days, times as
    microseconds, a text as a hash that is the same in every process.
    """
    lowering = _Lowering(variables, input_type, settings)
    first, entry = [0], [0]
    for condition in conditions:
        kind = lowering.type_of(condition)
        if kind not in (t.BOOL, t.NULL):
            raise QueryError(
                "NOT_A_CONDITION",
                f"a condition is TRUE or FALSE, this is {t.spark_name(kind)}",
                span=condition.span,
            )
        conjuncts = condition.args if isinstance(condition, Operator) and condition.op == "and" else (condition,)
        for conjunct in conjuncts:
            lowering.depth = 0
            lowering.emit(conjunct)
            entry.append(len(lowering.code))
        first.append(len(entry) - 1)
    for value in values:
        lowering.depth = 0
        lowering.emit_real(value)
        entry.append(len(lowering.code))
        first.append(len(entry) - 1)
    return RunProgram(
        variables,
        tuple(lowering.columns),
        tuple(lowering.registers),
        tuple(lowering.accumulators),
        tuple(lowering.code),
        tuple(first),
        tuple(entry),
        tuple(lowering.reals),
        tuple(lowering.texts),
    )


class _Lowering(OperatorCode):
    """Writes all expressions: operands from left to right, then the operation on their values."""

    def emit(self, expr: Expr) -> None:
        match expr:
            case Literal():
                self.literal(expr)
            case Navigation():
                self.navigation(expr)
            case Aggregate():
                self.aggregate(expr)
            case MatchNumber():
                self.put(Opcode.NUMBER, grows=1)
            case Operator():
                self.operator(expr)
            case Case():
                self.case(expr)
            case Cast():
                self.cast(expr)
            case Call():
                self.call(expr)
            case _:
                self.refuse(expr, "this expression")

    def emit_real(self, expr: Expr) -> None:
        """The value as a real number; a text of one row as its hash. Other values that aren't numbers are refused."""
        kind = self.type_of(expr)
        store = store_of(kind)
        if store == "rank":
            if kind != t.STRING or not isinstance(expr, Navigation) or isinstance(expr.operand, RowClassifier):
                self.refuse(expr, f"a number for {t.spark_name(kind)}")
            self.put(Opcode.LOAD_REAL, self.column(expr.operand, "hash"), self.row_register(expr), expr.shift, grows=1)
            return
        self.emit(expr)
        if store == "whole":
            self.put(Opcode.TO_REAL, scale_of(kind))

    def case(self, expr: Case) -> None:
        wanted = self.type_of(expr)
        ends = []
        for condition, value in expr.branches:
            test = condition if expr.operand is None else Operator("=", (expr.operand, condition))
            self.emit(test)
            miss = self.put(Opcode.JUMP_UNLESS_TRUE, grows=-1)
            self.emit_as(value, wanted)
            ends.append(self.put(Opcode.JUMP, grows=-1))
            self.land(miss)
        self.emit_as(expr.default or Literal("null", "NULL"), wanted)
        self.land(*ends)

    def cast(self, expr: Cast) -> None:
        kind, wanted = self.type_of(expr.value), self.type_of(expr)
        widening = t.is_numeric(kind) and (
            wanted == t.DOUBLE or (t.is_integral(kind) and t.is_integral(wanted) and wanted.bit_width >= kind.bit_width)
        )
        if kind != wanted and not widening:
            self.refuse(expr, f"CAST from {t.spark_name(kind)} to {t.spark_name(wanted)}")
        self.emit_as(expr.value, wanted)

    def call(self, expr: Call) -> None:
        name, args, kind = expr.name, expr.args, self.type_of(expr)
        function = _MATH_ALIASES.get(name, name)
        if name == "if":
            self.case(Case(None, ((args[0], args[1]),), args[2]))
        elif name == "nullif":
            self.case(Case(None, ((Operator("=", args), Literal("null", "NULL")),), args[0]))
        elif name in ("coalesce", "nvl", "ifnull"):
            self.coalesce(args, kind)
        elif name in ("greatest", "least"):
            self.extreme(name, args, kind)
        elif name == "abs":
            self.emit(args[0])
            self.put(Opcode.ABSOLUTE_REAL) if t.is_float(kind) else self.put(Opcode.ABSOLUTE, self.bits(kind))
        elif name in ("pow", "power", "mod") and len(args) == 2:
            self.arithmetic(name, args[0], args[1], expr)
        elif name in DIFFERENCES and len(args) == 3:
            self.units_between(expr)
        elif function in MATH_FUNCTIONS and len(args) == 1 and kind == t.DOUBLE:
            self.emit_as(args[0], t.DOUBLE)
            self.put(Opcode.MATH, MATH_FUNCTIONS.index(function))
        else:
            self.refuse(expr, f"{name}(...)")

    def units_between(self, expr: Call) -> None:
        """timestampdiff(unit, a, b) for a unit of fixed length, where the session's clock is UTC."""
        unit, start, end = expr.args
        size = UNIT_US.get(unit.text) if isinstance(unit, Literal) else None
        moments = {self.type_of(start), self.type_of(end)}
        is_time = all(t.is_datetime(kind) for kind in moments)
        if size is None or not is_time or self.settings.timezone != "UTC":
            self.refuse(expr, f"{expr.name}(...) with months, texts or a time zone")
        for moment in (end, start):
            self.emit(moment)
            if self.type_of(moment) == t.DATE:
                self.put(Opcode.RESCALE, DAY_US)
        self.put(Opcode.SUBTRACT, 64, 1, grows=-1)
        self.put(Opcode.WHOLE, size, grows=1)
        self.put(Opcode.DIVIDE, 64, 1, grows=-1)

    def coalesce(self, args: Sequence[Expr], kind: pa.DataType) -> None:
        ends = []
        for arg in args[:-1]:
            self.emit_as(arg, kind)
            ends.append(self.put(Opcode.JUMP_UNLESS_NULL))
            self.put(Opcode.POP, grows=-1)
        self.emit_as(args[-1], kind)
        self.land(*ends)

    def extreme(self, name: str, args: Sequence[Expr], kind: pa.DataType) -> None:
        """GREATEST and LEAST, which skip NULLs."""
        self.emit_as(args[0], kind)
        for arg in args[1:]:
            self.emit_as(arg, kind)
            self.put(Opcode.GREATEST if name == "greatest" else Opcode.LEAST, int(t.is_float(kind)), grows=-1)
