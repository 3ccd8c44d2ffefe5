"""A condition over the run and some rows, one letter each -> its program, and its verdict for the last row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.expressions.evaluate import as_vector
from ostinato.expressions.run_conditions import interpreter, run_registers
from ostinato.expressions.run_conditions.lowering import lower_conditions
from ostinato.expressions.run_conditions.opcodes import MAX_STACK, Opcode
from ostinato.expressions.run_conditions.run_columns import tie_to_columns
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import Settings
from ostinato.expressions.values.vectors import Vector

VARIABLES = ("A", "B", "C")


def lowered(condition: str, types: dict[str, pa.DataType], settings: Settings = Settings()) -> RunProgram:
    """The program of a condition of C in the pattern A B C."""
    clause = f"ORDER BY x ALL ROWS PER MATCH PATTERN (A B C) DEFINE C AS {condition}"
    expr = bind(parse_clause(clause), list(types)).conditions["C"]

    def input_type(node: Expr) -> pa.DataType:
        assert isinstance(node, Column)
        return types[node.name]

    return lower_conditions([expr], VARIABLES, input_type, settings)


def operations(program: RunProgram) -> list[str]:
    """The names of the instructions. A fused comparison has a second line of operands."""
    names, code = [], iter(program.code)
    for op, *_ in code:
        names.append(Opcode(op).name)
        if op in (Opcode.COMPARE_WHOLE, Opcode.COMPARE_REAL):
            next(code)
    return names


def verdict(condition: str, labels: str, settings: Settings = Settings(), **columns: Any) -> int:
    """1 if the condition holds for the last row, 0 if it is FALSE or NULL, negative for an error.

    Row i is matched to the variable labels[i]. Needs kernels that run as Python (`uncompile`).
    """
    arrays = {name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()}
    program = lowered(condition, {name: array.type for name, array in arrays.items()}, settings)
    rows, last = len(labels), len(labels) - 1
    states = np.arange(len(VARIABLES), dtype=np.int32)  # one state for each variable

    def column(node: Expr) -> Vector:
        assert isinstance(node, Column)
        return as_vector(arrays[node.name], settings)

    tied = tie_to_columns(program, [0] * len(VARIABLES), states, rows, column)
    path = [VARIABLES.index(label) for label in labels]
    work = SimpleNamespace(
        registers=np.full((rows + 1, len(program.registers)), -1),
        int_totals=np.zeros((rows + 1, len(program.accumulators)), np.int64),
        real_totals=np.zeros((rows + 1, len(program.accumulators))),
        node=np.array([0, *path]),
        stack=np.zeros(MAX_STACK),
        stack_whole=np.zeros(MAX_STACK, np.int64),
        stack_null=np.zeros(MAX_STACK, np.bool_),
    )
    for row, label in enumerate(path):
        status = run_registers.update(label, row, row, work, tied)
        if status < 0:
            return int(status)
    return int(interpreter.check(path[last], path[last], last, last, 0, rows, 1, work, tied))
