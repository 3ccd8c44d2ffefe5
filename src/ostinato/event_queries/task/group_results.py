"""Results of sequences -> results of groups -> output columns.

`QueryResults.sequence` has sequences in the input and groups in the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import errors_quoting
from ostinato.event_queries.language.event_query import GroupColumn, WindowEdge, aggregate_name
from ostinato.event_queries.plan.event_program import NO_WINDOW, Numbers, QueryResults, SlotKind
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.event_queries.plan.output_slots import AverageOutput, ComputedOutput, CountOutput, SlotOutput
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Column, Expr
from ostinato.kernels.numbers import number_columns as tn
from ostinato.kernels.numbers.python_numbers import Extended
from ostinato.rows.times import times_of

Ints = NDArray[np.int64]
Exact = NDArray[np.object_]


# --- numbers ----------------------------------------------------------------------------------------------------------


def exact_or_extended(numbers: Numbers) -> Exact | Extended:
    """Exact integers as they are, other numbers as Extended."""
    if isinstance(numbers, Extended):
        return numbers
    return tn.approximate_of(numbers) if numbers.dtype.kind == "f" else numbers.astype(object, copy=False)


def _sums(numbers: Numbers, group: Ints, groups: int) -> Numbers:
    converted = exact_or_extended(numbers)
    if isinstance(converted, Extended):
        return tn.approximate_sums(converted, group, groups)
    return tn.exact_sums(converted, group, groups)


def numbers_at(numbers: Numbers, rows: NDArray[Any]) -> Numbers:
    """The numbers at these rows."""
    if isinstance(numbers, Extended):
        return Extended(numbers.mantissa[rows], numbers.exponent[rows])
    chosen: Numbers = numbers[rows]
    return chosen


# --- sequences -> groups ----------------------------------------------------------------------------------------------


def results_by_group(results: QueryResults, group: Ints, kinds: Sequence[SlotKind]) -> QueryResults:
    """The results of the groups that sequences belong to, in order of group and window."""
    number, groups, windows = _numbered(group[results.sequence], results.window)
    if len(groups) == len(number):  # nothing to add up, only to sort
        order = np.empty(len(number), np.int64)
        order[number] = np.arange(len(number))
        in_order = tuple(numbers_at(slot, order) for slot in results.slots)
        flags = tuple(each[order] for each in results.present)
        return QueryResults(groups, windows, numbers_at(results.count, order), in_order, flags)
    slots: list[Numbers] = []
    present = []
    for kind, values, has_value in zip(kinds, results.slots, results.present, strict=True):
        if kind in (SlotKind.MIN, SlotKind.MAX):
            assert isinstance(values, np.ndarray)
            extremes, has_extreme = tn.extremes(values, has_value, number, len(groups), largest=kind is SlotKind.MAX)
            slots.append(extremes)
            present.append(has_extreme)
        else:
            slots.append(_sums(_without_absent(values, has_value), number, len(groups)))
            present.append(tn.any_present(has_value, number, len(groups)))
    return QueryResults(groups, windows, _sums(results.count, number, len(groups)), tuple(slots), tuple(present))


def _numbered(group: Ints, window: Ints) -> tuple[Ints, Ints, Ints]:
    """For each row the number of its (group, window) in sorted order; and the groups and windows."""
    order = np.lexsort((window, group))
    ordered_group, ordered_window = group[order], window[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (ordered_group[1:] != ordered_group[:-1]) | (ordered_window[1:] != ordered_window[:-1])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return number, ordered_group[is_new], ordered_window[is_new]


def _without_absent(values: Numbers, present: NDArray[np.bool_]) -> Numbers:
    """The values with 0 where a sum is undefined."""
    if present.all():
        return values
    if isinstance(values, Extended):
        return Extended(np.where(present, values.mantissa, 0.0), np.where(present, values.exponent, 0))
    return cast(Numbers, np.where(present, values, 0).astype(values.dtype))


def conjunction(results_of_programs: Sequence[QueryResults]) -> QueryResults:
    """The number of pairs of distinct matches of an AND, by sequence. The third program counts the common matches."""
    sequences = np.concatenate([results.sequence for results in results_of_programs])
    number, sequence, window = _numbered(sequences, np.concatenate([results.window for results in results_of_programs]))
    counts, at = [], 0
    for results in results_of_programs:
        counts.append(exact_or_extended(_sums(results.count, number[at : at + len(results.sequence)], len(sequence))))
        at += len(results.sequence)
    if len(counts) == 2:
        nothing = np.zeros(len(sequence), object)
        counts.append(nothing if not isinstance(counts[0], Extended) else tn.approximate_of(nothing))
    one, other, shared = counts
    pairs: Numbers
    if isinstance(one, Extended):
        assert isinstance(other, Extended) and isinstance(shared, Extended)
        pairs = tn.approximate_conjunction_counts(one, other, shared)
        is_any = pairs.mantissa > 0
    else:
        assert not isinstance(other, Extended) and not isinstance(shared, Extended)
        pairs = tn.conjunction_counts(one, other, shared)
        is_any = np.array([bool(pair) for pair in pairs], np.bool_)
    rows = np.flatnonzero(is_any)
    return QueryResults(sequence[rows], window[rows], numbers_at(pairs, rows), (), ())


def row_without_matches(results: QueryResults, kinds: Sequence[SlotKind]) -> QueryResults:
    """The single row of a query without groups and windows that has no match."""

    def zero(like: Numbers) -> Numbers:
        if isinstance(like, Extended):
            return Extended(np.zeros(1), np.zeros(1, np.int64))
        return cast(Numbers, np.zeros(1, like.dtype))

    assert len(kinds) == len(results.slots)
    slots = tuple(zero(slot) for slot in results.slots)
    present = tuple(np.zeros(1, np.bool_) for _ in kinds)
    return QueryResults(np.zeros(1, np.int64), np.full(1, NO_WINDOW, np.int64), zero(results.count), slots, present)


# --- groups -> columns ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputContext:
    """A query of the plan and its name. `group_value` gives the values of a GROUP BY column for groups."""

    typed: TypedEventsPlan
    query: int
    name: str
    group_value: Callable[[str, Ints], pa.Array]


def output_columns(context: OutputContext, results: QueryResults) -> list[pa.Array]:
    """The output columns of a query in their order."""
    plan = context.typed.plan.queries[context.query]
    kinds = context.typed.output_types[context.query]
    return [_column(context, results, output, kind) for (_, output), kind in zip(plan.outputs, kinds, strict=True)]


def _column(context: OutputContext, results: QueryResults, output: Any, kind: pa.DataType) -> pa.Array:
    typed = context.typed
    program = typed.plan.queries[context.query].programs[0]

    def describe_row(row: int) -> str:
        return _row_description(context, results, row)

    match output:
        case GroupColumn(column):
            array = context.group_value(column, results.sequence)
        case WindowEdge():
            starts = results.window if output is WindowEdge.START else results.window + program.extent.length
            array = times_of(starts, kind)
        case CountOutput():
            array = _number_column(typed, results.count, None, describe_row, 0, is_count=True)
        case SlotOutput(i):
            values, present, slot = results.slots[i], results.present[i], program.slots[i]
            if slot.kind in (SlotKind.MIN, SlotKind.MAX):
                assert isinstance(values, np.ndarray)
                array = tn.value_column(values, present, kind)
            elif slot.kind is SlotKind.COUNT:
                array = _number_column(typed, values, None, describe_row, 0, is_count=True)
            else:
                array = _number_column(typed, values, present, describe_row, _scale(context, i), is_count=False)
        case AverageOutput(total, number):
            array = _average(results.slots[total], results.slots[number], _scale(context, total))
        case ComputedOutput():
            array = _computed(context, results, output)
        case _:
            assert_never(output)
    return array if array.type == kind else array.cast(kind)


def _computed(context: OutputContext, results: QueryResults, output: ComputedOutput) -> pa.Array:
    """Arithmetic over the columns of aggregates. It is the same evaluator in process and in Spark's workers."""
    typed = context.typed
    columns: dict[Expr, pa.Array] = {
        Column(aggregate_name(i)): _column(context, results, each, typed.aggregate_type(context.query, each))
        for i, each in enumerate(output.aggregates)
    }
    with errors_quoting(typed.plan.queries[context.query].bound.query.text):
        return evaluate(output.expression, columns.get, len(results.sequence), typed.settings)


def _number_column(
    typed: TypedEventsPlan,
    numbers: Numbers,
    present: NDArray[np.bool_] | None,
    describe_row: tn.DescribeRow,
    scale: int,
    *,
    is_count: bool,
) -> pa.Array:
    converted = exact_or_extended(numbers)
    if isinstance(converted, Extended):
        return tn.approximate_column(converted, present, typed.form, describe_row, scale=scale, is_count=is_count)
    return tn.exact_column(converted, present, typed.form, describe_row, scale=scale, is_count=is_count)


def _average(total: Numbers, number: Numbers, scale: int) -> pa.Array:
    above, below = exact_or_extended(total), exact_or_extended(number)
    if not isinstance(above, Extended) and not isinstance(below, Extended):
        return tn.average_column(above, below, scale=scale)
    approximate = [each if isinstance(each, Extended) else tn.approximate_of(each) for each in (above, below)]
    return tn.approximate_average_column(approximate[0], approximate[1], scale=scale)


def _scale(context: OutputContext, slot: int) -> int:
    kind = context.typed.slot_type(context.query, slot)
    return kind.scale if kind is not None and t.is_decimal(kind) else 0


def _row_description(context: OutputContext, results: QueryResults, row: int) -> str:
    """Describes a row of the results for errors: query, group and window."""
    plan = context.typed.plan.queries[context.query]
    at = results.sequence[row : row + 1]
    words = [f"query '{context.name}'" if context.name else "the query"]
    words += [f"{name} = {context.group_value(name, at)[0].as_py()!r}" for name in plan.bound.group_by]
    if results.window[row] != NO_WINDOW:
        extent = plan.programs[0].extent
        kind = t.INT64 if extent.by_place else t.NTZ
        words.append(f"the window from {times_of(results.window[row : row + 1], kind)[0].as_py()}")
    return ", ".join(words)
