"""The instruction set for conditions over the run, which the interpreter runs.

An instruction is four integers: the operation and a, b, c. Values live on a stack; each is whole (int64: integers,
booleans, dates, timestamps, durations, unscaled decimals, ranks of texts) or real (float64), or NULL.
"""

from __future__ import annotations

from enum import IntEnum


class Opcode(IntEnum):
    # push
    WHOLE = 0  # a: the value
    REAL = 1  # a: index of the real constant
    TEXT = 2  # a: index of the text constant; pushes the rank of the text
    NULL = 3
    LOAD_WHOLE = 4  # a: column, b: register or HERE, c: shift
    LOAD_REAL = 5
    PRESENT = 6  # b, c as above: TRUE if there is such a row, else NULL
    LABEL = 7  # b, c as above: the rank of the variable's name
    NUMBER = 8  # MATCH_NUMBER()
    TOTAL_WHOLE = 9  # a: accumulator, b: the accumulator that counts its values, or -1: never NULL
    TOTAL_REAL = 10
    DISTINCT = 11  # a: accumulator; pushes the number of distinct values so far
    # Two loads and their comparison in one: a: the comparison, b: column, c: register; the next instruction's four
    # integers are the shift, then column, register and shift of the other side.
    COMPARE_WHOLE = 12
    COMPARE_REAL = 13
    # convert
    TO_REAL = 20  # a: decimal scale
    TO_FLOAT = 21  # round to float32
    RESCALE = 22  # a: power of ten to multiply with
    # whole numbers; a: bits of the result type, overflow beyond them is an error (a negative: wraps around)
    ADD = 30
    SUBTRACT = 31
    MULTIPLY = 32
    NEGATE = 33
    ABSOLUTE = 34
    DIVIDE = 35  # towards zero; b: 1 when a zero divisor is an error
    MODULO = 36
    AVERAGE = 37  # decimal average: a: extra digits; takes total and count
    # real numbers
    ADD_REAL = 40
    SUBTRACT_REAL = 41
    MULTIPLY_REAL = 42
    NEGATE_REAL = 43
    ABSOLUTE_REAL = 44
    DIVIDE_REAL = 45  # b: 1 when a zero divisor is an error
    MODULO_REAL = 46
    POWER = 47
    MATH = 48  # a: number of the function in MATH_FUNCTIONS
    # compare; NULL if either is
    LESS = 60
    LESS_EQUAL = 61
    EQUAL = 62
    LESS_REAL = 63
    LESS_EQUAL_REAL = 64
    EQUAL_REAL = 65
    SAME = 66  # <=>
    SAME_REAL = 67
    GREATEST = 68  # a: 1 for real numbers; NULLs are skipped
    LEAST = 69
    # logic
    NOT = 70
    AND = 71
    OR = 72
    IS_NULL = 73
    IS_TRUE = 74
    IS_FALSE = 75
    # control; a: the instruction to go to
    JUMP = 80
    JUMP_UNLESS_TRUE = 81  # takes the value
    JUMP_IF_FALSE = 82  # leaves the value
    JUMP_IF_TRUE = 83
    JUMP_UNLESS_NULL = 84
    POP = 85


REAL_COMPARISON = {
    Opcode.LESS: Opcode.LESS_REAL,
    Opcode.LESS_EQUAL: Opcode.LESS_EQUAL_REAL,
    Opcode.EQUAL: Opcode.EQUAL_REAL,
    Opcode.SAME: Opcode.SAME_REAL,
}
"""The same comparison of real numbers."""

HERE = -1
"""In place of a register: the row being tried."""

MATH_FUNCTIONS = ("sqrt", "exp", "ln", "log10", "sin", "cos", "tan", "asin", "acos", "atan")

# The errors of a condition: negative results of `check`.
DIVIDE_BY_ZERO, OVERFLOW = -1, -2

MAX_STACK = 60


class RegisterRule(IntEnum):
    """Rule for the row number in a register, applied to each consumed row; `source` is another register or a column."""

    LAST = 0
    LAST_BEFORE = 1  # the former content of register `source`
    FIRST = 2
    FIRST_AFTER = 3  # the first row after `source` was set
    LEAST_WHOLE = 4  # the row with the least value of column `source`
    MOST_WHOLE = 5
    LEAST_REAL = 6
    MOST_REAL = 7


class AccumulatorRule(IntEnum):
    """The value that an accumulator adds for a row; the column may differ by label (-1: the row doesn't count)."""

    ROWS = 0
    VALUES_WHOLE = 1  # how many aren't NULL
    VALUES_REAL = 2
    SUM_WHOLE = 3
    SUM_REAL = 4
    TRUE_VALUES = 5
    DISTINCT_WHOLE = 6  # has no running total: counted on demand
    DISTINCT_REAL = 7
    SUM_AS_REAL = 8  # whole numbers added as real ones: the average of integers
