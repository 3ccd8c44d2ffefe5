"""Drafts -> which of their states are one node: those that are reached by the same ways.

Forward merging by partition refinement. Two states are in one class while their last events have the same variable,
condition and extent, both patterns or neither have a bound, and their ways in come from the same classes under the same
conditions. So the partial matches of one are exactly those of the other, whatever follows. States of one pattern are
never one: it is deterministic.
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
    """Classes are numbered as the drafts bring them."""

    count: int
    numbers: dict[tuple[int, int], int]

    def of(self, draft: int, state: int) -> int:
        return ROOT_CLASS if state == START else self.numbers[draft, state]


def classes_of(drafts: Sequence[Draft], *, separate: bool = False) -> StateClasses:
    """The coarsest classes; with `separate` the states of two drafts are never in one."""
    graph = _Graph(drafts, separate)
    classes, count = _numbered(graph.keys)
    while True:
        refined, now = _numbered([(classes[state], graph.ways_in(state, classes)) for state in range(len(classes))])
        if now == count:
            return StateClasses(count, {place: classes[state] for place, state in graph.states.items()})
        classes, count = refined, now


class _Graph:
    """All states of all drafts in one numbering, START once as 0."""

    def __init__(self, drafts: Sequence[Draft], separate: bool) -> None:
        self.states: dict[tuple[int, int], int] = {}
        self.keys: list[Hashable] = [None]
        for place, draft in enumerate(drafts):
            for way in draft.ways:
                if (place, way.target) not in self.states:
                    self.states[place, way.target] = len(self.keys)
                    self.keys.append((way.label, draft.shares_with, place if separate else _NOTHING))
        self.incoming: list[list[tuple[int, int, int]]] = [[] for _ in self.keys]
        segment_ends = [
            self.states[place, next(iter(draft.accepting))]
            for place, draft in enumerate(drafts)
            if draft.pattern == NO_PATTERN
        ]
        asked: dict[Hashable, int] = {}
        for place, draft in enumerate(drafts):
            for way in draft.ways:
                source = 0 if way.source == START else self.states[place, way.source]
                segment = _NOTHING if way.segment is None else segment_ends[way.segment]
                what = (way.condition, way.absent, way.adjacent, frozenset(way.checks), way.edges)
                question = asked.setdefault(what, len(asked))
                self.incoming[self.states[place, way.target]].append((source, question, segment))

    def ways_in(self, state: int, classes: Sequence[int]) -> Hashable:
        """Where a state's ways come from, by class; as a set, which is slow, only where there are several."""
        found = [
            (classes[source], question, _NOTHING if segment == _NOTHING else classes[segment])
            for source, question, segment in self.incoming[state]
        ]
        alike = found and all(way == found[0] for way in found)
        return found[0] if alike else frozenset(found)


def _numbered(keys: Sequence[Hashable]) -> tuple[list[int], int]:
    number: dict[Hashable, int] = {}
    return [number.setdefault(key, len(number)) for key in keys], len(number)
