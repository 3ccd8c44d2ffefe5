"""Writes the instructions of navigations and aggregates, which read the run: `LAST(A.x)`, `sum(B.x)`."""

from __future__ import annotations

import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.aggregate_types import aggregate_type
from ostinato.expressions.run_conditions.opcodes import HERE, AccumulatorRule, Opcode, RegisterRule
from ostinato.expressions.run_conditions.program_writer import ProgramWriter, store_of
from ostinato.expressions.run_conditions.run_program import Register
from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Expr,
    Literal,
    MatchNumber,
    Navigation,
    RowClassifier,
    string_literal,
    walk,
    with_label,
)


class RunReads(ProgramWriter):
    """A navigation reads the row that a register holds; an aggregate reads a running total."""

    def navigation(self, expr: Navigation) -> None:
        register = self.row_register(expr)
        operand = expr.operand
        if isinstance(operand, RowClassifier):
            self.put(Opcode.LABEL, 0, register, expr.shift, grows=1)
        elif operand == Literal("boolean", "TRUE"):
            self.put(Opcode.PRESENT, 0, register, expr.shift, grows=1)
        elif any(isinstance(node, RowClassifier | MatchNumber) for node in walk(operand)):
            self.refuse(expr, "an expression with CLASSIFIER() or MATCH_NUMBER() inside a navigation")
        else:
            column = self.column(operand)
            self.refuse_wide(expr, self.columns[column].type)
            real = self.columns[column].store == "real"
            self.put(Opcode.LOAD_REAL if real else Opcode.LOAD_WHOLE, column, register, expr.shift, grows=1)

    def refuse_wide(self, expr: Expr, kind: pa.DataType) -> None:
        """Refuses decimals of more than 18 digits: the kernel has their ranks, which it can only compare."""
        if t.is_decimal(kind) and store_of(kind) == "rank":
            self.refuse(expr, f"anything but a comparison of two {t.spark_name(kind)}")

    def row_register(self, expr: Navigation) -> int:
        if expr.rows is None and expr.anchor is Anchor.LAST and expr.skip == 0:
            return HERE
        chain = (
            (RegisterRule.LAST, RegisterRule.LAST_BEFORE)
            if expr.anchor is Anchor.LAST
            else (RegisterRule.FIRST, RegisterRule.FIRST_AFTER)
        )
        if expr.skip > 1_000:
            self.refuse(expr, "an offset above 1,000")
        register = self.register(Register(chain[0], expr.rows))
        for _ in range(expr.skip):
            register = self.register(Register(chain[1], expr.rows, register))
        return register

    def counted(self, expr: Aggregate, arg: Expr) -> tuple[tuple[int, ...], str]:
        """The column that an aggregate reads for each variable, and the form of their values."""
        members = [expr.rows is None or name in expr.rows for name in self.variables]
        columns = tuple(
            self.column(with_label(arg, string_literal(name))) if member else -1
            for name, member in zip(self.variables, members, strict=True)
        )
        stores = {self.columns[column].store for column in columns if column >= 0}
        return columns, stores.pop()

    def aggregate(self, expr: Aggregate) -> None:
        name = expr.name
        if not expr.args:
            everywhere = tuple(0 if expr.rows is None or name in expr.rows else -1 for name in self.variables)
            self.put(Opcode.TOTAL_WHOLE, self.accumulator(AccumulatorRule.ROWS, everywhere), -1, grows=1)
            return
        if expr.distinct and name not in ("min", "max", "min_by", "max_by", "bool_and", "bool_or"):
            self.distinct(expr)
            return
        columns, store = self.counted(expr, expr.args[0])
        values = AccumulatorRule.VALUES_REAL if store == "real" else AccumulatorRule.VALUES_WHOLE
        if name == "count":
            self.put(Opcode.TOTAL_WHOLE, self.accumulator(values, columns), -1, grows=1)
        elif name == "count_if":
            self.put(Opcode.TOTAL_WHOLE, self.accumulator(AccumulatorRule.TRUE_VALUES, columns), -1, grows=1)
        elif name in ("sum", "avg"):
            self.total(expr, columns, store)
        elif name in ("min", "max", "bool_and", "bool_or", "min_by", "max_by"):
            self.best(expr, columns)
        else:
            self.refuse(expr, f"the aggregate {name}")

    def distinct(self, expr: Aggregate) -> None:
        if expr.name != "count":
            self.refuse(expr, f"{expr.name}(DISTINCT ...)")
        columns, store = self.counted(expr, expr.args[0])
        total = AccumulatorRule.DISTINCT_REAL if store == "real" else AccumulatorRule.DISTINCT_WHOLE
        self.put(Opcode.DISTINCT, self.accumulator(total, columns), grows=1)

    def total(self, expr: Aggregate, columns: tuple[int, ...], store: str) -> None:
        """sum and avg; NULL without a value."""
        kind = next(self.columns[column].type for column in columns if column >= 0)
        if store == "rank":
            self.refuse(expr, f"{expr.name} of {t.spark_name(kind)}")
        values = self.accumulator(
            AccumulatorRule.VALUES_REAL if store == "real" else AccumulatorRule.VALUES_WHOLE, columns
        )
        as_real = store == "real" or (expr.name == "avg" and t.is_integral(kind))
        if as_real:
            total = self.accumulator(
                AccumulatorRule.SUM_REAL if store == "real" else AccumulatorRule.SUM_AS_REAL, columns
            )
            self.put(Opcode.TOTAL_REAL, total, values, grows=1)
        else:
            self.put(Opcode.TOTAL_WHOLE, self.accumulator(AccumulatorRule.SUM_WHOLE, columns), values, grows=1)
        if expr.name == "sum":
            return
        if t.is_decimal(kind) or kind == t.DURATION:
            self.put(Opcode.TOTAL_WHOLE, values, -1, grows=1)
            scale = aggregate_type("avg", [kind]).scale - kind.scale if t.is_decimal(kind) else 0
            self.put(Opcode.AVERAGE, 10**scale, grows=-1)
            return
        self.put(Opcode.TOTAL_WHOLE, values, -1, grows=1)
        self.put(Opcode.TO_REAL)
        self.put(Opcode.DIVIDE_REAL, 0, 0, grows=-1)

    def best(self, expr: Aggregate, columns: tuple[int, ...]) -> None:
        """min and max: a register for the row that has them, then the value in that row."""
        by, by_store = self.counted(expr, expr.args[-1])
        if len(set(by) - {-1}) > 1 or len(set(columns) - {-1}) > 1:
            self.refuse(expr, f"{expr.name} over CLASSIFIER()")
        least = expr.name in ("min", "min_by", "bool_and")
        if by_store == "real":
            keep = RegisterRule.LEAST_REAL if least else RegisterRule.MOST_REAL
        else:
            keep = RegisterRule.LEAST_WHOLE if least else RegisterRule.MOST_WHOLE
        register = self.register(Register(keep, expr.rows, max(by)))
        column = max(columns)
        self.refuse_wide(expr, self.columns[column].type)
        real = self.columns[column].store == "real"
        self.put(Opcode.LOAD_REAL if real else Opcode.LOAD_WHOLE, column, register, 0, grows=1)
