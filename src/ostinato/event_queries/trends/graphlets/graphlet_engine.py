"""The shared engine for conditions between adjacent events. For each burst it decides again who shares.

A burst (Definition 10) has events of the Kleene label. It ends when an event changes a query in another way, or a
window opens or closes (the end of a pane). For each burst, the optimizer chooses the queries that share it. Numbers are
exact. Approximate results are rounded from exact ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import (
    EdgeTest,
    EngineStep,
    Events,
    Numbers,
    Program,
    QueryResults,
    SlotKind,
    TrendEngine,
)
from ostinato.event_queries.trends.graphlets.graphlet import Matrix, decide
from ostinato.event_queries.trends.graphlets.graphlet_state import STATE, pack, unpack
from ostinato.event_queries.trends.graphlets.summed_values import sums_of_program, sums_of_slot
from ostinato.event_queries.trends.graphlets.walk import ResultRow, Walk
from ostinato.event_queries.trends.loops import Loop, never_shared, possible_loops
from ostinato.kernels.numbers.python_numbers import Extended, with_not_finite
from ostinato.streams.stored_state import reading

PROGRAMS = "programs on graphlets"
"""Name of this engine's number of programs in the statistics."""
_STATISTICS = ("bursts", "shared", "split", "merged", "snapshots", "lane updates", "lane updates saved")


def declined(programs: Sequence[Program]) -> str | None:
    """The reason why the programs can't share their Kleene label; None if they can."""
    conditions = set()
    for program in programs:
        reason = never_shared(program)
        if reason is not None:
            return reason
        if program.extent.by_place:
            return "conditions between adjacent events, with windows that count events"
        if program.automaton.absences:
            return "conditions between adjacent events, with NOT"
        if any(slot.kind in (SlotKind.MIN, SlotKind.MAX) for slot in program.slots):
            return "conditions between adjacent events, with MIN or MAX"
        loop = tested_loop(program)
        if loop is None:
            return "conditions between adjacent events other than those of one repeated event"
        conditions.add(loop.condition)
    if len(programs) < 2 or len(conditions) > 1:
        return "no two queries repeat the same events"
    return None


def tested_loop(program: Program) -> Loop | None:
    """The loop whose events are tested, if no other events are tested and no other label leads to its state."""
    tested = {(edge.before, edge.after) for edge in program.edges}
    for loop in possible_loops(program):
        into = {step.label for step in program.automaton.transitions if step.target == loop.state}
        if tested <= {(loop.label, loop.label)} and into == {loop.label}:
            return loop
    return None


class GraphletEngine(TrendEngine):
    """`sharing="dynamic"` decides for each burst, "always" shares every burst, "never" none."""

    def __init__(self, programs: Sequence[Program], exact: bool, sharing: str = "dynamic") -> None:
        self.programs = tuple(programs)
        self.exact, self.sharing = exact, sharing
        self.decide = decide
        loops = [tested_loop(program) for program in programs]
        self.loops = [loop for loop in loops if loop is not None]
        tests: dict[tuple[EdgeTest, ...], int] = {}
        for program in programs:
            tests.setdefault(_alike(program.edges), len(tests))
        self.test_of = [tests[_alike(program.edges)] for program in programs]
        self.tests = list(tests)
        compared = {edge.before_value for edges in tests for edge in edges if edge.op is not None}
        self.compared = sorted(compared)
        digest = hashlib.sha256(repr((self.programs, exact)).encode()).digest()
        self.mark = int.from_bytes(digest[:7], "little")

    def advance(self, events: Events, states: Sequence[bytes], until: NDArray[np.int64] | None) -> EngineStep:
        statistics = {PROGRAMS: len(self.programs), **dict.fromkeys(_STATISTICS, 0)}
        rows_by_query: list[list[ResultRow]] = [[] for _ in self.programs]
        new_states = []
        floats = [column.dtype == np.float64 for column in events.values]
        sums = [sums_of_program(program, floats) for program in self.programs]
        for sequence, state in enumerate(states):
            walk = Walk(self, events, sequence, statistics, sums, rows_by_query)
            if state:
                with reading(STATE):
                    walk.load(unpack(state, self.mark))
            walk.run(None if until is None else int(until[sequence]))
            new_states.append(pack(walk.stored(), self.mark) if walk.lanes else b"")
        results = tuple(
            _results(program, rows, self.exact, floats)
            for program, rows in zip(self.programs, rows_by_query, strict=True)
        )
        return EngineStep(results, tuple(new_states), statistics)


def _alike(edges: Iterable[EdgeTest]) -> tuple[EdgeTest, ...]:
    """The tests without the numbers of labels, so that the tests of two queries can be compared."""
    return tuple(sorted((replace(edge, before=0, after=0) for edge in edges), key=repr))


def _results(program: Program, rows: list[ResultRow], exact: bool, floats: list[bool]) -> QueryResults:
    rows.sort(key=lambda row: row[:2])
    width = 1 + len(sums_of_program(program, floats))
    table = np.array([totals for _, _, totals in rows], object).reshape(len(rows), width)
    slots: list[Numbers] = []
    present = []
    at = 1
    for slot in program.slots:
        # The value, whether there is one, and for doubles flags of values that aren't finite.
        columns = table[:, at : at + len(sums_of_slot(slot, floats))].T
        at += len(columns)
        if len(columns) > 2:
            slots.append(with_not_finite(_extended(columns[0]), *((flag != 0).astype(bool) for flag in columns[2:])))
        else:
            slots.append(columns[0] if exact else _extended(columns[0]))
        present.append(np.ones(len(rows), bool) if len(columns) == 1 else (columns[1] != 0).astype(bool))
    return QueryResults(
        np.array([sequence for sequence, _, _ in rows], np.int64),
        np.array([window for _, window, _ in rows], np.int64),
        table[:, 0] if exact else _extended(table[:, 0]),
        tuple(slots),
        tuple(present),
    )


def _extended(column: Matrix) -> Extended:
    """Integers and fractions as doubles with an extended exponent."""
    exponents = [max(int(abs(number)).bit_length() - 60, 0) for number in column]
    mantissas = [float(Fraction(number) / 2**exponent) for number, exponent in zip(column, exponents, strict=True)]
    return Extended(np.array(mantissas, np.float64), np.array(exponents, np.int64))
