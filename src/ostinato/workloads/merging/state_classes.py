"""Drafts -> classes of states that become one node: states that are reached in the same way.

Forward merging by partition refinement. Two states are in one class if their last events have the same variable,
condition and extent, both patterns or neither have a bound, and their ways in come from the same classes under the same
conditions. So the partial matches of one are exactly those of the other, whatever follows. Two states of one pattern
are never in one class, since the pattern is deterministic.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ostinato.workloads.merging.drafts import NO_PATTERN, Draft
from ostinato.workloads.merging.pattern_program import START

ROOT_CLASS = 0
"""The class of all START states."""
_NOTHING = -1


@dataclass(frozen=True, slots=True)
class StateClasses:
    """Classes are numbered in the order of the drafts."""

    count: int
    numbers: dict[tuple[int, int], int]

    def of(self, draft: int, state: int) -> int:
        return ROOT_CLASS if state == START else self.numbers[draft, state]


def classes_of(drafts: Sequence[Draft], *, separate: bool = False) -> StateClasses:
    """The coarsest classes; with `separate` the states of two drafts are never in one."""
    graph = _StateGraph(drafts, separate)
    classes, count = _numbered(graph.keys)
    while True:
        refined, now = _numbered([(classes[state], graph.ways_in(state, classes)) for state in range(len(classes))])
        if now == count:
            return StateClasses(count, {key: classes[state] for key, state in graph.states.items()})
        classes, count = refined, now


class _StateGraph:
    """All states of all drafts in one numbering. START is 0 for all."""

    def __init__(self, drafts: Sequence[Draft], separate: bool) -> None:
        self.states: dict[tuple[int, int], int] = {}
        self.keys: list[Hashable] = [None]
        for draft_number, draft in enumerate(drafts):
            for way in draft.ways:
                if (draft_number, way.target) not in self.states:
                    self.states[draft_number, way.target] = len(self.keys)
                    self.keys.append((way.label, draft.shares_with, draft_number if separate else _NOTHING))
        self.incoming: list[list[tuple[int, int, int]]] = [[] for _ in self.keys]
        segment_ends = [
            self.states[draft_number, next(iter(draft.accepting))]
            for draft_number, draft in enumerate(drafts)
            if draft.pattern == NO_PATTERN
        ]
        questions: dict[Hashable, int] = {}
        for draft_number, draft in enumerate(drafts):
            for way in draft.ways:
                source = 0 if way.source == START else self.states[draft_number, way.source]
                segment = _NOTHING if way.segment is None else segment_ends[way.segment]
                conditions = (way.condition, way.absent, way.adjacent, frozenset(way.checks), way.edges)
                question = questions.setdefault(conditions, len(questions))
                self.incoming[self.states[draft_number, way.target]].append((source, question, segment))

    def ways_in(self, state: int, classes: Sequence[int]) -> Hashable:
        """The ways into a state, by class. Sets are slow, so there is one only where the ways differ."""
        ways = [
            (classes[source], question, _NOTHING if segment == _NOTHING else classes[segment])
            for source, question, segment in self.incoming[state]
        ]
        are_alike = ways and all(way == ways[0] for way in ways)
        return ways[0] if are_alike else frozenset(ways)


def _numbered(keys: Sequence[Hashable]) -> tuple[list[int], int]:
    number: dict[Hashable, int] = {}
    return [number.setdefault(key, len(number)) for key in keys], len(number)
