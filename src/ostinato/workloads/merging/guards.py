"""Two sub-patterns, one with more conditions than the other -> one sub-pattern, with guards for the stricter pattern.

`SEQ(A a, B b)` and the same with `a.x < b.x` aren't equal, but every match of the second is a match of the first. So
both are matched as the first. A partial match that fails `a.x < b.x` isn't kept for the second pattern. The conditions
of one pattern must be a subset of the other's, so some pattern needs every partial match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.workloads.merging.drafts import NO_PATTERN, Draft, DraftStep
from ostinato.workloads.merging.pattern_program import EdgeCheck
from ostinato.workloads.merging.state_classes import StateClasses, classes_of


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions of a step over several events."""

    checks: frozenset[RunCondition]
    edges: frozenset[EdgeCheck]

    def is_subset_of(self, other: _Conditions) -> bool:
        return self != other and self.checks <= other.checks and self.edges <= other.edges

    def __len__(self) -> int:
        return len(self.checks) + len(self.edges)


def with_guards(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with conditions moved to guards, wherever that makes two states one.

    Works from the start of the patterns onwards: successors of two states can only be compared once these are one.
    """
    result = list(drafts)
    while True:
        hosts = _hosts(result, classes_of(result))
        if not hosts:
            return result
        for (number, target), host in hosts.items():
            result[number] = _guarded(result[number], target, host)


def _hosts(drafts: Sequence[Draft], classes: StateClasses) -> dict[tuple[int, int], DraftStep]:
    """For each state that only has more conditions than another one: the step into the other one."""
    steps_by_conditions: dict[Hashable, dict[_Conditions, list[tuple[int, DraftStep]]]] = {}
    for number, draft in enumerate(drafts):
        incoming = Counter(step.target for step in draft.steps)
        for step in draft.steps:
            if incoming[step.target] == 1:
                source = classes.of(number, step.source)
                kind = (step.label, step.condition, step.absent, step.adjacent, step.segment)
                key = (source, kind, draft.shares_with)
                steps_by_conditions.setdefault(key, {}).setdefault(_conditions_of(step), []).append((number, step))
    hosts: dict[tuple[int, int], DraftStep] = {}
    for by_conditions in steps_by_conditions.values():
        for conditions, members in by_conditions.items():
            least = min((other for other in by_conditions if other.is_subset_of(conditions)), key=len, default=None)
            if least is not None:
                host = by_conditions[least][0][1]
                hosts.update(((number, step.target), host) for number, step in _of_patterns(members, drafts))
    return hosts


def _of_patterns(members: Iterable[tuple[int, DraftStep]], drafts: Sequence[Draft]) -> Iterable[tuple[int, DraftStep]]:
    """Leaves out segments. They get no guards: a pattern that joins a segment may also pass through its host."""
    return ((number, step) for number, step in members if drafts[number].pattern != NO_PATTERN)


def _conditions_of(step: DraftStep) -> _Conditions:
    return _Conditions(frozenset(step.checks), frozenset(step.edges))


def _guarded(draft: Draft, target: int, host: DraftStep) -> Draft:
    """The draft with the host's conditions on the step into a state, and its other conditions as guards."""

    def change(step: DraftStep) -> DraftStep:
        if step.target != target:
            return step
        return replace(
            step,
            checks=host.checks,
            edges=host.edges,
            guards=(*step.guards, *(check for check in step.checks if check not in host.checks)),
            guard_edges=(*step.guard_edges, *(edge for edge in step.edges if edge not in host.edges)),
        )

    return replace(draft, steps=tuple(map(change, draft.steps)))
