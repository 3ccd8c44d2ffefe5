"""Conditions over the run (typed expressions) -> RunProgram. An error names the expression that kernels don't know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.run_conditions.opcodes import MATH_FUNCTIONS, REAL_COMPARISON, Op
from ostinato.expressions.run_conditions.program_writer import InputType, store_of
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.expressions.run_conditions.run_reads import RunReads
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
    span_of,
    walk,
)
from ostinato.expressions.values.literals import literal_value

_COMPARE = {"<": Op.LESS, "<=": Op.LESS_EQUAL, "=": Op.EQUAL, "<=>": Op.SAME}
_ARITHMETIC = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "%": Op.MODULO, "mod": Op.MODULO, "div": Op.DIVIDE}
_ARITHMETIC_REAL = {
    "+": Op.ADD_REAL,
    "-": Op.SUBTRACT_REAL,
    "*": Op.MULTIPLY_REAL,
    "%": Op.MODULO_REAL,
    "mod": Op.MODULO_REAL,
    "/": Op.DIVIDE_REAL,
    "pow": Op.POWER,
    "power": Op.POWER,
}
_MATH_ALIASES = {"log": "ln"}


def lower_conditions(
    conditions: Sequence[Expr],
    variables: tuple[str, ...],
    input_type: InputType,
    settings: t.Settings,
    values: Sequence[Expr] = (),
) -> RunProgram:
    """The program of all conditions, in their order, followed by `values` with the next numbers.

    A value is left as a real number whatever its type (`interpreter.value_of` reads it): dates and times as days and
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
                span=span_of(condition),
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


class _Lowering(RunReads):
    """Writes the code of expressions. Each `emit` leaves one value on the stack, of the type that `type_of` gives."""

    def emit(self, expr: Expr) -> None:
        match expr:
            case Literal():
                self.literal(expr)
            case Navigation():
                self.navigation(expr)
            case Aggregate():
                self.aggregate(expr)
            case MatchNumber():
                self.put(Op.NUMBER, grows=1)
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

    def emit_as(self, expr: Expr, wanted: pa.DataType) -> None:
        """The value converted to a type of the same or a wider kind."""
        kind = self.type_of(expr)
        if kind == t.STRING and wanted != t.STRING and isinstance(expr, Literal):
            self.literal(self.folded_cast(expr, wanted))
            return
        if store_of(kind) == "rank" and kind == wanted and isinstance(expr, Literal):
            self.text(literal_value(expr, self.settings))
            return
        self.emit(expr)
        self.convert(expr, kind, wanted)

    def emit_real(self, expr: Expr) -> None:
        """The value as a real number: a text of one row as its hash. Other values without a number are refused."""
        kind = self.type_of(expr)
        store = store_of(kind)
        if store == "rank":
            if kind != t.STRING or not isinstance(expr, Navigation) or isinstance(expr.operand, RowClassifier):
                self.refuse(expr, f"a number for {t.spark_name(kind)}")
            self.put(Op.LOAD_REAL, self.column(expr.operand, "hash"), self.row_register(expr), expr.shift, grows=1)
            return
        self.emit(expr)
        if store == "whole":
            self.put(Op.TO_REAL, kind.scale if t.is_decimal(kind) else 0)

    def folded_cast(self, expr: Literal, wanted: pa.DataType) -> Literal:
        value = evaluate(Cast(expr, t.spark_name(wanted)), lambda node: None, 1, self.settings)[0]
        if wanted == t.DATE:
            return Literal("date", f"DATE '{value.as_py()}'")
        if pa.types.is_timestamp(wanted):
            return Literal("timestamp" if wanted.tz else "timestamp_ntz", f"TIMESTAMP '{value.as_py()}'")
        return Literal("number" if t.is_numeric(wanted) else "boolean", str(value.as_py()))

    def convert(self, expr: Expr, kind: pa.DataType, wanted: pa.DataType) -> None:
        if kind in (wanted, t.NULL):
            return
        if t.is_float(wanted) and t.is_numeric(kind):
            if not t.is_float(kind):
                self.put(Op.TO_REAL, kind.scale if t.is_decimal(kind) else 0)
            if wanted == t.FLOAT:
                self.put(Op.TO_FLOAT)
        elif t.is_decimal(wanted) and (t.is_integral(kind) or t.is_decimal(kind)):
            digits = wanted.scale - (kind.scale if t.is_decimal(kind) else 0)
            if digits < 0:
                self.refuse(expr, f"a conversion from {t.spark_name(kind)} to {t.spark_name(wanted)}")
            if digits:
                self.put(Op.RESCALE, 10**digits)
        elif kind == t.DATE and wanted == t.NTZ:
            self.put(Op.RESCALE, 86_400_000_000)
        elif not (t.is_integral(kind) and t.is_integral(wanted)):
            self.refuse(expr, f"a conversion from {t.spark_name(kind)} to {t.spark_name(wanted)}")

    def literal(self, expr: Literal) -> None:
        value = literal_value(expr, self.settings)
        kind = value.type
        if not value.is_valid:
            self.put(Op.NULL, grows=1)
        elif t.is_float(kind):
            self.reals.append(float(value.as_py()))
            self.put(Op.REAL, len(self.reals) - 1, grows=1)
        elif t.is_decimal(kind):
            self.put(Op.WHOLE, self.small(expr, int(Decimal(value.as_py()).scaleb(kind.scale))), grows=1)
        elif kind == t.BOOL or t.is_integral(kind):
            self.put(Op.WHOLE, int(value.as_py()), grows=1)
        elif kind == t.DATE:
            self.put(Op.WHOLE, value.cast(pa.int32()).as_py(), grows=1)
        elif pa.types.is_timestamp(kind) or kind == t.DURATION:
            self.put(Op.WHOLE, value.cast(pa.int64()).as_py(), grows=1)
        elif store_of(kind) == "rank" and kind != t.MONTHS:
            self.text(value)
        else:
            self.refuse(expr, f"a literal of type {t.spark_name(kind)}")

    def small(self, expr: Expr, value: int) -> int:
        if abs(value) >= 2**63:
            self.refuse(expr, "a number with so many digits")
        return value

    def text(self, value: pa.Scalar) -> None:
        constant = (str(value.type), value.as_py())
        if constant not in self.texts:
            self.texts.append(constant)
        self.put(Op.TEXT, self.texts.index(constant), grows=1)

    # --- operators ---

    def operator(self, expr: Operator) -> None:
        op, args = expr.op, expr.args
        if op in ("and", "or"):
            self.connective(op, args)
        elif op == "not":
            self.emit(args[0])
            self.put(Op.NOT)
        elif op in ("=", "<", "<=", "<=>"):
            self.comparison(_COMPARE[op], args[0], args[1], expr)
        elif op in (">", ">="):
            self.comparison(_COMPARE["<" if op == ">" else "<="], args[1], args[0], expr)
        elif op in ("<>", "is distinct from"):
            self.comparison(Op.EQUAL if op == "<>" else Op.SAME, args[0], args[1], expr)
            self.put(Op.NOT)
        elif op == "between":
            value, low, high = args
            self.connective("and", (Operator("<=", (low, value)), Operator("<=", (value, high))))
        elif op == "in":
            self.connective("or", tuple(Operator("=", (args[0], option)) for option in args[1:]))
        elif op in ("is null", "is unknown", "is true", "is false"):
            self.emit(args[0])
            self.put({"is true": Op.IS_TRUE, "is false": Op.IS_FALSE}.get(op, Op.IS_NULL))
        elif op == "neg":
            self.emit(args[0])
            kind = self.type_of(expr)
            self.put(Op.NEGATE_REAL) if t.is_float(kind) else self.put(Op.NEGATE, self.bits(kind))
        elif op == "pos":
            self.emit(args[0])
        else:
            self.arithmetic(op, args[0], args[1], expr)

    def connective(self, op: str, args: Sequence[Expr]) -> None:
        """Left to right, stopping as soon as the result is known: a guard keeps later operands from failing."""
        self.emit(args[0])
        jumps = []
        for arg in args[1:]:
            jumps.append(self.put(Op.JUMP_IF_FALSE if op == "and" else Op.JUMP_IF_TRUE))
            self.emit(arg)
            self.put(Op.AND if op == "and" else Op.OR, grows=-1)
        self.land(*jumps)

    def comparison(self, op: Op, left: Expr, right: Expr, expr: Expr) -> None:
        kinds = self.type_of(left), self.type_of(right)
        wanted = t.common_type(*kinds, self.settings, comparing=True)
        if wanted is None or (t.STRING in kinds and wanted != t.STRING and not self.string_literal(left, right)):
            self.refuse(expr, f"a comparison of {t.spark_name(kinds[0])} with {t.spark_name(kinds[1])}")
        loads = self.load(left, wanted), self.load(right, wanted)
        if loads[0] is not None and loads[1] is not None:
            fused = Op.COMPARE_REAL if t.is_float(wanted) else Op.COMPARE_WHOLE
            self.put(fused, int(op), *loads[0][:2], grows=1)
            self.code.append((loads[0][2], *loads[1]))
            return
        self.emit_as(left, wanted)
        self.emit_as(right, wanted)
        self.put(REAL_COMPARISON[op] if t.is_float(wanted) else op, grows=-1)

    def load(self, expr: Expr, wanted: pa.DataType) -> tuple[int, int, int] | None:
        """Column, register and shift of an operand that is read as it is."""
        plain = isinstance(expr, Navigation) and not any(
            isinstance(node, Literal | RowClassifier | MatchNumber) for node in walk(expr.operand)
        )
        if not plain or not isinstance(expr, Navigation) or self.type_of(expr) != wanted:
            return None
        return self.column(expr.operand), self.row_register(expr), expr.shift

    def string_literal(self, *sides: Expr) -> bool:
        return all(isinstance(side, Literal) or self.type_of(side) != t.STRING for side in sides)

    def bits(self, kind: pa.DataType) -> int:
        """The width that whole-number results must fit in; negative where Spark wraps around instead of failing."""
        if t.is_decimal(kind) or kind == t.DURATION or t.is_datetime(kind):
            return 64
        return kind.bit_width if self.settings.ansi else -int(kind.bit_width)

    def arithmetic(self, op: str, left: Expr, right: Expr, expr: Expr) -> None:
        kind = self.type_of(expr)
        kinds = self.type_of(left), self.type_of(right)
        if any(t.is_datetime(side) or side == t.DURATION for side in kinds):
            self.time_arithmetic(op, left, right, expr, kind)
        elif t.is_float(kind) and op in _ARITHMETIC_REAL:
            self.emit_as(left, t.DOUBLE)
            self.emit_as(right, t.DOUBLE)
            self.put(_ARITHMETIC_REAL[op], 0, int(self.settings.ansi), grows=-1)
            if kind == t.FLOAT:
                self.put(Op.TO_FLOAT)
        elif t.is_integral(kind) and op in _ARITHMETIC and all(t.is_integral(side) for side in kinds):
            self.emit(left)
            self.emit(right)
            self.put(_ARITHMETIC[op], self.bits(kind), int(self.settings.ansi), grows=-1)
        elif t.is_decimal(kind) and op in ("+", "-", "*"):
            self.decimal_arithmetic(op, left, right, expr, kind)
        else:
            self.refuse(expr, f"'{op}' on {t.spark_name(kinds[0])} and {t.spark_name(kinds[1])}")

    def decimal_arithmetic(self, op: str, left: Expr, right: Expr, expr: Expr, kind: pa.DataType) -> None:
        scales = []
        for side in (left, right):
            side_kind = self.type_of(side)
            if not (t.is_decimal(side_kind) or t.is_integral(side_kind)):
                self.refuse(expr, f"'{op}' on decimals and {t.spark_name(side_kind)}")
            scales.append(side_kind.scale if t.is_decimal(side_kind) else 0)
        exact = scales[0] + scales[1] if op == "*" else max(scales)
        if exact != kind.scale:
            self.refuse(expr, "arithmetic on decimals that loses digits")
        for side, scale in zip((left, right), scales, strict=True):
            self.emit(side)
            if op != "*" and kind.scale > scale:
                self.put(Op.RESCALE, 10 ** (kind.scale - scale))
        self.put(_ARITHMETIC[op], 64, 1, grows=-1)

    def time_arithmetic(self, op: str, left: Expr, right: Expr, expr: Expr, kind: pa.DataType) -> None:
        """Timestamps and durations are microseconds, dates are days."""
        kinds = self.type_of(left), self.type_of(right)
        microseconds = [pa.types.is_timestamp(side) or side == t.DURATION for side in kinds]
        both_dates = kinds == (t.DATE, t.DATE)
        if op not in ("+", "-") or not (all(microseconds) or both_dates):
            self.refuse(expr, f"'{op}' on {t.spark_name(kinds[0])} and {t.spark_name(kinds[1])}")
        self.emit(left)
        self.emit(right)
        self.put(_ARITHMETIC[op], 64, 1, grows=-1)
        if both_dates and kind == t.DURATION:
            self.put(Op.RESCALE, 86_400_000_000)

    # --- forms with branches ---

    def case(self, expr: Case) -> None:
        wanted = self.type_of(expr)
        ends = []
        for condition, value in expr.branches:
            test = condition if expr.operand is None else Operator("=", (expr.operand, condition))
            self.emit(test)
            miss = self.put(Op.JUMP_UNLESS_TRUE, grows=-1)
            self.emit_as(value, wanted)
            ends.append(self.put(Op.JUMP, grows=-1))
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
            self.put(Op.ABSOLUTE_REAL) if t.is_float(kind) else self.put(Op.ABSOLUTE, self.bits(kind))
        elif name in ("pow", "power", "mod") and len(args) == 2:
            self.arithmetic(name, args[0], args[1], replace(expr))
        elif function in MATH_FUNCTIONS and len(args) == 1 and kind == t.DOUBLE:
            self.emit_as(args[0], t.DOUBLE)
            self.put(Op.MATH, MATH_FUNCTIONS.index(function))
        else:
            self.refuse(expr, f"{name}(...)")

    def coalesce(self, args: Sequence[Expr], kind: pa.DataType) -> None:
        ends = []
        for arg in args[:-1]:
            self.emit_as(arg, kind)
            ends.append(self.put(Op.JUMP_UNLESS_NULL))
            self.put(Op.POP, grows=-1)
        self.emit_as(args[-1], kind)
        self.land(*ends)

    def extreme(self, name: str, args: Sequence[Expr], kind: pa.DataType) -> None:
        """GREATEST and LEAST, which skip NULLs."""
        self.emit_as(args[0], kind)
        for arg in args[1:]:
            self.emit_as(arg, kind)
            self.put(Op.GREATEST if name == "greatest" else Op.LEAST, int(t.is_float(kind)), grows=-1)
