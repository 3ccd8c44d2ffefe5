"""Evaluates a program over the events of one window by visiting predecessors, with Python's numbers.

Slow, but it covers every rule of event queries. Programs run here if no faster method of this folder applies. An event
visits every earlier event that it may follow, so the cost grows with the square of the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import START, Transition
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import NO_VALUE, EdgeTest, PairTest, Program, Slot, SlotKind
from ostinato.event_queries.trends.edge_tests import compare_values
from ostinato.event_queries.trends.separate.buffered_events import Bools, BufferedEvents, Ints, Reads
from ostinato.event_queries.trends.separate.totals import Totals, better
from ostinato.kernels.numbers.python_numbers import SOME, as_multiple
from ostinato.kernels.stopping import check_stopped

NOWHERE = -1


@dataclass(slots=True)
class Node:
    """All runs that end with an event in a state."""

    event: int
    label: int
    state: int
    totals: Totals


@dataclass(frozen=True, slots=True)
class Absence:
    """The matches of a pattern under NOT: for each time group, the latest start (an event) of such a match.

    `before` covers matches that end before the group, `until` also those that end in it.
    """

    before: list[int]
    until: list[int]


class Visit:
    """The events of one window or sequence, with derived arrays."""

    def __init__(
        self, program: Program, reads: Reads, buffered: BufferedEvents, pair_tests: Sequence[PairTest]
    ) -> None:
        self.program = program
        self.reads = reads
        self.buffered = buffered
        self.pair_tests = pair_tests
        self.position: Ints = buffered.place if program.extent.by_place else buffered.time
        changes = np.flatnonzero(np.diff(buffered.time)) + 1
        self.bounds = [0, *changes.tolist(), len(buffered.time)] if len(buffered.time) else [0]
        self.group = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        self.kinds = [slot.kind for slot in program.slots]
        self.by_label: dict[int, list[Transition]] = {}
        for transition in program.automaton.transitions:
            self.by_label.setdefault(transition.label, []).append(transition)
        self.labels = [self.qualifying(c).tolist() for c in program.qualifies]
        self.tests = _by_pair(program.edges)
        self.absences = [self._absence(i) for i in range(len(program.automaton.absences))]

    def qualifying(self, condition: int) -> Bools:
        return self.buffered.conditions[self.reads.conditions.index(condition)]

    def column(self, value: int) -> tuple[NDArray[np.generic], Bools]:
        index = self.reads.values.index(value)
        return self.buffered.values[index], self.buffered.valid[index]

    # --- runs ---------------------------------------------------------------------------------------------------------

    def totals(self) -> Totals:
        """The totals of all trends among the events. Programs with a span use `totals_from`."""
        starts = [
            (event, transition)
            for transition in self.program.automaton.transitions
            if transition.source == START
            for event in np.flatnonzero(self.labels[transition.label]).tolist()
            if all(self.absences[a].before[self.group[event]] == NOWHERE for a in transition.absences)
        ]
        return self._run(starts, span=None)

    def totals_from(self, event: int) -> Totals:
        """The totals of the trends that start with the event, within the span of the program."""
        result = Totals.nothing(len(self.kinds))
        for transition in self.program.automaton.transitions:
            if transition.source == START and self.labels[transition.label][event]:
                result.add(self._run([(event, transition)], span=self.program.extent.length), self.kinds)
        return result

    def _run(self, starts: Sequence[tuple[int, Transition]], span: int | None) -> Totals:
        result = Totals.nothing(len(self.kinds))
        if not starts:
            return result
        begun: dict[int, list[tuple[int, Transition]]] = {}
        for event, transition in starts:
            begun.setdefault(int(self.group[event]), []).append((event, transition))
        end = len(self.position)
        if span is not None:
            end = int(np.searchsorted(self.position, int(self.position[starts[0][0]]) + span, "right"))
        open_nodes: list[Node] = []
        selection = self.program.selection
        for group in range(min(begun), len(self.bounds) - 1):
            check_stopped()
            events = range(self.bounds[group], min(self.bounds[group + 1], end))
            if not events:
                break
            single = self.bounds[group + 1] - self.bounds[group] == 1
            new, extended = self._extensions(open_nodes if selection is not Selection.STRICT or single else (), events)
            for event, transition in begun.get(group, ()):
                self._extend_into(new, event, transition.label, transition.target, None)
            nodes = [self._with_own_values(node) for node in new.values()]
            for node in nodes:
                if node.state in self.program.automaton.accepting and self._ends_well(node, starts, span):
                    result.add(node.totals, self.kinds)
            if selection is Selection.STRICT:
                open_nodes = nodes if single else []
            elif selection is Selection.NEXT:
                open_nodes = [node for i, node in enumerate(open_nodes) if i not in extended] + nodes
            else:
                open_nodes += nodes
        return result

    def _extensions(
        self, open_nodes: Sequence[Node], events: range
    ) -> tuple[dict[tuple[int, int, int], Node], set[int]]:
        """The runs that the events of one time create by extending open runs, and the runs that they extend."""
        new: dict[tuple[int, int, int], Node] = {}
        extended: set[int] = set()
        for event in events:
            for label, transitions in self.by_label.items():
                if not self.labels[label][event]:
                    continue
                transition_from = {
                    transition.source: transition for transition in transitions if transition.source != START
                }
                candidates = [i for i, node in enumerate(open_nodes) if node.state in transition_from]
                for i in self._passing(open_nodes, candidates, event, label):
                    node = open_nodes[i]
                    transition = transition_from[node.state]
                    if self._lies_between(transition.absences, node.event, event):
                        continue
                    extended.add(i)
                    self._extend_into(new, event, label, transition.target, node.totals)
        return new, extended

    def _extend_into(
        self, new: dict[tuple[int, int, int], Node], event: int, label: int, target: int, source: Totals | None
    ) -> None:
        """Adds the runs of a source, or a run that starts here, to the runs that end with the event in the target."""
        node = new.setdefault((event, label, target), Node(event, label, target, Totals.nothing(len(self.kinds))))
        if source is None:
            node.totals.numbers[0] += 1
        else:
            node.totals.add(source, self.kinds)

    def _with_own_values(self, node: Node) -> Node:
        totals = node.totals
        for i, slot in enumerate(self.program.slots):
            if node.label not in slot.labels:
                continue
            value, flag = self._value(slot, node.event)
            if not flag:
                continue
            if slot.kind in (SlotKind.MIN, SlotKind.MAX):
                totals.best[i] = better(slot.kind, totals.best[i], value) if totals.flags[i] else value
            else:
                totals.numbers[i + 1] += int(value) * totals.numbers[0]
            totals.flags[i] |= flag
        return node

    def _value(self, slot: Slot, event: int) -> tuple[float, int]:
        """The value that the event adds for each run, and its flags; 0 if there is none."""
        if slot.value == NO_VALUE:
            return 1, SOME
        values, valid = self.column(slot.value)
        if not valid[event]:
            return 0, 0
        if slot.kind is SlotKind.COUNT:
            return 1, SOME
        value = values[event].item()
        if slot.kind is SlotKind.SUM and isinstance(value, float):
            return as_multiple(value)
        return value, SOME

    def _passing(self, nodes: Sequence[Node], candidates: list[int], event: int, label: int) -> Iterator[int]:
        """The candidates from which an edge transition_from to the event."""
        failed: set[int] = set()
        for before in {nodes[i].label for i in candidates}:
            for test in self.tests.get((before, label), ()):
                mine = [i for i in candidates if nodes[i].label == before]
                holds = self.holds(test, np.array([nodes[i].event for i in mine], np.int64), event)
                failed.update(i for i, passed in zip(mine, holds.tolist(), strict=True) if not passed)
        return (i for i in candidates if i not in failed)

    def holds(self, test: EdgeTest, earlier: Ints, later: int) -> Bools:
        if test.pair_test is not None:
            names = self.buffered.name
            return self.pair_tests[test.pair_test](names[earlier], np.full(len(earlier), names[later]))
        assert test.op is not None
        values, valid = self.column(test.before_value)
        own, own_valid = self.column(test.after_value)
        if not own_valid[later]:
            return np.zeros(len(earlier), bool)
        return compare_values(test.op, own[later], values[earlier]) & valid[earlier]

    # --- absences -----------------------------------------------------------------------------------------------------

    def _lies_between(self, absences: Sequence[int], earlier: int, later: int) -> bool:
        for absence in absences:
            start = self.absences[absence].before[self.group[later]]
            if start != NOWHERE and self.buffered.time[start] > self.buffered.time[earlier]:
                return True
        return False

    def _ends_well(self, node: Node, starts: Sequence[tuple[int, Transition]], span: int | None) -> bool:
        """Whether no forbidden event follows; with a span, also whether none came before."""
        first, transition = starts[0]
        if span is not None:
            for absence in transition.absences:
                start = self.absences[absence].before[self.group[first]]
                if start != NOWHERE and self.position[start] >= self.position[node.event] - span:
                    return False
        for absence in self.program.automaton.absences_at_end(node.state):
            end = self._earliest_end(absence, node.event)
            if end != NOWHERE and (span is None or self.position[end] <= self.position[first] + span):
                return False
        return True

    def _earliest_end(self, absence: int, after: int) -> int:
        """The first event that ends a match of the absence with all its events after `after`."""
        latest = self.absences[absence].until
        for group in range(int(self.group[after]) + 1, len(latest)):
            if latest[group] != NOWHERE and self.group[latest[group]] > self.group[after]:
                by_place = self.program.extent.by_place
                return self._end_in(absence, group, after) if by_place else self.bounds[group]
        return NOWHERE

    def _end_in(self, absence: int, group: int, after: int) -> int:
        """The first event of one time that ends such a match. They differ where positions count events."""
        for end in range(self.bounds[group], self.bounds[group + 1]):
            absence_until = self._absence(absence, only=end)
            if absence_until.until[group] != NOWHERE and self.group[absence_until.until[group]] > self.group[after]:
                return end
        return NOWHERE

    def _absence(self, number: int, only: int = NOWHERE) -> Absence:
        """Latest starts. With `only`, that event stands alone in its time group."""
        automaton = self.program.automaton.absences[number]
        tests = _by_pair(self.program.absent_edges[number]) if self.program.absent_edges else {}
        labels = [self.qualifying(c) for c in self.program.absent_qualifies[number]]
        best = NOWHERE
        before, until = [], []
        partial_matches: list[tuple[int, int, int, int]] = []  # event, label, state, latest start
        latest: dict[int, int] = {}
        for group in range(len(self.bounds) - 1):
            check_stopped()
            before.append(best)
            starts: dict[tuple[int, int, int], int] = {}
            for event in range(self.bounds[group], self.bounds[group + 1]):
                if only not in (NOWHERE, event) and group == self.group[only]:
                    continue
                for transition in automaton.transitions:
                    if not labels[transition.label][event]:
                        continue
                    start = event if transition.source == START else latest.get(transition.source, NOWHERE)
                    for earlier, label, state, first in partial_matches:
                        if state != transition.source or first <= start:
                            continue
                        conditions = tests.get((label, transition.label), ())
                        if all(self.holds(test, np.array([earlier]), event)[0] for test in conditions):
                            start = first
                    if start != NOWHERE:
                        key = (event, transition.label, transition.target)
                        starts[key] = max(starts.get(key, NOWHERE), start)
            for (event, label, state), start in starts.items():
                if tests:
                    partial_matches.append((event, label, state, start))
                else:  # only the state matters
                    latest[state] = max(latest.get(state, NOWHERE), start)
                if state in automaton.accepting:
                    best = max(best, start)
            until.append(best)
        return Absence(before, until)


def _by_pair(tests: Sequence[EdgeTest]) -> dict[tuple[int, int], list[EdgeTest]]:
    grouped: dict[tuple[int, int], list[EdgeTest]] = {}
    for test in tests:
        grouped.setdefault((test.before, test.after), []).append(test)
    return grouped
