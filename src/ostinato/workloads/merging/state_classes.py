"""Drafts -> classes of states that become one node.

Forward merging by partition refinement. Two states are in one class if their last events have the same variable,
condition and extent, both patterns or neither have a bound, and their incoming steps come from the same classes under
the same conditions. So both states have exactly the same partial matches, whatever follows. Two states of one pattern
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
        refined, now = _numbered(
            [(classes[state], graph.incoming_key(state, classes)) for state in range(len(classes))]
        )
        if now == count:
            return StateClasses(count, {key: classes[state] for key, state in graph.states.items()})
        classes, count = refined, now


class _StateGraph:
    """All states of all drafts in one numbering. START is 0 for all."""

    def __init__(self, drafts: Sequence[Draft], separate: bool) -> None:
        self.states: dict[tuple[int, int], int] = {}
        self.keys: list[Hashable] = [None]
        for draft_number, draft in enumerate(drafts):
            for step in draft.steps:
                if (draft_number, step.target) not in self.states:
                    self.states[draft_number, step.target] = len(self.keys)
                    self.keys.append((step.label, draft.shares_with, draft_number if separate else _NOTHING))
        self.incoming: list[list[tuple[int, int, int]]] = [[] for _ in self.keys]
        """[state] (source, set of conditions, segment) of each step into it."""
        segment_ends = [
            self.states[draft_number, next(iter(draft.accepting))]
            for draft_number, draft in enumerate(drafts)
            if draft.pattern == NO_PATTERN
        ]
        condition_sets: dict[Hashable, int] = {}
        for draft_number, draft in enumerate(drafts):
            for step in draft.steps:
                source = 0 if step.source == START else self.states[draft_number, step.source]
                segment = _NOTHING if step.segment is None else segment_ends[step.segment]
                conditions = (step.condition, step.absent, step.adjacent, frozenset(step.checks), step.edges)
                condition_set = condition_sets.setdefault(conditions, len(condition_sets))
                self.incoming[self.states[draft_number, step.target]].append((source, condition_set, segment))

    def incoming_key(self, state: int, classes: Sequence[int]) -> Hashable:
        """The steps into a state, by class. Sets are slow, so there is one only if the steps differ."""
        steps = [
            (classes[source], condition_set, _NOTHING if segment == _NOTHING else classes[segment])
            for source, condition_set, segment in self.incoming[state]
        ]
        are_alike = steps and all(step == steps[0] for step in steps)
        return steps[0] if are_alike else frozenset(steps)


def _numbered(keys: Sequence[Hashable]) -> tuple[list[int], int]:
    number: dict[Hashable, int] = {}
    return [number.setdefault(key, len(number)) for key in keys], len(number)
