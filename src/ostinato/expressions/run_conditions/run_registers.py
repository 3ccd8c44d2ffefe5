"""The registers and totals of a run: updated with each row that the search consumes, and read by conditions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.expressions.run_conditions.kernel_arithmetic import add_whole, real_equal, real_less
from ostinato.expressions.run_conditions.opcodes import HERE, OVERFLOW, AccumulatorRule, RegisterRule
from ostinato.kernels.kernel_cache import inline_kernel


class ConditionArrays(NamedTuple):
    """A RunProgram tied to the columns of a batch."""

    code: NDArray[np.int64]
    first: NDArray[np.int64]
    entry: NDArray[np.int64]
    condition_of_state: NDArray[np.int64]
    """By state: the number of its condition, or -1."""
    whole: NDArray[np.int64]
    real: NDArray[np.float64]
    value_row: NDArray[np.int64]
    """By column: the row of `whole` or `real` that holds its values."""
    valid: NDArray[np.bool_]
    validity_row: NDArray[np.int64]
    """By column: the row of `valid` that says where it isn't NULL, or -1 if the column has no NULL."""
    reals: NDArray[np.float64]
    texts: NDArray[np.int64]
    label_rank: NDArray[np.int64]
    label_of_state: NDArray[np.int32]
    keep: NDArray[np.int64]
    source: NDArray[np.int64]
    member: NDArray[np.bool_]
    total: NDArray[np.int64]
    total_column: NDArray[np.int64]


# Plain integers: numba compares them faster than it looks up an enumeration.
_LAST, _LAST_BEFORE, _FIRST, _FIRST_AFTER = (
    int(RegisterRule.LAST),
    int(RegisterRule.LAST_BEFORE),
    int(RegisterRule.FIRST),
    int(RegisterRule.FIRST_AFTER),
)
_LEAST_WHOLE, _MOST_WHOLE, _LEAST_REAL = (
    int(RegisterRule.LEAST_WHOLE),
    int(RegisterRule.MOST_WHOLE),
    int(RegisterRule.LEAST_REAL),
)
_ROWS, _VALUES_WHOLE, _VALUES_REAL = (
    int(AccumulatorRule.ROWS),
    int(AccumulatorRule.VALUES_WHOLE),
    int(AccumulatorRule.VALUES_REAL),
)
_SUM_WHOLE, _SUM_REAL, _TRUE_VALUES = (
    int(AccumulatorRule.SUM_WHOLE),
    int(AccumulatorRule.SUM_REAL),
    int(AccumulatorRule.TRUE_VALUES),
)
_SUM_AS_REAL = int(AccumulatorRule.SUM_AS_REAL)
_DISTINCT_REAL = int(AccumulatorRule.DISTINCT_REAL)


@inline_kernel
def is_valid(conditions, column, row):  # type: ignore[no-untyped-def]
    valid = conditions.validity_row[column]
    return valid < 0 or conditions.valid[valid, row]


@inline_kernel
def update(label, row, depth, buffers, conditions):  # type: ignore[no-untyped-def]
    """Sets the registers and totals of depth + 1, after a row is consumed under a label.

    Returns 0, or OVERFLOW.
    """
    for i in range(len(conditions.keep)):
        before = buffers.registers[depth, i]
        after = before
        if conditions.member[i, label]:
            keep, source = conditions.keep[i], conditions.source[i]
            if keep == _LAST:
                after = row
            elif keep == _LAST_BEFORE:
                after = buffers.registers[depth, source]
            elif keep == _FIRST:
                if before < 0:
                    after = row
            elif keep == _FIRST_AFTER:
                if before < 0 and buffers.registers[depth, source] >= 0:
                    after = row
            elif is_valid(conditions, source, row):
                if before < 0:
                    after = row
                else:
                    values = conditions.value_row[source]
                    if keep == _LEAST_WHOLE:
                        better = conditions.whole[values, row] <= conditions.whole[values, before]
                    elif keep == _MOST_WHOLE:
                        better = conditions.whole[values, row] >= conditions.whole[values, before]
                    elif keep == _LEAST_REAL:
                        better = not real_less(conditions.real[values, before], conditions.real[values, row])
                    else:
                        better = not real_less(conditions.real[values, row], conditions.real[values, before])
                    if better:  # of equals the last, as Spark's min_by and max_by do
                        after = row
        buffers.registers[depth + 1, i] = after
    for i in range(len(conditions.total)):
        whole, real = buffers.int_totals[depth, i], buffers.real_totals[depth, i]
        column = conditions.total_column[i, label]
        if column >= 0:
            total = conditions.total[i]
            if total == _ROWS:
                whole += 1
            elif is_valid(conditions, column, row):
                if total == _VALUES_WHOLE or total == _VALUES_REAL:
                    whole += 1
                elif total == _SUM_WHOLE:
                    whole, bad = add_whole(whole, conditions.whole[conditions.value_row[column], row])
                    if bad:
                        return OVERFLOW
                elif total == _SUM_AS_REAL:
                    real += float(conditions.whole[conditions.value_row[column], row])
                elif total == _SUM_REAL:
                    real += conditions.real[conditions.value_row[column], row]
                elif total == _TRUE_VALUES:
                    whole += conditions.whole[conditions.value_row[column], row]
        buffers.int_totals[depth + 1, i] = whole
        buffers.real_totals[depth + 1, i] = real
    return 0


@inline_kernel
def count_distinct(accumulator, label, row, depth, buffers, conditions):  # type: ignore[no-untyped-def]
    """Counts distinct values among the rows so far: compares each with those before it."""
    first = row - depth
    real = conditions.total[accumulator] == _DISTINCT_REAL
    count = 0
    for i in range(depth + 1):
        label_i = label if i == depth else conditions.label_of_state[buffers.node[i + 1]]
        column = conditions.total_column[accumulator, label_i]
        if column < 0 or not is_valid(conditions, column, first + i):
            continue
        values = conditions.value_row[column]
        fresh = True
        for j in range(i):
            other = conditions.total_column[accumulator, conditions.label_of_state[buffers.node[j + 1]]]
            if other < 0 or not is_valid(conditions, other, first + j):
                continue
            other_values = conditions.value_row[other]
            if real:
                same = real_equal(conditions.real[values, first + i], conditions.real[other_values, first + j])
            else:
                same = conditions.whole[values, first + i] == conditions.whole[other_values, first + j]
            if same:
                fresh = False
                break
        if fresh:
            count += 1
    return count


@inline_kernel
def target_row(register, shift, row, depth, key_first, key_end, buffers):  # type: ignore[no-untyped-def]
    """The row that an instruction reads, or -1."""
    at = row
    if register != HERE:
        at = buffers.registers[depth + 1, register]
        if at < 0:
            return np.int64(-1)
    at += shift
    if at < key_first or at >= key_end:
        return np.int64(-1)
    return at


@inline_kernel
def label_rank(register, shift, label, row, depth, key_first, key_end, buffers, conditions):  # type: ignore[no-untyped-def]
    """The rank of the name of the variable at a row of the match so far; -1 elsewhere."""
    at = target_row(register, shift, row, depth, key_first, key_end, buffers)
    depth_there = at - (row - depth)
    if at < 0 or depth_there < 0 or depth_there > depth:
        return np.int64(-1)
    label_there = label if depth_there == depth else conditions.label_of_state[buffers.node[depth_there + 1]]
    return conditions.label_rank[label_there]
