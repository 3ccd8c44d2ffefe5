"""One sequence in the graphlet engine: its windows, its events outside the Kleene label, and its stored state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.plan.event_program import NO_WINDOW, BoundKind, Events
from ostinato.event_queries.trends.edge_tests import names_of_earlier_events
from ostinato.event_queries.trends.graphlets.bursts import Bursts, Graphlet, Lane, added
from ostinato.event_queries.trends.graphlets.graphlet_state import (
    StoredLane,
    StoredSequence,
    as_integers,
    check_sequence,
)
from ostinato.event_queries.trends.graphlets.summed_values import SummedValue, value_of_event
from ostinato.kernels.stopping import check_stopped

if TYPE_CHECKING:
    from ostinato.event_queries.trends.graphlets.graphlet_engine import GraphletEngine

_LONGEST_BURST = 256
"""Longer bursts are cut: all pairs of earlier events and events of a burst are tested at once."""

ResultRow = tuple[int, int, list[Any]]
"""Sequence, start of the window, count and sums."""


class Walk:
    """The walk over one sequence. Results go into `rows_by_query`."""

    def __init__(
        self,
        engine: GraphletEngine,
        events: Events,
        sequence: int,
        statistics: dict[str, int],
        sums: list[list[SummedValue]],
        rows_by_query: list[list[ResultRow]],
    ) -> None:
        self.engine, self.events, self.sequence, self.statistics = engine, events, sequence, statistics
        self.sums, self.rows_by_query = sums, rows_by_query
        self.lanes: dict[int, Lane] = {}
        self.bursts = Bursts(engine, events, statistics, sums, self.lanes)
        self.opened = 0
        self.next_window = [-(1 << 62)] * len(engine.programs)
        self.rows_given = 0
        """The number of rows of earlier calls."""

    def run(self, until: int | None) -> None:
        """Walks over the sequence's events. Closes the windows that end at or before `until`; without it, all."""
        times = self.events.time
        first, end = int(self.events.starts[self.sequence]), int(self.events.starts[self.sequence + 1])
        is_kleene, is_other = self.events.conditions[self.engine.loops[0].condition], self._other_events(first, end)
        burst: list[int] = []
        row = first
        while row < end:
            last = row + 1
            while last < end and times[last] == times[row]:
                last += 1
            kleene_rows = [index for index in range(row, last) if is_kleene[index]]
            has_others = bool(is_other[row:last].any())
            if has_others or kleene_rows:
                check_stopped()
                windows_change = self._windows_change(int(times[row]))
                if burst and (has_others or windows_change or len(burst) >= _LONGEST_BURST):
                    self._take_burst(burst)
                    burst = []
                if windows_change:
                    self._move_windows(int(times[row]))
                if has_others:
                    # All events of one time read the sums before any of them changes a sum.
                    gains = [(lane, self._gains(lane, range(row, last))) for lane in self.lanes.values()]
                    if kleene_rows:
                        self._take_burst(kleene_rows)
                    for lane, gain_of in gains:
                        for state, gain in gain_of.items():
                            lane.sums[state] = added(lane.sums[state], gain)
                else:
                    burst += kleene_rows
            row = last
        if burst:
            self._take_burst(burst)
        for number, lane in list(self.lanes.items()):
            if until is None or self._end(lane) <= until:
                self._close(number)
        self.rows_given += end - first

    def _other_events(self, first: int, end: int) -> NDArray[np.bool_]:
        """The events that qualify for a label other than the Kleene label of a query."""
        is_other = np.zeros(len(self.events.time), bool)
        for program, loop in zip(self.engine.programs, self.engine.loops, strict=True):
            for label, condition in enumerate(program.qualifies):
                if label != loop.label:
                    is_other[first:end] |= self.events.conditions[condition][first:end]
        return is_other

    def _take_burst(self, rows: list[int]) -> None:
        self.bursts.take(rows, self.rows_given - int(self.events.starts[self.sequence]))

    def _gains(self, lane: Lane, rows: range) -> dict[int, list[Any]]:
        """For each state, what the lane gains by the events of one time outside the Kleene label."""
        program, loop = self.engine.programs[lane.query], self.engine.loops[lane.query]
        gain_of: dict[int, list[Any]] = {}
        for row in rows:
            for step in program.automaton.transitions:
                source = lane.sums[step.source]
                if step.label == loop.label or not source[0]:
                    continue
                if not self.events.conditions[program.qualifies[step.label]][row]:
                    continue
                self.statistics["lane updates"] += 1
                gain = list(source)
                for index, summed in enumerate(self.sums[lane.query], 1):
                    if step.label in summed.labels:
                        gain[index] += value_of_event(self.events, summed.kind, summed.value, row) * source[0]
                gain_of[step.target] = added(gain_of.get(step.target, [0] * len(gain)), gain)
        return gain_of

    # --- between calls ---

    def stored(self) -> StoredSequence:
        bursts = self.bursts
        bursts.forget()
        graphlets = bursts.graphlets
        start = bursts.past - sum(len(graphlet.rows) for graphlet in graphlets)
        lanes = []
        for number, lane in self.lanes.items():
            past: list[list[Any]] = [[] for _ in lane.sums[0]]
            for graphlet in graphlets:
                skipped = max(lane.first - graphlet.first, 0)
                if skipped < len(graphlet.rows):
                    for numbers, counts in zip(past, graphlet.counts(number), strict=True):
                        numbers += list(counts[skipped:])
            lanes.append(StoredLane(lane.query, lane.window, max(lane.first, start), lane.sums, past))
        columns = [
            [np.concatenate(arrays) for arrays in zip(*(g.columns[value] for g in graphlets), strict=True)]
            if graphlets
            else [np.zeros(0, np.int64), np.zeros(0, bool)]
            for value in self.engine.compared
        ]
        return StoredSequence(
            self.rows_given,
            bursts.past,
            -1 if bursts.was_shared is None else int(bursts.was_shared),
            self.next_window,
            [int(number) for graphlet in graphlets for number in graphlet.numbers],
            [as_integers(values) for values, _ in columns],
            [[int(is_valid) for is_valid in valid] for _, valid in columns],
            lanes,
        )

    def load(self, state: StoredSequence) -> None:
        """Loads all past events as one graphlet that isn't shared. Raises STATE_FORMAT if the state is invalid."""
        widths = [1 + len(sums) for sums in self.sums]
        states = [program.automaton.states for program in self.engine.programs]
        check_sequence(state, states, widths, len(self.engine.compared))
        self.rows_given, self.next_window = state.rows_given, list(state.next_window)
        self.bursts.past = state.past
        self.bursts.was_shared = None if state.was_shared < 0 else bool(state.was_shared)
        numbers = np.array(state.numbers, np.int64)
        first = state.past - len(numbers)
        columns: dict[int, tuple[NDArray[Any], NDArray[np.bool_]]] = {
            value: (np.array(column, np.int64).view(self.events.values[value].dtype), np.array(valid, bool))
            for value, column, valid in zip(self.engine.compared, state.values, state.valid, strict=True)
        }
        sequences = len(self.events.starts) - 1
        rows = names_of_earlier_events(state.rows_given - 1 - numbers, self.sequence, sequences)
        graphlet = Graphlet(first, rows, numbers, columns)
        for number, lane in enumerate(state.lanes):
            self.lanes[number] = Lane(lane.query, lane.window, lane.sums, lane.first)
            plain = np.zeros((len(lane.past), len(numbers)), object)
            plain[:, lane.first - first :] = lane.past
            graphlet.plain[number] = plain
        self.opened = len(state.lanes)
        self.bursts.graphlets = [graphlet]

    # --- windows ---

    def _windows_change(self, time: int) -> bool:
        for query, program in enumerate(self.engine.programs):
            if program.extent.kind is BoundKind.NONE:
                if self.next_window[query] < 0:
                    return True
            elif self.next_window[query] * program.extent.slide <= time:
                return True
        return any(self._end(lane) <= time for lane in self.lanes.values())

    def _end(self, lane: Lane) -> float:
        extent = self.engine.programs[lane.query].extent
        return math.inf if extent.kind is BoundKind.NONE else lane.window * extent.slide + extent.length

    def _move_windows(self, time: int) -> None:
        """Closes windows that are over and opens windows that start at or before `time`."""
        for number in [number for number, lane in self.lanes.items() if self._end(lane) <= time]:
            self._close(number)
        for query, program in enumerate(self.engine.programs):
            extent = program.extent
            if extent.kind is BoundKind.NONE:
                if self.next_window[query] < 0:
                    self._open(query, 0)
                    self.next_window[query] = 1
                continue
            earliest = (time - extent.length) // extent.slide + 1
            self.next_window[query] = max(self.next_window[query], earliest)
            while self.next_window[query] * extent.slide <= time:
                self._open(query, self.next_window[query])
                self.next_window[query] += 1
        self.bursts.forget()

    def _open(self, query: int, window: int) -> None:
        states = self.engine.programs[query].automaton.states
        sums: list[list[Any]] = [[0] * (1 + len(self.sums[query])) for _ in range(states)]
        sums[START][0] = 1
        self.lanes[self.opened] = Lane(query, window, sums, self.bursts.past)
        self.opened += 1

    def _close(self, number: int) -> None:
        lane = self.lanes.pop(number)
        program = self.engine.programs[lane.query]
        sums = [lane.sums[state] for state in sorted(program.automaton.accepting)]
        total = [sum(column) for column in zip(*sums, strict=True)]
        if total[0]:
            unbounded = program.extent.kind is BoundKind.NONE
            start = int(NO_WINDOW) if unbounded else lane.window * program.extent.slide
            self.rows_by_query[lane.query].append((self.sequence, start, total))
