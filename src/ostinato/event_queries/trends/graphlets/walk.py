"""One sequence in the graphlet engine: windows, bursts with the queries that share them, and the stored state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.plan.event_program import NO_VALUE, NO_WINDOW, BoundKind, EdgeTest, Events, Slot, SlotKind
from ostinato.event_queries.trends.graphlets.graphlet import (
    Adjacency,
    Candidate,
    Matrix,
    Propagated,
    SharedGraphlet,
    propagated,
    shared_graphlet,
)
from ostinato.event_queries.trends.graphlets.graphlet_state import (
    StoredLane,
    StoredSequence,
    as_integers,
    check_sequence,
)
from ostinato.kernels.stopping import check_stopped

if TYPE_CHECKING:
    from ostinato.event_queries.trends.graphlets.graphlet_engine import GraphletEngine


_LONGEST_BURST = 256
"""Longer bursts are cut: all pairs of earlier events and events of a burst are tested at once."""
_PAIRS = 1 << 20
"""The most pairs in one call of a test of pairs."""


@dataclass(frozen=True, slots=True)
class SlotPart:
    """A sum beside the count: of a slot's values, of the number of values, or of values that aren't finite."""

    labels: frozenset[int]
    what: str
    value: int


def parts_of(slot: Slot, floats: bool) -> list[SlotPart]:
    if slot.kind is SlotKind.COUNT:
        return [SlotPart(slot.labels, "one" if slot.value == NO_VALUE else "valid", slot.value)]
    whats = ["value", "valid", "nan", "above", "below"] if floats else ["value", "valid"]
    return [SlotPart(slot.labels, what, slot.value) for what in whats]


@dataclass(slots=True)
class _Lane:
    """A query in one window. `sums[state]` has the count and slots of all trends that ended there so far."""

    query: int
    window: int
    sums: list[list[int]]
    first: int
    """The number, within the sequence, of the first earlier event of the Kleene label in the window."""


@dataclass(slots=True)
class _Graphlet:
    """Past events of the Kleene label with their counts. Shared counts are coefficients and values of snapshots."""

    first: int
    rows: NDArray[np.int64]
    """Rows of this call. Events of earlier calls have their names in tests of pairs."""
    numbers: NDArray[np.int64]
    """The same events as numbers among all rows of the sequence."""
    columns: dict[int, tuple[NDArray[Any], NDArray[np.bool_]]]
    """For each value that conditions compare: the values of the events, and whether they have one."""
    shared: SharedGraphlet | None = None
    snapshots: dict[int, Matrix] = field(default_factory=dict)
    """For each lane: [component, snapshot]."""
    plain: dict[int, Matrix] = field(default_factory=dict)
    """For each lane: [component, event]. Counts of a shared graphlet are computed when they are needed."""
    uses: dict[int, list[int]] = field(default_factory=dict)
    """For each lane and each of its sums, the index of the graphlet's sum."""

    def counts(self, lane: int) -> Matrix:
        if lane not in self.plain:
            assert self.shared is not None
            coefficients, values = self.shared.coefficients, self.snapshots[lane]
            self.plain[lane] = np.array(_plugged_in(coefficients, values, self.uses[lane]), object)
        return self.plain[lane]


def _plugged_in(coefficients: Propagated, values: Matrix, uses: list[int]) -> list[Matrix]:
    """The counts and slots of a burst's events for one lane, from the values of its snapshots."""
    counts = coefficients.counts.dot(values[0])
    slots = [
        coefficients.counts.dot(value) + coefficients.slots[use].dot(values[0])
        for value, use in zip(values[1:], uses, strict=True)
    ]
    return [counts, *slots]


class Walk:
    """The walk over one sequence."""

    def __init__(
        self,
        engine: GraphletEngine,
        events: Events,
        sequence: int,
        statistics: dict[str, int],
        parts: list[list[SlotPart]],
    ) -> None:
        self.engine, self.events, self.sequence, self.statistics = engine, events, sequence, statistics
        self.parts = parts
        self.summed: dict[tuple[str, int], int] = {}
        """All sums over the Kleene label that some query needs; number 0 is the empty sum."""
        self.uses = [
            [
                self.summed.setdefault((part.what, part.value), 1 + len(self.summed))
                if loop.label in part.labels
                else 0
                for part in some
            ]
            for some, loop in zip(parts, engine.loops, strict=True)
        ]
        self.lanes: dict[int, _Lane] = {}
        self.opened = 0
        self.next_window = [-(1 << 62)] * len(engine.programs)
        self.graphlets: list[_Graphlet] = []
        self.past = 0
        self.given = 0
        self.was_shared: bool | None = None
        self.kleene = events.conditions[engine.loops[0].condition]

    def run(self, rows_by_query: list[list[tuple[int, int, list[int]]]], until: int | None) -> None:
        events = self.events
        first, end = int(events.starts[self.sequence]), int(events.starts[self.sequence + 1])
        others = np.zeros(len(events.time), bool)
        for program, loop in zip(self.engine.programs, self.engine.loops, strict=True):
            for label, condition in enumerate(program.qualifies):
                if label != loop.label:
                    others[first:end] |= events.conditions[condition][first:end]
        times = events.time
        burst: list[int] = []
        row = first
        while row < end:
            last = row + 1
            while last < end and times[last] == times[row]:
                last += 1
            now = [index for index in range(row, last) if self.kleene[index]]
            mixed = bool(others[row:last].any())
            if mixed or now:
                check_stopped()
                if burst and (mixed or len(burst) >= _LONGEST_BURST or self._windows_change(int(times[row]))):
                    self._burst(burst)
                    burst = []
                if self._windows_change(int(times[row])):
                    self._move_windows(int(times[row]), rows_by_query)
                if mixed:
                    gains = [(lane, self._gain(lane, range(row, last))) for lane in self.lanes.values()]
                    if now:
                        self._burst(now)
                    for lane, gain in gains:
                        for state, parts in gain.items():
                            lane.sums[state] = [a + b for a, b in zip(lane.sums[state], parts, strict=True)]
                else:
                    burst += now
            row = last
        if burst:
            self._burst(burst)
        for number, lane in list(self.lanes.items()):
            if until is None or self._end(lane) <= until:
                self._close(number, rows_by_query)
        self.given += end - first

    # --- between calls ---

    def stored(self) -> StoredSequence:
        self._forget_graphlets()
        start = self.past - sum(len(graphlet.rows) for graphlet in self.graphlets)
        lanes = []
        for number, lane in self.lanes.items():
            past: list[list[int]] = [[] for _ in lane.sums[0]]
            for graphlet in self.graphlets:
                skipped = max(lane.first - graphlet.first, 0)
                if skipped < len(graphlet.rows):
                    for part, counts in zip(past, graphlet.counts(number), strict=True):
                        part += list(counts[skipped:])
            lanes.append(StoredLane(lane.query, lane.window, max(lane.first, start), lane.sums, past))
        columns = [
            [np.concatenate(parts) for parts in zip(*(g.columns[value] for g in self.graphlets), strict=True)]
            if self.graphlets
            else [np.zeros(0, np.int64), np.zeros(0, bool)]
            for value in self.engine.compared
        ]
        return StoredSequence(
            self.given,
            self.past,
            -1 if self.was_shared is None else int(self.was_shared),
            self.next_window,
            [int(number) for graphlet in self.graphlets for number in graphlet.numbers],
            [as_integers(values) for values, _ in columns],
            [[int(there) for there in valid] for _, valid in columns],
            lanes,
        )

    def load(self, sequence_state: StoredSequence) -> None:
        """Loads all past events as one graphlet that isn't shared. Raises STATE_FORMAT if the state is invalid."""
        widths = [1 + len(parts) for parts in self.parts]
        states = [program.automaton.states for program in self.engine.programs]
        check_sequence(sequence_state, states, widths, len(self.engine.compared))
        events, sequences = self.events, len(self.events.starts) - 1
        self.given, self.past, self.next_window = (
            sequence_state.rows_given,
            sequence_state.past,
            list(sequence_state.next_window),
        )
        self.was_shared = None if sequence_state.was_shared < 0 else bool(sequence_state.was_shared)
        numbers = np.array(sequence_state.numbers, np.int64)
        first = sequence_state.past - len(numbers)
        columns: dict[int, tuple[NDArray[Any], NDArray[np.bool_]]] = {
            value: (np.array(some, np.int64).view(events.values[value].dtype), np.array(there, bool))
            for value, some, there in zip(
                self.engine.compared, sequence_state.values, sequence_state.valid, strict=True
            )
        }
        rows = -1 - (self.sequence + sequences * (sequence_state.rows_given - 1 - numbers))
        graphlet = _Graphlet(first, rows, numbers, columns)
        for number, lane in enumerate(sequence_state.lanes):
            self.lanes[number] = _Lane(lane.query, lane.window, lane.sums, lane.first)
            plain = np.zeros((len(lane.past), len(numbers)), object)
            plain[:, lane.first - first :] = lane.past
            graphlet.plain[number] = plain
        self.opened = len(sequence_state.lanes)
        self.graphlets = [graphlet]

    # --- windows ---

    def _windows_change(self, time: int) -> bool:
        for query, program in enumerate(self.engine.programs):
            if program.extent.kind is BoundKind.NONE:
                if self.next_window[query] < 0:
                    return True
            elif self.next_window[query] * program.extent.slide <= time:
                return True
        return any(self._end(lane) <= time for lane in self.lanes.values())

    def _end(self, lane: _Lane) -> float:
        extent = self.engine.programs[lane.query].extent
        return math.inf if extent.kind is BoundKind.NONE else lane.window * extent.slide + extent.length

    def _move_windows(self, time: int, rows_by_query: list[list[tuple[int, int, list[int]]]]) -> None:
        for number in [number for number, lane in self.lanes.items() if self._end(lane) <= time]:
            self._close(number, rows_by_query)
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
        self._forget_graphlets()

    def _forget_graphlets(self) -> None:
        """Drops events that no open window contains."""
        oldest = min((lane.first for lane in self.lanes.values()), default=self.past)
        self.graphlets = [graphlet for graphlet in self.graphlets if graphlet.first + len(graphlet.rows) > oldest]

    def _open(self, query: int, window: int) -> None:
        program = self.engine.programs[query]
        sums = [[0] * (1 + len(self.parts[query])) for _ in range(program.automaton.states)]
        sums[START][0] = 1
        self.lanes[self.opened] = _Lane(query, window, sums, self.past)
        self.opened += 1

    def _close(self, number: int, rows_by_query: list[list[tuple[int, int, list[int]]]]) -> None:
        lane = self.lanes.pop(number)
        program = self.engine.programs[lane.query]
        parts = [lane.sums[state] for state in sorted(program.automaton.accepting)]
        total = [sum(column) for column in zip(*parts, strict=True)]
        if total[0]:
            none = program.extent.kind is BoundKind.NONE
            start = int(NO_WINDOW) if none else lane.window * program.extent.slide
            rows_by_query[lane.query].append((self.sequence, start, total))

    # --- events of other labels ---

    def _gain(self, lane: _Lane, rows: range) -> dict[int, list[int]]:
        program, loop = self.engine.programs[lane.query], self.engine.loops[lane.query]
        gain: dict[int, list[int]] = {}
        for row in rows:
            for step in program.automaton.transitions:
                if step.label != loop.label and self.events.conditions[program.qualifies[step.label]][row]:
                    parts = lane.sums[step.source]
                    if parts[0]:
                        self.statistics["lane updates"] += 1
                        own = [
                            held + (self._value(part, row) * parts[0] if step.label in part.labels else 0)
                            for held, part in zip(parts[1:], self.parts[lane.query], strict=True)
                        ]
                        before = gain.get(step.target, [0] * len(parts))
                        gain[step.target] = [a + b for a, b in zip(before, [parts[0], *own], strict=True)]
        return gain

    def _value(self, part: SlotPart, row: int) -> Any:
        """Doubles become fractions, so that sums stay exact and are rounded once."""
        if part.what == "one":
            return 1
        valid = self.events.valid[part.value]
        if valid is not None and not valid[row]:
            return 0
        value = self.events.values[part.value][row]
        match part.what:
            case "valid":
                return 1
            case "nan":
                return int(math.isnan(value))
            case "above":
                return int(value == math.inf)
            case "below":
                return int(value == -math.inf)
            case _ if isinstance(value, np.floating):
                return Fraction(float(value)) if math.isfinite(value) else 0
            case _:
                return int(value)

    # --- bursts ---

    def _burst(self, rows: list[int]) -> None:
        """Decides which queries share the burst, propagates its counts, and adds it to the past."""
        engine, burst = self.engine, np.array(rows, np.int64)
        past = np.concatenate([np.zeros(0, np.int64), *(graphlet.rows for graphlet in self.graphlets)])
        start = self.past - len(past)
        columns = {value: self._column(value, burst) for value in engine.compared}
        numbers = self.given + burst - self.events.starts[self.sequence]
        graphlet = _Graphlet(self.past, burst, numbers, columns)
        tests = {number: self._test(edges, past, graphlet) for number, edges in enumerate(engine.tests)}
        lanes: dict[int, list[int]] = {}
        for number, lane in self.lanes.items():
            lanes.setdefault(lane.query, []).append(number)
        shared = self._chosen(lanes, tests)
        self._count(lanes, shared, len(burst))
        values = [np.zeros(len(rows), object)]
        for what, value in self.summed:
            part = SlotPart(frozenset(), what, value)
            values.append(np.array([self._value(part, row) for row in rows], object))
        if shared:
            self._share(graphlet, [number for query in sorted(shared) for number in lanes[query]], tests, values, start)
        for query in sorted(set(lanes) - shared):
            for number in lanes[query]:
                self._alone(graphlet, number, tests[engine.test_of[query]], values, start)
        self.graphlets.append(graphlet)
        self.past += len(burst)

    def _chosen(self, lanes: dict[int, list[int]], tests: dict[int, Adjacency]) -> frozenset[int]:
        if self.engine.sharing == "never" or len(lanes) < 2:
            return frozenset()
        if self.engine.sharing == "always":
            return frozenset(lanes)
        candidates = [
            Candidate(query, self.engine.test_of[query], len(some), max(self._limbs(number) for number in some))
            for query, some in lanes.items()
        ]
        used = {candidate.test for candidate in candidates}
        return self.engine.decide(
            candidates, {number: test for number, test in tests.items() if number in used}
        ).plan.shared

    def _limbs(self, number: int) -> int:
        lane = self.lanes[number]
        return 1 + max(parts[0].bit_length() for parts in lane.sums) // 30

    def _count(self, lanes: dict[int, list[int]], shared: frozenset[int], events: int) -> None:
        sharing = bool(shared)
        some = sum(len(lanes[query]) for query in shared)
        statistics = self.statistics
        statistics["bursts"] += 1
        statistics["shared"] += sharing
        statistics["split"] += self.was_shared is True and not sharing
        statistics["merged"] += self.was_shared is False and sharing
        statistics["lane updates saved"] += some * events
        statistics["lane updates"] += (sum(map(len, lanes.values())) - some) * events
        self.was_shared = sharing

    def _test(self, edges: Sequence[EdgeTest], past: NDArray[np.int64], burst: _Graphlet) -> Adjacency:
        times = self.events.time[burst.rows]
        earlier = np.searchsorted(times, times)
        inside = np.arange(len(times))[:, None] < earlier
        outside = np.ones((len(past), len(times)), bool)
        for edge in edges:
            inside &= self._passes(edge, burst.rows, [burst], burst.rows)
            outside &= self._passes(edge, past, self.graphlets, burst.rows)
        return Adjacency(inside, outside, earlier)

    def _passes(
        self, edge: EdgeTest, before: NDArray[np.int64], graphlets: Sequence[_Graphlet], after: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        shape = (len(before), len(after))
        if not len(before):
            return np.ones(shape, bool)
        if edge.pair_test is not None:
            test, some = self.events.pair_tests[edge.pair_test], max(_PAIRS // len(after), 1)
            return np.concatenate(
                [
                    test(np.repeat(few, len(after)), np.tile(after, len(few))).reshape(len(few), len(after))
                    for few in (before[first : first + some] for first in range(0, len(before), some))
                ]
            )
        assert edge.op is not None
        left, left_valid = (
            np.concatenate(parts)[:, None]
            for parts in zip(*(graphlet.columns[edge.before_value] for graphlet in graphlets), strict=True)
        )
        right, right_valid = self._column(edge.after_value, after)
        passes: NDArray[np.bool_] = _compared(edge.op, right[None, :], left) & left_valid & right_valid[None, :]
        return passes

    def _column(self, value: int, rows: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        valid = self.events.valid[value]
        return self.events.values[value][rows], np.ones(len(rows), bool) if valid is None else valid[rows]

    def _arriving(self, number: int) -> list[int]:
        """The sum over the lane's other sources of the Kleene label: the value of the graphlet's snapshot."""
        lane = self.lanes[number]
        loop = self.engine.loops[lane.query]
        parts = [lane.sums[step.source] for step in loop.others]
        return [sum(column) for column in zip(*parts, strict=True)] if parts else [0] * len(lane.sums[0])

    def _missing(self, number: int, outside: NDArray[np.bool_], start: int) -> list[int]:
        """The sum over the past events that may not precede an event, for one lane."""
        lane = self.lanes[number]
        gone = [0] * len(lane.sums[0])
        for graphlet in self.graphlets:
            first = max(lane.first, graphlet.first)
            stop = graphlet.first + len(graphlet.rows)
            if first < stop:
                places = np.flatnonzero(~outside[first - start : stop - start]) + (first - graphlet.first)
                if len(places):
                    gone = [a + b for a, b in zip(gone, graphlet.counts(number)[:, places].sum(axis=1), strict=True)]
        return gone

    def _share(
        self, graphlet: _Graphlet, numbers: list[int], tests: dict[int, Adjacency], values: list[Matrix], start: int
    ) -> None:
        engine = self.engine
        test_numbers = sorted({engine.test_of[self.lanes[number].query] for number in numbers})
        shared = shared_graphlet([tests[test] for test in test_numbers], values)
        self.statistics["snapshots"] += 1 + len(shared.own)
        coefficients = shared.coefficients
        before = {  # the coefficients of all events that may precede a snapshot's event, by test
            (test, index): [part[tests[test].inside[:, event]].sum(axis=0) for part in _parts(coefficients)]
            for test in test_numbers
            for index, event in enumerate(shared.own)
        }
        every = [part.sum(axis=0) for part in _parts(coefficients)]
        for number in numbers:
            lane = self.lanes[number]
            loop, test = engine.loops[lane.query], engine.test_of[lane.query]
            held = lane.sums[loop.state]
            graphlet.uses[number] = uses = self.uses[lane.query]
            snapshots = np.zeros((len(held), 1 + len(shared.own)), object)
            snapshots[:, 0] = [a + b for a, b in zip(self._arriving(number), held, strict=True)]
            for index, event in enumerate(shared.own):
                gone = self._missing(number, tests[test].outside[:, event], start)
                counts, *slots = before[test, index]
                snapshots[0, 1 + index] = snapshots[0, 0] - gone[0] + counts.dot(snapshots[0])
                for part, use in enumerate(uses, 1):
                    snapshots[part, 1 + index] = (
                        snapshots[part, 0] - gone[part] + counts.dot(snapshots[part]) + slots[use].dot(snapshots[0])
                        + values[use][event] * snapshots[0, 1 + index]
                    )  # fmt: skip
            graphlet.snapshots[number] = snapshots
            lane.sums[loop.state] = [
                held[0] + every[0].dot(snapshots[0]),
                *(
                    held[part] + every[0].dot(snapshots[part]) + every[1 + use].dot(snapshots[0])
                    for part, use in enumerate(uses, 1)
                ),
            ]
        graphlet.shared = shared

    def _alone(self, graphlet: _Graphlet, number: int, test: Adjacency, values: list[Matrix], start: int) -> None:
        lane = self.lanes[number]
        loop = self.engine.loops[lane.query]
        held = lane.sums[loop.state]
        arriving = [a + b for a, b in zip(self._arriving(number), held, strict=True)]
        matrix = np.zeros((len(held), len(graphlet.rows), 1), object)
        matrix[:, :, 0] = np.array(arriving, object)[:, None]
        for event in np.flatnonzero(test.fails()):
            gone = self._missing(number, test.outside[:, event], start)
            matrix[:, event, 0] -= np.array(gone, object)
        own = [values[use] for use in self.uses[lane.query]]
        done = propagated(matrix[0], test, test.inside, own, list(matrix[1:]))
        plain = np.array([part[:, 0] for part in _parts(done)], object)
        graphlet.plain[number] = plain
        lane.sums[loop.state] = [a + b for a, b in zip(held, plain.sum(axis=1), strict=True)]


def _parts(done: Propagated) -> tuple[Matrix, ...]:
    return (done.counts, *done.slots)


def _compared(op: str, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Compares values; NaN is the largest and equals itself."""
    less: NDArray[np.bool_] = left < right
    equal: NDArray[np.bool_] = left == right
    if left.dtype == np.float64:
        less = ~np.isnan(left) & (np.isnan(right) | less)
        equal = equal | (np.isnan(left) & np.isnan(right))
    match op:
        case "<":
            return less
        case "<=":
            return less | equal
        case ">":
            return ~(less | equal)
        case ">=":
            return ~less
        case "=":
            return equal
        case _:
            return ~equal
