"""ConditionArrays + the registers of a run -> TRUE, FALSE or an error. One compiled interpreter serves all queries.

NaN follows Spark: equal to itself, greater than everything else.
"""

from __future__ import annotations

import numpy as np

from ostinato.expressions.run_conditions.kernel_arithmetic import (
    LN,
    LOG10,
    SMALLEST,
    add_whole,
    average_whole,
    divide_whole,
    fits,
    math_function,
    modulo_whole,
    multiply_whole,
    real_equal,
    real_less,
    subtract_whole,
    wrapped,
)
from ostinato.expressions.run_conditions.opcodes import DIVIDE_BY_ZERO, OVERFLOW, Opcode
from ostinato.expressions.run_conditions.run_registers import count_distinct, is_valid, label_rank, target_row
from ostinato.kernels.kernel_cache import called_kernel, inline_kernel

# Plain integers: numba compares them faster than it looks up an enumeration. The groups of opcodes are in their order.
_WHOLE = int(Opcode.WHOLE)
_REAL = int(Opcode.REAL)
_TEXT = int(Opcode.TEXT)
_NULL = int(Opcode.NULL)
_LOAD_WHOLE = int(Opcode.LOAD_WHOLE)
_COMPARE_WHOLE = int(Opcode.COMPARE_WHOLE)
_COMPARE_REAL = int(Opcode.COMPARE_REAL)
_LOAD_REAL = int(Opcode.LOAD_REAL)
_PRESENT = int(Opcode.PRESENT)
_LABEL = int(Opcode.LABEL)
_NUMBER = int(Opcode.NUMBER)
_TOTAL_WHOLE = int(Opcode.TOTAL_WHOLE)
_TOTAL_REAL = int(Opcode.TOTAL_REAL)
_TO_REAL = int(Opcode.TO_REAL)
_TO_FLOAT = int(Opcode.TO_FLOAT)
_RESCALE = int(Opcode.RESCALE)
_ADD = int(Opcode.ADD)
_SUBTRACT = int(Opcode.SUBTRACT)
_MULTIPLY = int(Opcode.MULTIPLY)
_NEGATE = int(Opcode.NEGATE)
_ABSOLUTE = int(Opcode.ABSOLUTE)
_DIVIDE = int(Opcode.DIVIDE)
_AVERAGE = int(Opcode.AVERAGE)
_ADD_REAL = int(Opcode.ADD_REAL)
_SUBTRACT_REAL = int(Opcode.SUBTRACT_REAL)
_MULTIPLY_REAL = int(Opcode.MULTIPLY_REAL)
_NEGATE_REAL = int(Opcode.NEGATE_REAL)
_ABSOLUTE_REAL = int(Opcode.ABSOLUTE_REAL)
_DIVIDE_REAL = int(Opcode.DIVIDE_REAL)
_POWER = int(Opcode.POWER)
_MATH = int(Opcode.MATH)
_LESS = int(Opcode.LESS)
_LESS_EQUAL = int(Opcode.LESS_EQUAL)
_LESS_REAL = int(Opcode.LESS_REAL)
_LESS_EQUAL_REAL = int(Opcode.LESS_EQUAL_REAL)
_EQUAL_REAL = int(Opcode.EQUAL_REAL)
_SAME = int(Opcode.SAME)
_GREATEST = int(Opcode.GREATEST)
_LEAST = int(Opcode.LEAST)
_SAME_REAL = int(Opcode.SAME_REAL)
_NOT = int(Opcode.NOT)
_AND = int(Opcode.AND)
_OR = int(Opcode.OR)
_IS_NULL = int(Opcode.IS_NULL)
_IS_TRUE = int(Opcode.IS_TRUE)
_JUMP = int(Opcode.JUMP)
_JUMP_UNLESS_TRUE = int(Opcode.JUMP_UNLESS_TRUE)
_JUMP_IF_FALSE = int(Opcode.JUMP_IF_FALSE)
_JUMP_IF_TRUE = int(Opcode.JUMP_IF_TRUE)
_JUMP_UNLESS_NULL = int(Opcode.JUMP_UNLESS_NULL)

NULL_VERDICT = 2
"""The result of a comparison with NULL; the others are 1 and 0."""


@inline_kernel
def compare_loads(code_index, row, depth, key_first, key_end, buffers, conditions):  # type: ignore[no-untyped-def]
    """Two loads and their comparison: 1, 0 or NULL_VERDICT."""
    code = conditions.code
    comparison, column, other = code[code_index, 1], code[code_index, 2], code[code_index + 1, 1]
    one = target_row(code[code_index, 3], code[code_index + 1, 0], row, depth, key_first, key_end, buffers)
    two = target_row(code[code_index + 1, 2], code[code_index + 1, 3], row, depth, key_first, key_end, buffers)
    missing = one < 0 or not is_valid(conditions, column, one)
    missing_other = two < 0 or not is_valid(conditions, other, two)
    if missing or missing_other:
        if comparison != _SAME:
            return NULL_VERDICT
        return 1 if missing and missing_other else 0
    if code[code_index, 0] == _COMPARE_REAL:
        x, y = conditions.real[conditions.value_row[column], one], conditions.real[conditions.value_row[other], two]
        if comparison == _LESS:
            holds = real_less(x, y)
        elif comparison == _LESS_EQUAL:
            holds = not real_less(y, x)
        else:
            holds = real_equal(x, y)
    else:
        left, right = (
            conditions.whole[conditions.value_row[column], one],
            conditions.whole[conditions.value_row[other], two],
        )
        if comparison == _LESS:
            holds = left < right
        elif comparison == _LESS_EQUAL:
            holds = left <= right
        else:
            holds = left == right
    return 1 if holds else 0


@called_kernel
def run_code(code_index, end, label, row, depth, key_first, key_end, number, buffers, conditions):  # type: ignore[no-untyped-def]
    """Runs the code from `code_index` to `end`: 1 for TRUE, 0 for FALSE or NULL, a negative number for an error."""
    real, whole, null = buffers.stack, buffers.stack_whole, buffers.stack_null
    code = conditions.code
    top = -1
    while code_index < end:
        op, a, b, c = code[code_index, 0], code[code_index, 1], code[code_index, 2], code[code_index, 3]
        code_index += 1
        if op < _TO_REAL:  # push
            top += 1
            null[top] = False
            if op >= _COMPARE_WHOLE:
                verdict = compare_loads(code_index - 1, row, depth, key_first, key_end, buffers, conditions)
                code_index += 1
                whole[top] = verdict & 1
                null[top] = verdict == NULL_VERDICT
            elif op == _LOAD_REAL or op == _LOAD_WHOLE:
                source = target_row(b, c, row, depth, key_first, key_end, buffers)
                if source < 0 or not is_valid(conditions, a, source):
                    null[top] = True
                elif op == _LOAD_REAL:
                    real[top] = conditions.real[conditions.value_row[a], source]
                else:
                    whole[top] = conditions.whole[conditions.value_row[a], source]
            elif op == _WHOLE:
                whole[top] = a
            elif op == _REAL:
                real[top] = conditions.reals[a]
            elif op == _TEXT:
                whole[top] = conditions.texts[a]
            elif op == _NULL:
                null[top] = True
            elif op == _PRESENT:
                whole[top] = 1
                null[top] = target_row(b, c, row, depth, key_first, key_end, buffers) < 0
            elif op == _LABEL:
                rank = label_rank(b, c, label, row, depth, key_first, key_end, buffers, conditions)
                whole[top] = rank
                null[top] = rank < 0
            elif op == _NUMBER:
                whole[top] = number
            elif op == _TOTAL_WHOLE:
                whole[top] = buffers.int_totals[depth + 1, a]
                null[top] = b >= 0 and buffers.int_totals[depth + 1, b] == 0
            elif op == _TOTAL_REAL:
                real[top] = buffers.real_totals[depth + 1, a]
                null[top] = b >= 0 and buffers.int_totals[depth + 1, b] == 0
            else:  # DISTINCT
                whole[top] = count_distinct(a, label, row, depth, buffers, conditions)
        elif op >= _JUMP:  # control
            if op == _JUMP:
                code_index = a
            elif op == _JUMP_UNLESS_TRUE:
                if null[top] or whole[top] == 0:
                    code_index = a
                top -= 1
            elif op == _JUMP_IF_FALSE:
                if not null[top] and whole[top] == 0:
                    code_index = a
            elif op == _JUMP_IF_TRUE:
                if not null[top] and whole[top] != 0:
                    code_index = a
            elif op == _JUMP_UNLESS_NULL:
                if not null[top]:
                    code_index = a
            else:
                top -= 1
        elif op >= _LESS:  # comparisons and logic
            if op >= _IS_NULL or op == _NOT:
                if op == _NOT:
                    whole[top] = 1 - whole[top]
                elif op == _IS_NULL:
                    whole[top] = 1 if null[top] else 0
                    null[top] = False
                elif op == _IS_TRUE:
                    whole[top] = 1 if not null[top] and whole[top] != 0 else 0
                    null[top] = False
                else:
                    whole[top] = 1 if not null[top] and whole[top] == 0 else 0
                    null[top] = False
            else:
                top -= 1
                left, right = top, top + 1
                if op == _GREATEST or op == _LEAST:  # NULLs are skipped
                    if not null[right]:
                        if null[left]:
                            better = True
                        elif a:
                            low, high = (left, right) if op == _GREATEST else (right, left)
                            better = real_less(real[low], real[high])
                        else:
                            better = whole[left] < whole[right] if op == _GREATEST else whole[right] < whole[left]
                        if better:
                            real[left], whole[left], null[left] = real[right], whole[right], False
                    continue
                either = null[left] or null[right]
                holds = False
                if op == _AND:
                    false = (not null[left] and whole[left] == 0) or (not null[right] and whole[right] == 0)
                    holds = not false
                    either = either and not false
                elif op == _OR:
                    holds = (not null[left] and whole[left] != 0) or (not null[right] and whole[right] != 0)
                    either = either and not holds
                elif op == _SAME or op == _SAME_REAL:
                    if either:
                        holds = null[left] and null[right]
                    elif op == _SAME:
                        holds = whole[left] == whole[right]
                    else:
                        holds = real_equal(real[left], real[right])
                    either = False
                elif not either:
                    if op == _LESS_REAL:
                        holds = real_less(real[left], real[right])
                    elif op == _LESS:
                        holds = whole[left] < whole[right]
                    elif op == _LESS_EQUAL_REAL:
                        holds = not real_less(real[right], real[left])
                    elif op == _LESS_EQUAL:
                        holds = whole[left] <= whole[right]
                    elif op == _EQUAL_REAL:
                        holds = real_equal(real[left], real[right])
                    else:
                        holds = whole[left] == whole[right]
                whole[left] = 1 if holds else 0
                null[left] = either
        elif op in (_TO_REAL, _TO_FLOAT, _RESCALE, _NEGATE, _ABSOLUTE, _NEGATE_REAL, _ABSOLUTE_REAL, _MATH):
            if null[top]:
                continue
            if op == _TO_REAL:
                real[top] = whole[top] / 10.0**a if a > 0 else float(whole[top])
            elif op == _TO_FLOAT:
                real[top] = np.float64(np.float32(real[top]))
            elif op == _RESCALE:
                product, bad = multiply_whole(whole[top], a)
                if bad:
                    return OVERFLOW
                whole[top] = product
            elif op == _NEGATE or op == _ABSOLUTE:
                if op == _NEGATE or whole[top] < 0:
                    if a > 0 and (whole[top] == SMALLEST or not fits(-whole[top], a)):
                        return OVERFLOW
                    whole[top] = wrapped(np.int64(np.uint64(0) - np.uint64(whole[top])), abs(a))
            elif op == _NEGATE_REAL:
                real[top] = -real[top]
            elif op == _ABSOLUTE_REAL:
                real[top] = abs(real[top])
            elif (a == LN or a == LOG10) and real[top] <= 0:
                null[top] = True
            else:
                real[top] = math_function(a, real[top])
        else:  # arithmetic on two values
            top -= 1
            left, right = top, top + 1
            if null[left] or null[right]:
                null[left] = True
                continue
            if op >= _ADD_REAL:
                if op == _ADD_REAL:
                    real[left] = real[left] + real[right]
                elif op == _SUBTRACT_REAL:
                    real[left] = real[left] - real[right]
                elif op == _MULTIPLY_REAL:
                    real[left] = real[left] * real[right]
                elif op == _POWER:
                    real[left] = real[left] ** real[right]
                elif real[right] == 0:
                    if b:
                        return DIVIDE_BY_ZERO
                    null[left] = True
                elif op == _DIVIDE_REAL:
                    real[left] = real[left] / real[right]
                else:  # MODULO_REAL
                    real[left] = np.fmod(real[left], real[right])
                continue
            x, y = whole[left], whole[right]
            bad = False
            value = np.int64(0)
            if op == _ADD:
                value, bad = add_whole(x, y)
            elif op == _SUBTRACT:
                value, bad = subtract_whole(x, y)
            elif op == _MULTIPLY:
                value, bad = multiply_whole(x, y)
            elif op == _AVERAGE:
                value, bad = average_whole(x, y, a)
                a = 64  # here it was a factor; below it is the width of the result
            elif y == 0:
                if b:
                    return DIVIDE_BY_ZERO
                null[left] = True
                continue
            elif op == _DIVIDE:
                value, bad = divide_whole(x, y)
            else:  # MODULO
                value, bad = modulo_whole(x, y)
            if a > 0 and (bad or not fits(value, a)):
                return OVERFLOW
            whole[left] = wrapped(value, 64 if a == 0 else abs(a))
    return 1 if not null[0] and whole[0] != 0 else 0


@inline_kernel
def check(state, label, row, depth, key_first, key_end, number, buffers, conditions):  # type: ignore[no-untyped-def]
    """The condition of the state, for this row under this label: 1 TRUE, 0 FALSE or NULL, negative an error.

    Most conditions compare two values. That comparison runs here, inside the loop of the search. Everything else is a
    call, so that the loop stays small.
    """
    condition = conditions.condition_of_state[state]
    if condition < 0:
        return 1
    for conjunct in range(conditions.first[condition], conditions.first[condition + 1]):
        code_index, end = conditions.entry[conjunct], conditions.entry[conjunct + 1]
        if end == code_index + 2 and _COMPARE_WHOLE <= conditions.code[code_index, 0] <= _COMPARE_REAL:
            verdict = compare_loads(code_index, row, depth, key_first, key_end, buffers, conditions)
        else:
            verdict = run_code(code_index, end, label, row, depth, key_first, key_end, number, buffers, conditions)
        if verdict != 1:
            return verdict if verdict < 0 else 0
    return 1


@inline_kernel
def value_of(value, row, buffers, conditions):  # type: ignore[no-untyped-def]
    """Value number `value`: whether it isn't NULL, and its real number. An error while computing it gives NULL."""
    conjunct, rows = conditions.first[value], conditions.valid.shape[1]
    begin, end = conditions.entry[conjunct], conditions.entry[conjunct + 1]
    # The label has the type that it has in `check`: a literal zero would compile the interpreter once more.
    verdict = run_code(begin, end, np.int64(0), row, 0, 0, rows, 0, buffers, conditions)
    return verdict >= 0 and not buffers.stack_null[0], buffers.stack[0]
