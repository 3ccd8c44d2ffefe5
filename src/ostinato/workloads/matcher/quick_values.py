"""RunProgram -> QuickValues: the values that reckon with real numbers only, for an interpreter that knows nothing else.

Constants are worked out before, and whole numbers that are used as real ones are read as such. What remains is read,
added, multiplied and so on exactly as `predicates.interpreter` does it, only sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.expressions.run_conditions.kernel_arithmetic import LN, LOG10, math_function
from ostinato.expressions.run_conditions.opcodes import HERE, Op
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.kernels.kernel_cache import inline_kernel

# Plain integers: numba compares them faster than it looks up an enumeration.
_LOAD_WHOLE, _LOAD_REAL, _REAL, _MATH = int(Op.LOAD_WHOLE), int(Op.LOAD_REAL), int(Op.REAL), int(Op.MATH)
_ADD_REAL, _SUBTRACT_REAL, _MULTIPLY_REAL = int(Op.ADD_REAL), int(Op.SUBTRACT_REAL), int(Op.MULTIPLY_REAL)
_NEGATE_REAL, _ABSOLUTE_REAL, _POWER = int(Op.NEGATE_REAL), int(Op.ABSOLUTE_REAL), int(Op.POWER)
_ONE_OPERAND = frozenset((Op.MATH, Op.NEGATE_REAL, Op.ABSOLUTE_REAL))
_TWO_OPERANDS = frozenset((Op.ADD_REAL, Op.SUBTRACT_REAL, Op.MULTIPLY_REAL, Op.DIVIDE_REAL, Op.POWER))
_OF_WHOLE = {Op.ADD: int.__add__, Op.SUBTRACT: int.__sub__, Op.MULTIPLY: int.__mul__}
_Instruction = tuple[int, float, int]
"""The operation, a, b; a constant stands in place of its number."""


class QuickValues(NamedTuple):
    """By number of a value its code: the operation, a, b as in `opcodes.Op`; LOAD_WHOLE gives a real number."""

    is_quick: NDArray[np.bool_]
    at: NDArray[np.int64]
    code: NDArray[np.int64]
    reals: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Part:
    """What stands on the stack. Whole numbers: a single constant or column."""

    is_real: bool
    code: tuple[_Instruction, ...]


def find_quick_values(program: RunProgram) -> QuickValues:
    found = [_compiled(_code_of(program, number), program.reals) for number in range(len(program.first) - 1)]
    reals: list[float] = []
    code = [_numbered(instruction, reals) for some in found for instruction in some or ()]
    return QuickValues(
        np.array([some is not None for some in found], np.bool_),
        np.cumsum([0, *(len(some or ()) for some in found)]).astype(np.int64),
        np.array(code, np.int64).reshape(-1, 3),
        np.array(reals, np.float64),
    )


def _code_of(program: RunProgram, number: int) -> Sequence[tuple[int, int, int, int]]:
    """Of a value or a condition, which is never quick: it has a comparison."""
    return program.code[program.entry[program.first[number]] : program.entry[program.first[number + 1]]]


def _numbered(instruction: _Instruction, reals: list[float]) -> tuple[int, int, int]:
    op, a, b = instruction
    if op == _REAL:
        reals.append(a)
        return op, len(reals) - 1, b
    return op, int(a), b


def _compiled(code: Sequence[tuple[int, int, int, int]], reals: Sequence[float]) -> tuple[_Instruction, ...] | None:
    """None where something else than real numbers has to be reckoned with."""
    stack: list[_Part] = []
    for op, a, b, c in code:
        made = _constant_or_column(op, a, b, c, reals)
        if made is None:
            count = 2 if op in _TWO_OPERANDS or op in _OF_WHOLE else 1
            operands = [stack.pop() for _ in range(min(count, len(stack)))][::-1]
            made = _result(op, a, b, operands) if len(operands) == count else None
        if made is None:
            return None
        stack.append(made)
    return stack[0].code if len(stack) == 1 and stack[0].is_real else None


def _constant_or_column(op: int, a: int, b: int, c: int, reals: Sequence[float]) -> _Part | None:
    if op == Op.WHOLE:
        return _Part(False, ((op, a, 0),))
    if op == _REAL:
        return _Part(True, ((op, float(reals[a]), 0),))
    if op in (_LOAD_WHOLE, _LOAD_REAL) and c == 0:
        return _Part(op == _LOAD_REAL, ((op, a, b),))
    return None


def _result(op: int, a: int, b: int, operands: list[_Part]) -> _Part | None:
    code = tuple(instruction for operand in operands for instruction in operand.code)
    if op in _ONE_OPERAND or op in _TWO_OPERANDS:
        return _Part(True, (*code, (op, a, b))) if all(operand.is_real for operand in operands) else None
    if any(operand.is_real for operand in operands):
        return None
    constants = all(instruction[0] == Op.WHOLE for instruction in code)
    if op == Op.TO_REAL and a == 0:
        return _Part(True, ((_REAL, float(code[0][1]), 0),) if constants else code)
    if op in _OF_WHOLE and constants:
        value = _OF_WHOLE[Op(op)](*(int(constant) for _, constant, _ in code))
        # What doesn't fit is an error, or wraps around: the interpreter knows.
        return _Part(False, ((int(Op.WHOLE), value, 0),)) if abs(value) < 1 << (abs(a) - 1) else None
    return None


@inline_kernel
def quick_value(value, row, registers, stack, conditions, quick):  # type: ignore[no-untyped-def]
    """(whether it is there, the value) as `interpreter.run_code` has it."""
    top = -1
    for at in range(quick.at[value], quick.at[value + 1]):
        op, a, b = quick.code[at, 0], quick.code[at, 1], quick.code[at, 2]
        if op in (_LOAD_REAL, _LOAD_WHOLE):
            source = np.int64(row) if b == HERE else registers[1, b]
            nulls = conditions.valid_place[a]
            if source < 0 or (nulls >= 0 and not conditions.valid[nulls, source]):
                return False, 0.0
            top += 1
            place = conditions.place[a]
            stack[top] = conditions.real[place, source] if op == _LOAD_REAL else float(conditions.whole[place, source])
        elif op == _REAL:
            top += 1
            stack[top] = quick.reals[a]
        elif op == _MATH:
            if a in (LN, LOG10) and stack[top] <= 0:
                return False, 0.0
            stack[top] = math_function(a, stack[top])
        elif op == _NEGATE_REAL:
            stack[top] = -stack[top]
        elif op == _ABSOLUTE_REAL:
            stack[top] = abs(stack[top])
        else:
            top -= 1
            right = stack[top + 1]
            if op == _ADD_REAL:
                stack[top] = stack[top] + right
            elif op == _SUBTRACT_REAL:
                stack[top] = stack[top] - right
            elif op == _MULTIPLY_REAL:
                stack[top] = stack[top] * right
            elif op == _POWER:
                stack[top] = stack[top] ** right
            else:
                if right == 0:
                    return False, 0.0
                stack[top] = stack[top] / right
    return True, stack[0]
