"""Collects the instructions of a RunProgram, and the columns, registers and accumulators that they use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.aggregate_types import aggregate_type
from ostinato.expressions.run_conditions.opcodes import MATH_FUNCTIONS, MAX_STACK, AccumulatorRule, Opcode
from ostinato.expressions.run_conditions.run_program import Accumulator, ColumnUse, Register
from ostinato.expressions.syntax import (
    Aggregate,
    Expr,
    MatchNumber,
    Navigation,
    RowClassifier,
    string_literal,
    walk,
    with_label,
)
from ostinato.expressions.typing import type_of

InputType = Callable[[Expr], pa.DataType]
"""The type of an expression over one row."""


def store_of(kind: pa.DataType) -> str:
    """The form of a type's values in the kernel: "whole", "real" or "rank"."""
    if t.is_float(kind):
        return "real"
    if t.is_decimal(kind) and kind.precision > 18:
        return "rank"  # too wide for int64; the kernel can still compare ranks
    if kind == t.BOOL or t.is_integral(kind) or t.is_datetime(kind) or kind == t.DURATION or t.is_decimal(kind):
        return "whole"
    return "rank"


def scale_of(kind: pa.DataType) -> int:
    """Digits behind the point of a whole number or decimal."""
    return int(kind.scale) if t.is_decimal(kind) else 0


class ProgramWriter:
    """Appends instructions. Conditions that need the same column, register or accumulator share it."""

    def __init__(self, variables: tuple[str, ...], input_type: InputType, settings: t.Settings) -> None:
        self.variables = variables
        self.input_type = input_type
        self.settings = settings
        self.columns: list[ColumnUse] = []
        self.registers: list[Register] = []
        self.accumulators: list[Accumulator] = []
        self.code: list[tuple[int, int, int, int]] = []
        self.reals: list[float] = []
        self.texts: list[tuple[str, object]] = []
        self.depth = 0

    def put(self, op: Opcode, a: int = 0, b: int = 0, c: int = 0, *, grows: int = 0) -> int:
        """Appends an instruction, which adds `grows` values to the stack, and returns its index."""
        self.depth += grows
        if self.depth > MAX_STACK:
            raise QueryError("TOO_DEEP", "a condition over several rows is nested too deeply")
        self.code.append((int(op), a, b, c))
        return len(self.code) - 1

    def land(self, *jumps: int) -> None:
        """Makes earlier jumps lead to the next instruction."""
        for at in jumps:
            op, _, b, c = self.code[at]
            self.code[at] = (op, len(self.code), b, c)

    def type_of(self, expr: Expr) -> pa.DataType:
        return type_of(expr, self.leaf_type, self.settings)

    def leaf_type(self, node: Expr) -> pa.DataType | None:
        match node:
            case Navigation(operand=RowClassifier()):
                return t.STRING
            case Navigation(operand=operand):
                return self.input_type(operand)
            case MatchNumber():
                return t.INT64
            case Aggregate(name, args):
                if any(isinstance(inner, MatchNumber) for arg in args for inner in walk(arg)):
                    self.refuse(node, "an aggregate over MATCH_NUMBER()")
                kinds = [self.input_type(with_label(arg, string_literal(self.variables[0]))) for arg in args]
                return aggregate_type(name, kinds, node.span)
            case _:
                return None

    def refuse(self, expr: Expr, construct: str) -> NoReturn:
        raise QueryError(
            "UNSUPPORTED_ACROSS_ROWS",
            f"{construct} can't be computed from several rows of the match in DEFINE",
            span=expr.span,
            hint="of one row's columns any Spark expression works; across rows: arithmetic, comparisons, AND/OR/NOT, "
            "CASE, IF, COALESCE, NULLIF, GREATEST, LEAST, IN, BETWEEN, ABS, POW and "
            + ", ".join(name.upper() for name in MATH_FUNCTIONS),
        )

    def column(self, operand: Expr, store: str | None = None) -> int:
        kind = self.input_type(operand)
        if t.is_nested(kind):
            self.refuse(operand, "an array, struct or map")
        use = ColumnUse(operand, kind, store or store_of(kind))
        if use not in self.columns:
            self.columns.append(use)
        return self.columns.index(use)

    def register(self, register: Register) -> int:
        if register not in self.registers:
            self.registers.append(register)
        return self.registers.index(register)

    def accumulator(self, total: AccumulatorRule, columns: tuple[int, ...]) -> int:
        accumulator = Accumulator(total, columns)
        if accumulator not in self.accumulators:
            self.accumulators.append(accumulator)
        return self.accumulators.index(accumulator)
