"""Run conditions that need no interpreter: one comparison of a stored feature with a column of the new event.

Most conditions compare a value of the bound events with a value of the new event. If the first value is a feature of
the node, the matcher computed it when it created the partial match. Only the comparison is left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.enumeration.match_conditions import NO_LABEL
from ostinato.expressions.run_conditions.kernel_arithmetic import real_equal, real_less
from ostinato.expressions.run_conditions.opcodes import HERE, Opcode, RegisterRule
from ostinato.expressions.run_conditions.run_program import Register, RunProgram
from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.workloads.matcher.plan_tables import PlanTables
from ostinato.workloads.merging.plan_conditions import PlanConditions

NOT_QUICK = -1
RUN_PROGRAM = 3
"""A verdict: only the interpreter can decide."""
LARGEST_EXACT = float(1 << 53)
"""Whole numbers below it are exact as real ones."""
# Plain integers: numba compares them faster than it looks up an enumeration.
_LESS, _LESS_EQUAL, _EQUAL = int(Opcode.LESS), int(Opcode.LESS_EQUAL), int(Opcode.EQUAL)
_LOAD_REAL, _REAL, _MATH, _POWER = int(Opcode.LOAD_REAL), int(Opcode.REAL), int(Opcode.MATH), int(Opcode.POWER)
_ADD_REAL, _SUBTRACT_REAL, _MULTIPLY_REAL = int(Opcode.ADD_REAL), int(Opcode.SUBTRACT_REAL), int(Opcode.MULTIPLY_REAL)
_DIVIDE_REAL, _NEGATE_REAL, _ABSOLUTE_REAL = int(Opcode.DIVIDE_REAL), int(Opcode.NEGATE_REAL), int(Opcode.ABSOLUTE_REAL)
_QUICK_OPS = frozenset((
    _LOAD_REAL, _REAL, _MATH, _POWER, _ADD_REAL, _SUBTRACT_REAL, _MULTIPLY_REAL, _DIVIDE_REAL, _NEGATE_REAL,
    _ABSOLUTE_REAL,
))  # fmt: skip
_Code = tuple[tuple[int, int, int, int], ...]


class QuickTables(NamedTuple):
    """For each index of `CheckTable.check`: the feature of the partial match and the column that are compared."""

    feature: NDArray[np.int8]
    """The feature's number at the step's source node, or NOT_QUICK."""
    op: NDArray[np.int8]
    feature_left: NDArray[np.bool_]
    real: NDArray[np.bool_]
    may_fail: NDArray[np.bool_]
    """Whether a NULL feature may stand for an error. Only the interpreter reports errors."""
    column: NDArray[np.int32]
    reads_run: NDArray[np.bool_]
    """By step: whether its new partial match needs registers, whatever the step's own checks need."""


class _Comparison(NamedTuple):
    """A condition taken apart: its two sides."""

    op: int
    real: bool
    left: _Code
    right: _Code


class _Quick(NamedTuple):
    feature: int = NOT_QUICK
    op: int = 0
    feature_left: bool = False
    real: bool = False
    may_fail: bool = False
    column: int = 0


def find_quick_checks(plan: PlanTables, conditions: PlanConditions, *, keeps_registers: bool) -> QuickTables:
    """`keeps_registers`: each partial match has its own."""
    program, check_table, steps = conditions.program, plan.check_table, plan.steps
    quick: list[_Quick] = []
    step_of = [*range(len(steps.source)), *np.repeat(np.arange(len(steps.source)), np.diff(check_table.guard_at))]
    for owner, step in enumerate(step_of):
        features = [_code_of(program, value) for value in conditions.features[int(steps.source[step])]]
        label = int(plan.nodes.label[steps.target[step]])
        for at in range(check_table.check_at[owner], check_table.check_at[owner + 1]):
            number = int(check_table.check[at])
            once = conditions.conditions[number].each == NO_LABEL
            quick.append(_quick(_comparison(program, number) if once else None, features, program, label))
    return QuickTables(
        np.array([one.feature for one in quick], np.int8),
        np.array([one.op for one in quick], np.int8),
        np.array([one.feature_left for one in quick], np.bool_),
        np.array([one.real for one in quick], np.bool_),
        np.array([one.may_fail for one in quick], np.bool_),
        np.array([one.column for one in quick], np.int32),
        np.array([_reads_run(step, plan, conditions, keeps_registers) for step in range(len(steps.source))], np.bool_),
    )


def _reads_run(step: int, plan: PlanTables, conditions: PlanConditions, keeps_registers: bool) -> bool:
    node = int(plan.steps.target[step])
    guards = slice(plan.check_table.guard_at[step], plan.check_table.guard_at[step + 1])
    at_ends = plan.ends.check_at[plan.ends.at[node + 1]] > plan.ends.check_at[plan.ends.at[node]]
    keeps_state = not plan.nodes.is_sink[node] and (keeps_registers or bool(conditions.features[node]))
    return bool(keeps_state or at_ends or np.diff(plan.check_table.check_at)[len(plan.steps.source) :][guards].any())


def _quick(comparison: _Comparison | None, features: Sequence[_Code], program: RunProgram, label: int) -> _Quick:
    if comparison is not None:
        for left in (True, False):
            bound, new = (comparison.left, comparison.right) if left else (comparison.right, comparison.left)
            as_value = bound if comparison.real else (*bound, (int(Opcode.TO_REAL), 0, 0, 0))
            column = _column_of_event(new, program, label)
            if column is not None and as_value in features:
                may_fail = not all(op in _QUICK_OPS and not (op == _DIVIDE_REAL and b) for op, _, b, _ in bound)
                return _Quick(features.index(as_value), comparison.op, left, comparison.real, may_fail, column)
    return _Quick()


def _code_of(program: RunProgram, number: int) -> _Code:
    """The code of a value, or of a condition's first conjunct."""
    entry = program.first[number]
    return program.code[program.entry[entry] : program.entry[entry + 1]]


def _comparison(program: RunProgram, number: int) -> _Comparison | None:
    """A condition that is one comparison, without jumps."""
    if program.first[number + 1] != program.first[number] + 1:
        return None
    code = _code_of(program, number)
    reals = {int(Opcode.LESS_REAL): _LESS, int(Opcode.LESS_EQUAL_REAL): _LESS_EQUAL, int(Opcode.EQUAL_REAL): _EQUAL}
    if len(code) == 2 and code[0][0] in (Opcode.COMPARE_WHOLE, Opcode.COMPARE_REAL):
        (kind, op, column, register), (shift, other, other_register, other_shift) = code
        if op not in (_LESS, _LESS_EQUAL, _EQUAL):
            return None
        load = int(Opcode.LOAD_REAL if kind == Opcode.COMPARE_REAL else Opcode.LOAD_WHOLE)
        left, right = (load, column, register, shift), (load, other, other_register, other_shift)
        return _Comparison(op, kind == Opcode.COMPARE_REAL, (left,), (right,))
    last = code[-1][0]
    if last not in (_LESS, _LESS_EQUAL, _EQUAL, *reals) or any(item[0] >= Opcode.JUMP for item in code):
        return None
    # One side is the load of a single value: it is the first instruction, or the one before the comparison.
    real = last in reals
    op, sides = reals.get(last, last), code[:-1]
    load = int(Opcode.LOAD_REAL if real else Opcode.LOAD_WHOLE)
    if sides[-1][0] == load:
        return _Comparison(op, real, sides[:-1], sides[-1:])
    return _Comparison(op, real, sides[:1], sides[1:]) if sides[0][0] == load else None


def _column_of_event(code: _Code, program: RunProgram, label: int) -> int | None:
    """The column, if the code loads a value of the event that takes the step, bound to `label`."""
    if len(code) != 1 or code[0][0] not in (Opcode.LOAD_WHOLE, Opcode.LOAD_REAL):
        return None
    _, column, register, shift = code[0]
    name = program.variables[label]
    is_event = register == HERE or program.registers[register] == Register(RegisterRule.LAST, frozenset({name}))
    return column if is_event and shift == 0 and program.columns[column].store != "rank" else None


# --- kernels ----------------------------------------------------------------------------------------------------------


@inline_kernel
def quick_verdict(at, pm, row, features, nulls, quick, conditions):  # type: ignore[no-untyped-def]
    """1 if the condition holds, 0 if not, or RUN_PROGRAM."""
    feature = quick.feature[at]
    if feature < 0:
        return RUN_PROGRAM
    if nulls[pm] >> feature & 1:
        return RUN_PROGRAM if quick.may_fail[at] else 0
    bound = features[pm, feature]
    column = quick.column[at]
    valid, values = conditions.validity_row[column], conditions.value_row[column]
    if valid >= 0 and not conditions.valid[valid, row]:
        return 0
    if quick.real[at]:
        new = conditions.real[values, row]
    else:
        new = float(conditions.whole[values, row])
        if not (abs(bound) < LARGEST_EXACT and abs(new) < LARGEST_EXACT):
            return RUN_PROGRAM
    left, right = (bound, new) if quick.feature_left[at] else (new, bound)
    op = quick.op[at]
    if op == _LESS:
        holds = real_less(left, right)
    elif op == _LESS_EQUAL:
        holds = not real_less(right, left)
    else:
        holds = real_equal(left, right)
    return 1 if holds else 0
