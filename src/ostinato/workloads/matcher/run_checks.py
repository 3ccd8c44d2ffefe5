"""Run conditions and features of a merged plan, for the kernel: how they are evaluated for a partial match.

The interpreter looks rows up in registers. If patterns have no loops and each register only holds the event of one
variable, the matcher reads registers off the chain of partial matches when a condition needs them. Otherwise each
partial match keeps its registers and totals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.enumeration.match_conditions import NO_LABEL
from ostinato.expressions.run_conditions.interpreter import check, value_of
from ostinato.expressions.run_conditions.opcodes import RegisterRule
from ostinato.expressions.run_conditions.run_columns import Column, tie_to_columns
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.expressions.run_conditions.run_registers import ConditionArrays, update
from ostinato.kernels.kernel_cache import called_kernel, inline_kernel
from ostinato.workloads.matcher.quick_checks import QuickTables
from ostinato.workloads.matcher.register_reads import LastBirths, RegisterReads, no_births
from ostinato.workloads.matcher.store import LENGTH, NODE, PARENT, ROW, older, older_than_new
from ostinato.workloads.merging.merged_plan import MergedPlan
from ostinato.workloads.merging.plan_conditions import PlanConditions

Ints = NDArray[np.int64]
_STACK = 64


class RunBuffers(NamedTuple):
    """Buffers of the interpreter: row 0 is before the event, row 1 after it."""

    registers: Ints
    int_totals: Ints
    real_totals: NDArray[np.float64]
    stack: NDArray[np.float64]
    stack_whole: Ints
    stack_null: NDArray[np.bool_]
    node: NDArray[np.int32]


class RunChecks(NamedTuple):
    """Everything about run conditions and features that the kernel reads."""

    conditions: ConditionArrays
    each: Ints
    register: Ints
    register_of: Ints
    """By label the register with its event, or -1; empty where partial matches keep registers of their own."""
    feature_at: Ints
    feature: Ints
    """By node the values that are its features."""
    quick: QuickTables
    reads: RegisterReads
    last: LastBirths
    buffers: RunBuffers


class StaticChecks(NamedTuple):
    """The tables that don't depend on rows."""

    quick: QuickTables
    reads: RegisterReads


class NoRunChecks(NamedTuple):
    """For a plan without run conditions."""

    conditions: tuple[()] = ()


def registers_by_label(plan: MergedPlan, program: RunProgram) -> Ints | None:
    """By label the register with its event; None if partial matches have to keep registers."""
    plain = all(
        register.keep is RegisterRule.LAST and register.rows is not None and len(register.rows) == 1
        for register in program.registers
    )
    if program.accumulators or not plain or _has_loops(plan):
        return None
    register_of = np.full(len(program.variables), -1, np.int64)
    for number, register in enumerate(program.registers):
        for name in register.rows or ():
            register_of[program.variables.index(name)] = number
    return register_of


def _has_loops(plan: MergedPlan) -> bool:
    """Nodes are numbered by length, so only a step that doesn't lead on can close a loop."""
    return any(step.target <= step.source for step in plan.steps)


def tie_run_checks(
    conditions: PlanConditions, register_of: Ints | None, static: StaticChecks, rows: int, column: Column
) -> RunChecks:
    """The conditions over the rows at hand."""
    program = conditions.program
    column = conditions.row_values.column(column, rows)
    labels = np.arange(len(program.variables), dtype=np.int32)
    registers, totals = len(program.registers), len(program.accumulators)
    at = np.zeros(len(conditions.features) + 1, np.int64)
    np.cumsum([len(of_node) for of_node in conditions.features], out=at[1:])
    return RunChecks(
        conditions=tie_to_columns(program, range(len(program.first) - 1), labels, rows, column),
        each=np.array([condition.each for condition in conditions.conditions], np.int64),
        register=np.array([condition.register for condition in conditions.conditions], np.int64),
        register_of=np.zeros(0, np.int64) if register_of is None else register_of,
        feature_at=at,
        feature=np.array([value for of_node in conditions.features for value in of_node], np.int64),
        quick=static.quick,
        reads=static.reads,
        last=no_births(static.reads),
        buffers=RunBuffers(
            registers=np.full((2, registers), -1, np.int64),
            int_totals=np.zeros((2, totals), np.int64),
            real_totals=np.zeros((2, totals), np.float64),
            stack=np.zeros(_STACK, np.float64),
            stack_whole=np.zeros(_STACK, np.int64),
            stack_null=np.zeros(_STACK, np.bool_),
            node=np.zeros(1, np.int32),
        ),
    )


# --- registers --------------------------------------------------------------------------------------------------------


@inline_kernel
def read_chain(pm, segment, row, label, labels, register_of, step, reads, links, ancestry, registers):  # type: ignore[no-untyped-def]  # fmt: skip
    """Reads the registers that the step needs, for the partial match that `pm` grows into, off its chain into row 1."""
    for i in range(registers.shape[1]):
        registers[1, i] = -1
    event_row, event_label = np.int64(row), np.int64(label)
    at, waiting = older_than_new(pm, segment, ancestry)
    missing = reads.needed_count[step]
    while missing > 0:
        register = register_of[event_label]
        if register >= 0 and reads.needed[step, register]:
            registers[1, register] = event_row
            missing -= 1
        if at < 0:
            break
        event_row, event_label = links[at, ROW], labels[ancestry[at, NODE]]
        at, waiting = older(at, waiting, ancestry)


@called_kernel
def update_kept(pm, segment, row, label, labels, links, ancestry, store_registers, store_int_totals, store_real_totals, buffers, conditions):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """The same, with totals, from the registers that `pm` keeps. Negative: an error."""
    for i in range(buffers.registers.shape[1]):
        buffers.registers[1, i] = store_registers[pm, i] if pm >= 0 else -1
    for i in range(buffers.int_totals.shape[1]):
        buffers.int_totals[1, i] = store_int_totals[pm, i] if pm >= 0 else 0
        buffers.real_totals[1, i] = store_real_totals[pm, i] if pm >= 0 else 0.0
    count = np.int64(1) if segment < 0 else links[segment, LENGTH]
    for event in range(count):
        event_row, event_label = np.int64(row), np.int64(label)
        if segment >= 0:
            at = np.int64(segment)
            for _ in range(count - 1 - event):
                at = np.int64(ancestry[at, PARENT])
            event_row, event_label = links[at, ROW], labels[ancestry[at, NODE]]
        for i in range(buffers.registers.shape[1]):
            buffers.registers[0, i] = buffers.registers[1, i]
        for i in range(buffers.int_totals.shape[1]):
            buffers.int_totals[0, i], buffers.real_totals[0, i] = buffers.int_totals[1, i], buffers.real_totals[1, i]
        verdict = update(event_label, event_row, 0, buffers, conditions)
        if verdict < 0:
            return verdict
    return 0


# --- conditions and features ------------------------------------------------------------------------------------------


@called_kernel
def condition_holds(number, pm, segment, row, label, labels, links, ancestry, each_of, register_of, buffers, conditions):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Condition `number`, of all events of its `each` label if it has one: 1 it holds, 0 not, negative an error.

    Row 1 of the registers belongs to the partial match that `pm` grows into.
    """
    each, register = each_of[number], register_of[number]
    of_all = each != NO_LABEL and register >= 0
    saved = buffers.registers[1, register] if of_all else np.int64(0)
    rows = conditions.valid.shape[1]
    at, waiting = older_than_new(pm, segment, ancestry)
    event_row, event_label = np.int64(row), np.int64(label)
    verdict = 1
    while True:
        if not of_all or event_label == each:
            if of_all:
                buffers.registers[1, register] = event_row
            verdict = check(number, label, row, 0, 0, rows, 0, buffers, conditions)
            if verdict != 1 or not of_all:
                break
        if at < 0:
            break
        event_row, event_label = links[at, ROW], labels[ancestry[at, NODE]]
        at, waiting = older(at, waiting, ancestry)
    if of_all:
        buffers.registers[1, register] = saved
    return verdict


@called_kernel
def feature_value(value, row, buffers, conditions):  # type: ignore[no-untyped-def]
    """Returns whether the feature isn't NULL, and its value. `buffers` has the registers."""
    return value_of(value, row, buffers, conditions)
