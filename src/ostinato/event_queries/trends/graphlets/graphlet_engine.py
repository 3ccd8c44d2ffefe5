"""The shared engine for conditions between adjacent events: it shares, splits and merges bursts as it pays.

A burst (Definition 10) has events of the Kleene label. It ends when an event changes a query in another way, or a
window opens or closes (the end of a pane). For each burst, the optimizer chooses the queries that share it. Numbers are
exact. Approximate results are rounded from exact ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import (
    NO_VALUE,
    BoundKind,
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
from ostinato.event_queries.trends.graphlets.walk import Walk, parts_of
from ostinato.event_queries.trends.shared.loops import Loop, possible_loops
from ostinato.kernels.numbers.python_numbers import Extended, with_not_finite
from ostinato.streams.stored_state import reading

PROGRAMS = "programs on graphlets"
"""In the statistics: the programs that ran here."""
_STATISTICS = ("bursts", "shared", "split", "merged", "snapshots", "lane updates", "lane updates saved")


def declined(programs: Sequence[Program]) -> str | None:
    """Why these can't share their Kleene label; None if they can."""
    conditions = set()
    for program in programs:
        if program.selection is not Selection.ANY:
            return "only SKIP TILL ANY MATCH shares"
        if program.extent.kind is BoundKind.SPAN:
            return "WITHIN without SLIDE asks for each match's own begin"
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
    """The loop whose events are tested; nothing else is, and nothing else leads to its state."""
    tested = {(edge.before, edge.after) for edge in program.edges}
    for loop in possible_loops(program):
        into = {step.label for step in program.automaton.transitions if step.target == loop.state}
        if tested <= {(loop.label, loop.label)} and into == {loop.label}:
            return loop
    return None


class GraphletEngine(TrendEngine):
    """`sharing`: "dynamic" decides for each burst, "always" shares each, "never" none."""

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
        rows_by_query: list[list[tuple[int, int, list[int]]]] = [[] for _ in self.programs]
        new_states = []
        floats = [column.dtype == np.float64 for column in events.values]
        slot_parts = [
            [
                slot_part
                for slot in program.slots
                for slot_part in parts_of(slot, slot.value != NO_VALUE and floats[slot.value])
            ]
            for program in self.programs
        ]
        for sequence, state in enumerate(states):
            walk = Walk(self, events, sequence, statistics, slot_parts)
            if state:
                with reading(STATE):
                    walk.load(unpack(state, self.mark))
            walk.run(rows_by_query, None if until is None else int(until[sequence]))
            new_states.append(pack(walk.stored(), self.mark) if walk.lanes else b"")
        results = tuple(
            _results(program, rows, self.exact, floats)
            for program, rows in zip(self.programs, rows_by_query, strict=True)
        )
        return EngineStep(results, tuple(new_states), statistics)


def _alike(edges: Iterable[EdgeTest]) -> tuple[EdgeTest, ...]:
    """The same for queries that number their labels otherwise."""
    return tuple(sorted((replace(edge, before=0, after=0) for edge in edges), key=repr))


def _results(
    program: Program, rows: list[tuple[int, int, list[Any]]], exact: bool, floats: Sequence[bool]
) -> QueryResults:
    rows.sort(key=lambda row: row[:2])
    columns = [np.array([row[2][slot_part] for row in rows] + [None], object)[:-1] for slot_part in range(_width(rows))]
    at = 1
    slots: list[Numbers] = []
    present = []
    for slot in program.slots:
        some = parts_of(slot, slot.value != NO_VALUE and floats[slot.value])
        slot_parts = columns[at : at + len(some)] if rows else [np.zeros(0, object)] * len(some)
        at += len(some)
        real = len(slot_parts) > 2
        if real:
            slots.append(
                with_not_finite(_extended(slot_parts[0]), *((flag != 0).astype(bool) for flag in slot_parts[2:]))
            )
        else:
            slots.append(slot_parts[0] if exact else _extended(slot_parts[0]))
        present.append(np.ones(len(rows), bool) if len(slot_parts) == 1 else slot_parts[1] != 0)
    count = columns[0] if rows else np.zeros(0, object)
    return QueryResults(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        count if exact else _extended(count),
        tuple(slots),
        tuple(present),
    )


def _width(rows: list[tuple[int, int, list[Any]]]) -> int:
    return len(rows[0][2]) if rows else 0


def _extended(column: Matrix) -> Extended:
    """From integers and fractions."""
    exponents = [max(int(abs(number)).bit_length() - 60, 0) for number in column]
    mantissas = [float(Fraction(number) / 2**exponent) for number, exponent in zip(column, exponents, strict=True)]
    return Extended(np.array(mantissas, np.float64), np.array(exponents, np.int64))
