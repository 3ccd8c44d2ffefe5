"""The conditions over the run of a worker's plan -> a test of one row behind a path."""

from __future__ import annotations

import numpy as np

from ostinato.clause.attempts.point_values import KeyRows, PointValues
from ostinato.clause.attempts.run_search import Admits
from ostinato.clause.matching.search_arrays import SearchBuffers
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.clause.task.general_conditions import GeneralConditionCheck
from ostinato.errors import MatchError
from ostinato.expressions.run_conditions.interpreter import check
from ostinato.expressions.run_conditions.run_registers import ConditionArrays, update
from ostinato.kernels.kernel_cache import interpreted_throughout

GENERAL_TRIALS = 200
COMPILED_TRIALS = 10_000
"""Trials from one start, unless the caller names a number. A trial takes about 0.1 ms where Python evaluates the
condition like a measure, and about 0.03 ms otherwise."""


def default_trials(worker: Worker) -> int:
    """The number of partial matches that are tried from one start."""
    return COMPILED_TRIALS if worker.typed.general is None else GENERAL_TRIALS


def run_checks(worker: Worker, window: Window, rows: KeyRows) -> Admits | None:
    """The test; None if no condition reads the run. A condition that fails counts as not TRUE."""
    general = worker.general_check(window.columns)
    if general is not None:
        return _general(worker, general, window.columns.count)
    arrays = worker.condition_arrays(window.columns)
    return None if arrays is None else _Interpreted(worker, arrays, rows).admits


def _general(worker: Worker, general: GeneralConditionCheck, count: int) -> Admits:
    label_of_state = worker.task.automaton.label

    def admits(state: int, row: int, path: list[int], number: int) -> bool:
        buffers = _search_buffers(len(path), 0, 0)
        buffers.node[1 : len(path) + 1] = path
        label = int(label_of_state[state])
        try:
            return general.check(state, label, row, len(path), 0, count, number, buffers, ()) == 1
        except MatchError:
            return False

    return admits


class _Interpreted:
    """Runs the search's own interpreter of conditions as plain Python, so that no kernel needs to be compiled."""

    def __init__(self, worker: Worker, arrays: ConditionArrays, rows: KeyRows) -> None:
        program = worker.typed.run
        assert program is not None
        self._rows = rows
        self._states = worker.plan.nfa.states
        self._counts = (len(program.registers), len(program.accumulators))
        self._arrays = arrays
        self._label = worker.task.automaton.label
        self._end = arrays.valid.shape[1]
        self._buffers = _search_buffers(64, *self._counts)
        self._update = interpreted_throughout(update)
        self._check = interpreted_throughout(check)

    def admits(self, state: int, row: int, path: list[int], number: int) -> bool:
        depth, buffers = len(path), self._roomy(len(path))
        if depth:  # the registers of this depth are those of the path: it was admitted row by row
            buffers.node[depth] = path[-1]
        label = self._label[state]
        with np.errstate(all="ignore"):  # as in the kernel, which checks for overflow itself
            if self._update(label, row, depth, buffers, self._arrays) != 0:
                return False
            try:
                verdict = self._check(state, label, row, depth, 0, self._end, number, buffers, self._arrays)
            except (ArithmeticError, ValueError):  # Python's exp(1000) fails, the kernel's is infinite
                return self._evaluated(state, row, path, number)
        return bool(verdict == 1)

    def _evaluated(self, state: int, row: int, path: list[int], number: int) -> bool:
        """The whole condition, evaluated like a measure. The rest of it holds for this row."""
        labels = [self._states[each].variable for each in (*path, state)]
        condition = self._rows.bound.conditions[labels[-1]]
        try:
            return PointValues(self._rows, row - len(path), labels, number).value(condition) is True
        except MatchError:
            return False

    def _roomy(self, depth: int) -> SearchBuffers:
        """The buffers, with room for one more row than the path has."""
        old = self._buffers
        if depth + 2 > len(old.node):
            self._buffers = new = _search_buffers(4 * len(old.node), *self._counts)
            for before, after in (
                (old.node, new.node),
                (old.registers, new.registers),
                (old.int_totals, new.int_totals),
                (old.real_totals, new.real_totals),
            ):
                after[: len(before)] = before
        return self._buffers


def _search_buffers(depth: int, registers: int, accumulators: int) -> SearchBuffers:
    """The buffers of the search that conditions read, for paths of almost `depth` rows."""
    nothing = np.zeros(0, np.int64)
    return SearchBuffers(
        node=np.zeros(depth + 2, np.int32),
        cursor=nothing,
        registers=np.full((depth + 2, registers), -1, np.int64),
        int_totals=np.zeros((depth + 2, accumulators), np.int64),
        real_totals=np.zeros((depth + 2, accumulators), np.float64),
        memo=nothing,
        claimed=nothing,
        failed_at=nothing,
        failed_why=nothing,
        stack=np.zeros(64, np.float64),
        stack_whole=np.zeros(64, np.int64),
        stack_null=np.zeros(64, np.bool_),
    )
