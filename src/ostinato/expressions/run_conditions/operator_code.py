"""Writes the instructions of literals, conversions and operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.run_conditions.opcodes import REAL_COMPARISON, Opcode
from ostinato.expressions.run_conditions.program_writer import scale_of, store_of
from ostinato.expressions.run_conditions.run_reads import RunReads
from ostinato.expressions.syntax import Cast, Expr, Literal, MatchNumber, Navigation, Operator, RowClassifier, walk
from ostinato.expressions.values.literals import literal_value
from ostinato.expressions.values.zones import DAY_US

_COMPARE = {"<": Opcode.LESS, "<=": Opcode.LESS_EQUAL, "=": Opcode.EQUAL, "<=>": Opcode.SAME}
_ARITHMETIC = {
    "+": Opcode.ADD,
    "-": Opcode.SUBTRACT,
    "*": Opcode.MULTIPLY,
    "%": Opcode.MODULO,
    "mod": Opcode.MODULO,
    "div": Opcode.DIVIDE,
}
_ARITHMETIC_REAL = {
    "+": Opcode.ADD_REAL,
    "-": Opcode.SUBTRACT_REAL,
    "*": Opcode.MULTIPLY_REAL,
    "%": Opcode.MODULO_REAL,
    "mod": Opcode.MODULO_REAL,
    "/": Opcode.DIVIDE_REAL,
    "pow": Opcode.POWER,
    "power": Opcode.POWER,
}


class OperatorCode(RunReads, ABC):
    """Writes literals, conversions and operators. The subclass writes all other expressions."""

    @abstractmethod
    def emit(self, expr: Expr) -> None:
        """Writes the instructions of an expression. They leave one value on the stack, of the type by `type_of`."""

    def emit_as(self, expr: Expr, wanted: pa.DataType) -> None:
        """The value, converted to the wanted type, which is the same or wider."""
        kind = self.type_of(expr)
        if kind == t.STRING and wanted != t.STRING and isinstance(expr, Literal):
            self.literal(self.folded_cast(expr, wanted))
            return
        self.emit(expr)
        self.convert(expr, kind, wanted)

    def convert(self, expr: Expr, kind: pa.DataType, wanted: pa.DataType) -> None:
        if kind in (wanted, t.NULL):
            return
        if t.is_float(wanted) and t.is_numeric(kind):
            if not t.is_float(kind):
                self.put(Opcode.TO_REAL, scale_of(kind))
            if wanted == t.FLOAT:
                self.put(Opcode.TO_FLOAT)
        elif t.is_decimal(wanted) and (t.is_integral(kind) or t.is_decimal(kind)):
            digits = wanted.scale - scale_of(kind)
            if digits < 0:
                self.refuse(expr, f"a conversion from {t.spark_name(kind)} to {t.spark_name(wanted)}")
            if digits:
                self.put(Opcode.RESCALE, 10**digits)
        elif kind == t.DATE and wanted == t.NTZ:
            self.put(Opcode.RESCALE, DAY_US)
        elif not (t.is_integral(kind) and t.is_integral(wanted)):
            self.refuse(expr, f"a conversion from {t.spark_name(kind)} to {t.spark_name(wanted)}")

    def folded_cast(self, expr: Literal, wanted: pa.DataType) -> Literal:
        value = evaluate(Cast(expr, t.spark_name(wanted)), lambda node: None, 1, self.settings)[0]
        if wanted == t.DATE:
            return Literal("date", f"DATE '{value.as_py()}'")
        if pa.types.is_timestamp(wanted):
            return Literal("timestamp" if wanted.tz else "timestamp_ntz", f"TIMESTAMP '{value.as_py()}'")
        return Literal("number" if t.is_numeric(wanted) else "boolean", str(value.as_py()))

    def literal(self, expr: Literal) -> None:
        value = literal_value(expr, self.settings)
        kind = value.type
        if not value.is_valid:
            self.put(Opcode.NULL, grows=1)
        elif t.is_float(kind):
            self.reals.append(float(value.as_py()))
            self.put(Opcode.REAL, len(self.reals) - 1, grows=1)
        elif t.is_decimal(kind):
            unscaled = int(Decimal(value.as_py()).scaleb(kind.scale))
            if abs(unscaled) >= 2**63:
                self.refuse(expr, "a number with so many digits")
            self.put(Opcode.WHOLE, unscaled, grows=1)
        elif kind == t.BOOL or t.is_integral(kind):
            self.put(Opcode.WHOLE, int(value.as_py()), grows=1)
        elif kind == t.DATE:
            self.put(Opcode.WHOLE, value.cast(pa.int32()).as_py(), grows=1)
        elif pa.types.is_timestamp(kind) or kind == t.DURATION:
            self.put(Opcode.WHOLE, value.cast(pa.int64()).as_py(), grows=1)
        elif store_of(kind) == "rank" and kind != t.MONTHS:
            self.text(value)
        else:
            self.refuse(expr, f"a literal of type {t.spark_name(kind)}")

    def text(self, value: pa.Scalar) -> None:
        constant = (str(value.type), value.as_py())
        if constant not in self.texts:
            self.texts.append(constant)
        self.put(Opcode.TEXT, self.texts.index(constant), grows=1)

    # --- operators ---

    def operator(self, expr: Operator) -> None:
        op, args = expr.op, expr.args
        if op in ("and", "or"):
            self.connective(op, args)
        elif op == "not":
            self.emit(args[0])
            self.put(Opcode.NOT)
        elif op in ("=", "<", "<=", "<=>"):
            self.comparison(_COMPARE[op], args[0], args[1], expr)
        elif op in (">", ">="):
            self.comparison(_COMPARE["<" if op == ">" else "<="], args[1], args[0], expr)
        elif op in ("<>", "is distinct from"):
            self.comparison(Opcode.EQUAL if op == "<>" else Opcode.SAME, args[0], args[1], expr)
            self.put(Opcode.NOT)
        elif op == "between":
            value, low, high = args
            self.connective("and", (Operator("<=", (low, value)), Operator("<=", (value, high))))
        elif op == "in":
            self.connective("or", tuple(Operator("=", (args[0], option)) for option in args[1:]))
        elif op in ("is null", "is unknown", "is true", "is false"):
            self.emit(args[0])
            self.put({"is true": Opcode.IS_TRUE, "is false": Opcode.IS_FALSE}.get(op, Opcode.IS_NULL))
        elif op == "neg":
            self.emit(args[0])
            kind = self.type_of(expr)
            self.put(Opcode.NEGATE_REAL) if t.is_float(kind) else self.put(Opcode.NEGATE, self.bits(kind))
        elif op == "pos":
            self.emit(args[0])
        else:
            self.arithmetic(op, args[0], args[1], expr)

    def connective(self, op: str, args: Sequence[Expr]) -> None:
        """AND or OR from left to right. It stops once the result is certain, so that later operands can't fail."""
        self.emit(args[0])
        jumps = []
        for arg in args[1:]:
            jumps.append(self.put(Opcode.JUMP_IF_FALSE if op == "and" else Opcode.JUMP_IF_TRUE))
            self.emit(arg)
            self.put(Opcode.AND if op == "and" else Opcode.OR, grows=-1)
        self.land(*jumps)

    def comparison(self, op: Opcode, left: Expr, right: Expr, expr: Expr) -> None:
        kinds = self.type_of(left), self.type_of(right)
        wanted = t.common_type(*kinds, self.settings, comparing=True)
        if wanted is None or (t.STRING in kinds and wanted != t.STRING and not self.strings_are_literals(left, right)):
            self.refuse(expr, f"a comparison of {t.spark_name(kinds[0])} with {t.spark_name(kinds[1])}")
        loads = self.load(left, wanted), self.load(right, wanted)
        if loads[0] is not None and loads[1] is not None:
            fused = Opcode.COMPARE_REAL if t.is_float(wanted) else Opcode.COMPARE_WHOLE
            self.put(fused, int(op), *loads[0][:2], grows=1)
            self.code.append((loads[0][2], *loads[1]))
            return
        self.emit_as(left, wanted)
        self.emit_as(right, wanted)
        self.put(REAL_COMPARISON[op] if t.is_float(wanted) else op, grows=-1)

    def load(self, expr: Expr, wanted: pa.DataType) -> tuple[int, int, int] | None:
        """Column, register and shift of an operand that is a plain column of one row; None for others."""
        if not isinstance(expr, Navigation) or self.type_of(expr) != wanted:
            return None
        if any(isinstance(node, Literal | RowClassifier | MatchNumber) for node in walk(expr.operand)):
            return None
        return self.column(expr.operand), self.row_register(expr), expr.shift

    def strings_are_literals(self, *sides: Expr) -> bool:
        return all(isinstance(side, Literal) or self.type_of(side) != t.STRING for side in sides)

    def bits(self, kind: pa.DataType) -> int:
        """Bits of a whole-number result; negative if Spark wraps around instead of failing."""
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
                self.put(Opcode.TO_FLOAT)
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
            scales.append(scale_of(side_kind))
        exact = scales[0] + scales[1] if op == "*" else max(scales)
        if exact != kind.scale:
            self.refuse(expr, "arithmetic on decimals that loses digits")
        for side, scale in zip((left, right), scales, strict=True):
            self.emit(side)
            if op != "*" and kind.scale > scale:
                self.put(Opcode.RESCALE, 10 ** (kind.scale - scale))
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
            self.put(Opcode.RESCALE, DAY_US)
