"""RunProgram + tables of a plan -> the registers that each step has to look up, and those that a node's features read.

The matcher reads registers off the chain of partial matches. Most new partial matches need only the last one or two
events of the chain. The features of a partial match depend only on the rows that they read. One event often makes
several partial matches with the same such rows. So `LastBirths` stores the features of the newest partial match of each
node, and the next one may reuse them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.expressions.run_conditions.opcodes import Opcode
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.workloads.matcher.plan_tables import PlanTables
from ostinato.workloads.merging.features import MAX_FEATURES
from ostinato.workloads.merging.plan_conditions import PlanConditions

Ints = NDArray[np.int64]
_READ_BY_B = frozenset((Opcode.LOAD_WHOLE, Opcode.LOAD_REAL, Opcode.PRESENT, Opcode.LABEL))
_COMPARISONS = frozenset((Opcode.COMPARE_WHOLE, Opcode.COMPARE_REAL))
NO_ROW = -1


class RegisterReads(NamedTuple):
    """The registers to read. Doesn't depend on rows; empty where partial matches keep registers of their own."""

    needed: NDArray[np.bool_]
    """[step, register] whether features, guards or ends of the new partial match read it. The last line: all."""
    needed_count: Ints
    """[step] number of these registers. The last line has one more than exist, so the chain is walked to its end."""
    feature_at: Ints
    feature_register: Ints
    """By node the registers that its features read."""


class LastBirths(NamedTuple):
    """By node, of the newest partial match: the rows that its features read, its features and its class."""

    rows: Ints
    """[node, 1 + register of the node] its last row, then those in registers. NO_ROW first: no partial match yet."""
    of_class: Ints
    features: NDArray[np.float64]
    nulls: NDArray[np.uint8]


def find_register_reads(plan: PlanTables, conditions: PlanConditions) -> RegisterReads:
    """For programs whose registers hold the rows of single variables."""
    program, steps = conditions.program, len(plan.steps.source)
    features = [_registers_read(program, values) for values in conditions.features]
    needed = np.zeros((steps + 1, len(program.registers)), np.bool_)
    for step, node in enumerate(plan.steps.target.tolist()):
        guards = range(steps + int(plan.check_table.guard_at[step]), steps + int(plan.check_table.guard_at[step + 1]))
        ends = range(int(plan.ends.at[node]), int(plan.ends.at[node + 1]))
        checks = _check_numbers(plan.check_table.check_at, plan.check_table.check, guards)
        checks += _check_numbers(plan.ends.check_at, plan.ends.check, ends)
        for register in (*features[node], *_condition_registers(conditions, checks)):
            needed[step, register] = True
    count = needed.sum(axis=1)
    needed[steps], count[steps] = True, len(program.registers) + 1
    return RegisterReads(
        needed,
        count.astype(np.int64),
        np.cumsum([0, *map(len, features)]).astype(np.int64),
        np.array([register for of_node in features for register in of_node], np.int64),
    )


def no_register_reads() -> RegisterReads:
    empty = np.zeros(0, np.int64)
    return RegisterReads(np.zeros((0, 0), np.bool_), empty, empty, empty)


def no_births(reads: RegisterReads) -> LastBirths:
    nodes = max(len(reads.feature_at) - 1, 0)
    most = int(np.diff(reads.feature_at).max(initial=0))
    return LastBirths(
        np.full((nodes, 1 + most), NO_ROW, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros((nodes, MAX_FEATURES), np.float64),
        np.zeros(nodes, np.uint8),
    )


def _check_numbers(at: Ints, check: Ints, owners: Iterable[int]) -> list[int]:
    return [int(number) for owner in owners for number in check[at[owner] : at[owner + 1]]]


def _condition_registers(conditions: PlanConditions, numbers: Sequence[int]) -> set[int]:
    """The registers that conditions read, with those that stand for each event of a variable in turn."""
    for_each = {conditions.conditions[number].register for number in numbers}
    return {register for register in for_each if register >= 0} | set(_registers_read(conditions.program, numbers))


def _registers_read(program: RunProgram, numbers: Iterable[int]) -> tuple[int, ...]:
    """The registers that conditions or values read."""
    registers: set[int] = set()
    for number in numbers:
        first, end = (program.entry[program.first[at]] for at in (number, number + 1))
        code = program.code[first:end]
        for at, (op, _, b, c) in enumerate(code):
            if op in _READ_BY_B:
                registers.add(b)
            elif op in _COMPARISONS:  # the register of the other side is in the next instruction
                registers.update((c, code[at + 1][2]))
    return tuple(sorted(register for register in registers if register >= 0))


# --- kernels ----------------------------------------------------------------------------------------------------------


@inline_kernel
def is_like_last(node, row, registers, reads, last):  # type: ignore[no-untyped-def]
    """Whether the features of a new partial match read the same rows as those of the newest one."""
    if len(last.rows) == 0 or last.rows[node, 0] != row:
        return False
    first = reads.feature_at[node]
    for i in range(reads.feature_at[node + 1] - first):
        if last.rows[node, 1 + i] != registers[1, reads.feature_register[first + i]]:
            return False
    return True


@inline_kernel
def remember(new, node, row, of_class, registers, store, reads, last):  # type: ignore[no-untyped-def]
    if len(last.rows) == 0:
        return
    last.rows[node, 0] = row
    first = reads.feature_at[node]
    for i in range(reads.feature_at[node + 1] - first):
        last.rows[node, 1 + i] = registers[1, reads.feature_register[first + i]]
    for i in range(store.features.shape[1]):
        last.features[node, i] = store.features[new, i]
    last.of_class[node], last.nulls[node] = of_class, store.nulls[new]
