"""The bursts of one sequence in the graphlet engine: the queries that share each burst, and the counts of its events.

A lane is a query in one open window. Numbers are Python's integers and fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import EdgeTest, Events
from ostinato.event_queries.trends.edge_tests import compare_values
from ostinato.event_queries.trends.graphlets.graphlet import (
    LIMB_BITS,
    Adjacency,
    Candidate,
    Matrix,
    Propagated,
    SharedGraphlet,
    propagated,
    shared_graphlet,
)
from ostinato.event_queries.trends.graphlets.summed_values import SummedValue, ValueKind, value_of_event

if TYPE_CHECKING:
    from ostinato.event_queries.trends.graphlets.graphlet_engine import GraphletEngine

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_PAIRS = 1 << 20
"""The most pairs in one call of a test of pairs."""


@dataclass(slots=True)
class Lane:
    """A query in one window. `sums[state]` has the count and the sums of all trends that ended there so far."""

    query: int
    window: int
    sums: list[list[Any]]
    first: int
    """The number, within the sequence, of the first past event of the Kleene label in the window."""


@dataclass(slots=True)
class Graphlet:
    """Past events of the Kleene label with their counts. Shared counts are coefficients and values of snapshots."""

    first: int
    rows: Ints
    """Rows of this call. Events of earlier calls have their names in tests of pairs."""
    numbers: Ints
    """The same events as numbers among all rows of the sequence."""
    columns: dict[int, tuple[NDArray[Any], Bools]]
    """For each value that conditions compare: the values of the events, and whether they have one."""
    shared: SharedGraphlet | None = None
    snapshots: dict[int, Matrix] = field(default_factory=dict)
    """For each sharing lane: [count or sum, snapshot]."""
    plain: dict[int, Matrix] = field(default_factory=dict)
    """For each lane: [count or sum, event]. Counts of a shared graphlet are computed when they are needed."""
    uses: dict[int, list[int]] = field(default_factory=dict)
    """For each sharing lane and each of its sums, the index of the graphlet's sum."""

    @property
    def end(self) -> int:
        return self.first + len(self.rows)

    def counts(self, lane: int) -> Matrix:
        if lane not in self.plain:
            assert self.shared is not None
            self.plain[lane] = _plugged_in(self.shared.coefficients, self.snapshots[lane], self.uses[lane])
        return self.plain[lane]


def _plugged_in(coefficients: Propagated, snapshots: Matrix, uses: list[int]) -> Matrix:
    """The counts and sums of a burst's events for one lane, from the values of its snapshots."""
    sums = [
        coefficients.counts.dot(values) + coefficients.slots[use].dot(snapshots[0])
        for values, use in zip(snapshots[1:], uses, strict=True)
    ]
    return np.array([coefficients.counts.dot(snapshots[0]), *sums], object)


def added(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The sums of two lists, number by number."""
    return [a + b for a, b in zip(left, right, strict=True)]


class Bursts:
    def __init__(
        self,
        engine: GraphletEngine,
        events: Events,
        statistics: dict[str, int],
        sums: Sequence[Sequence[SummedValue]],
        lanes: dict[int, Lane],
    ) -> None:
        """`sums` has the sums of each program, `lanes` the open lanes by their number."""
        self.engine, self.events, self.statistics, self.lanes = engine, events, statistics, lanes
        self.kleene_sums: dict[tuple[ValueKind, int], int] = {}
        """All sums over the Kleene label that some query needs; number 0 is the empty sum."""
        self.uses = [
            [
                self.kleene_sums.setdefault((summed.kind, summed.value), 1 + len(self.kleene_sums))
                if loop.label in summed.labels
                else 0
                for summed in sums_of_query
            ]
            for sums_of_query, loop in zip(sums, engine.loops, strict=True)
        ]
        self.graphlets: list[Graphlet] = []
        self.past = 0
        """The number of past events of the Kleene label."""
        self.was_shared: bool | None = None

    def forget(self) -> None:
        """Drops events that no open window contains."""
        oldest = min((lane.first for lane in self.lanes.values()), default=self.past)
        self.graphlets = [graphlet for graphlet in self.graphlets if graphlet.end > oldest]

    def take(self, rows: list[int], first_number: int) -> None:
        """Decides which queries share the burst, propagates its counts, and adds it to the past.

        Row r of this call is number `first_number + r` among all rows of the sequence.
        """
        engine, burst = self.engine, np.array(rows, np.int64)
        columns = {value: self._column(value, burst) for value in engine.compared}
        graphlet = Graphlet(self.past, burst, first_number + burst, columns)
        past_rows = np.concatenate([np.zeros(0, np.int64), *(past.rows for past in self.graphlets)])
        tests = {number: self._adjacency(edges, past_rows, graphlet) for number, edges in enumerate(engine.tests)}
        lanes_of: dict[int, list[int]] = {}
        for number, lane in self.lanes.items():
            lanes_of.setdefault(lane.query, []).append(number)
        shared = self._sharing_queries(lanes_of, tests)
        self._count(lanes_of, shared, len(burst))
        values = [np.zeros(len(rows), object)]
        for kind, value in self.kleene_sums:
            values.append(np.array([value_of_event(self.events, kind, value, row) for row in rows], object))
        if shared:
            self._share(graphlet, [number for query in sorted(shared) for number in lanes_of[query]], tests, values)
        for query in sorted(set(lanes_of) - shared):
            for number in lanes_of[query]:
                self._run_alone(graphlet, number, tests[engine.test_of[query]], values)
        self.graphlets.append(graphlet)
        self.past += len(burst)

    def _sharing_queries(self, lanes_of: dict[int, list[int]], tests: dict[int, Adjacency]) -> frozenset[int]:
        if self.engine.sharing == "never" or len(lanes_of) < 2:
            return frozenset()
        if self.engine.sharing == "always":
            return frozenset(lanes_of)
        candidates = [
            Candidate(query, self.engine.test_of[query], len(numbers), max(map(self._limbs, numbers)))
            for query, numbers in lanes_of.items()
        ]
        used = {candidate.test for candidate in candidates}
        return self.engine.decide(candidates, {number: test for number, test in tests.items() if number in used})

    def _limbs(self, number: int) -> int:
        longest: int = max(sums[0].bit_length() for sums in self.lanes[number].sums)
        return 1 + longest // LIMB_BITS

    def _count(self, lanes_of: dict[int, list[int]], shared: frozenset[int], events: int) -> None:
        is_shared = bool(shared)
        sharing_lanes = sum(len(lanes_of[query]) for query in shared)
        statistics = self.statistics
        statistics["bursts"] += 1
        statistics["shared"] += is_shared
        statistics["split"] += self.was_shared is True and not is_shared
        statistics["merged"] += self.was_shared is False and is_shared
        statistics["lane updates saved"] += sharing_lanes * events
        statistics["lane updates"] += (len(self.lanes) - sharing_lanes) * events
        self.was_shared = is_shared

    # --- tests between adjacent events ---

    def _adjacency(self, edges: Sequence[EdgeTest], past_rows: Ints, burst: Graphlet) -> Adjacency:
        times = self.events.time[burst.rows]
        earlier = np.searchsorted(times, times)
        inside = np.arange(len(times))[:, None] < earlier
        outside = np.ones((len(past_rows), len(times)), bool)
        for edge in edges:
            inside &= self._passes(edge, burst.rows, [burst], burst.rows)
            outside &= self._passes(edge, past_rows, self.graphlets, burst.rows)
        return Adjacency(inside, outside, earlier)

    def _passes(self, edge: EdgeTest, before: Ints, graphlets: Sequence[Graphlet], after: Ints) -> Bools:
        """[earlier event, later event]: whether the pair passes. The earlier events are those of the graphlets."""
        if not len(before):
            return np.ones((0, len(after)), bool)
        if edge.pair_test is not None:
            test, step = self.events.pair_tests[edge.pair_test], max(_PAIRS // len(after), 1)
            return np.concatenate(
                [
                    test(np.repeat(chunk, len(after)), np.tile(after, len(chunk))).reshape(len(chunk), len(after))
                    for chunk in (before[first : first + step] for first in range(0, len(before), step))
                ]
            )
        assert edge.op is not None
        columns = zip(*(graphlet.columns[edge.before_value] for graphlet in graphlets), strict=True)
        left, left_valid = (np.concatenate(arrays)[:, None] for arrays in columns)
        right, right_valid = self._column(edge.after_value, after)
        passes: Bools = compare_values(edge.op, right[None, :], left) & left_valid & right_valid[None, :]
        return passes

    def _column(self, value: int, rows: Ints) -> tuple[NDArray[Any], Bools]:
        valid = self.events.valid[value]
        return self.events.values[value][rows], np.ones(len(rows), bool) if valid is None else valid[rows]

    # --- counts ---

    def _snapshot(self, lane: Lane) -> list[Any]:
        """The sum over all sources of the Kleene label: the value of the graphlet's snapshot for one lane."""
        loop = self.engine.loops[lane.query]
        sources = [lane.sums[loop.state], *(lane.sums[step.source] for step in loop.others)]
        return [sum(column) for column in zip(*sources, strict=True)]

    def _excluded(self, number: int, outside: Bools) -> list[Any]:
        """The sum over the past events that may not precede an event, for one lane."""
        lane = self.lanes[number]
        start = self.past - len(outside)
        total = [0] * len(lane.sums[0])
        for graphlet in self.graphlets:
            first = max(lane.first, graphlet.first)
            if first < graphlet.end:
                indexes = np.flatnonzero(~outside[first - start : graphlet.end - start]) + (first - graphlet.first)
                if len(indexes):
                    total = added(total, graphlet.counts(number)[:, indexes].sum(axis=1))
        return total

    def _share(self, graphlet: Graphlet, numbers: list[int], tests: dict[int, Adjacency], values: list[Matrix]) -> None:
        """Counts a burst for all sharing lanes: coefficients once, then the snapshots of each lane."""
        engine = self.engine
        test_numbers = sorted({engine.test_of[self.lanes[number].query] for number in numbers})
        shared = shared_graphlet([tests[test] for test in test_numbers], values)
        self.statistics["snapshots"] += 1 + len(shared.own)
        matrices = shared.coefficients.matrices
        before = {  # for each test and each event that is a snapshot: the coefficients of all its predecessors
            (test, index): [matrix[tests[test].inside[:, event]].sum(axis=0) for matrix in matrices]
            for test in test_numbers
            for index, event in enumerate(shared.own)
        }
        totals = [matrix.sum(axis=0) for matrix in matrices]
        for number in numbers:
            lane = self.lanes[number]
            state, test, uses = engine.loops[lane.query].state, engine.test_of[lane.query], self.uses[lane.query]
            snapshots = np.zeros((1 + len(uses), 1 + len(shared.own)), object)
            snapshots[:, 0] = self._snapshot(lane)
            for index, event in enumerate(shared.own):
                excluded = self._excluded(number, tests[test].outside[:, event])
                counts, *slots = before[test, index]
                snapshots[0, 1 + index] = snapshots[0, 0] - excluded[0] + counts.dot(snapshots[0])
                for row, use in enumerate(uses, 1):
                    snapshots[row, 1 + index] = (
                        snapshots[row, 0] - excluded[row] + counts.dot(snapshots[row]) + slots[use].dot(snapshots[0])
                        + values[use][event] * snapshots[0, 1 + index]
                    )  # fmt: skip
            graphlet.uses[number], graphlet.snapshots[number] = uses, snapshots
            gains = [totals[0].dot(snapshots[0])]
            gains += [
                totals[0].dot(snapshots[row]) + totals[1 + use].dot(snapshots[0]) for row, use in enumerate(uses, 1)
            ]
            lane.sums[state] = added(lane.sums[state], gains)
        graphlet.shared = shared

    def _run_alone(self, graphlet: Graphlet, number: int, test: Adjacency, values: list[Matrix]) -> None:
        """Counts a burst for one lane that doesn't share it."""
        lane = self.lanes[number]
        state = self.engine.loops[lane.query].state
        matrix = np.zeros((len(lane.sums[state]), len(graphlet.rows), 1), object)
        matrix[:, :, 0] = np.array(self._snapshot(lane), object)[:, None]
        for event in np.flatnonzero(test.fails()):
            matrix[:, event, 0] -= np.array(self._excluded(number, test.outside[:, event]), object)
        own_values = [values[use] for use in self.uses[lane.query]]
        counts = propagated(matrix[0], test, test.inside, own_values, list(matrix[1:]))
        plain = np.array([column[:, 0] for column in counts.matrices], object)
        graphlet.plain[number] = plain
        lane.sums[state] = added(lane.sums[state], plain.sum(axis=1))
