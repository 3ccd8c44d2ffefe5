"""Sub-patterns of which one only has more conditions -> one sub-pattern, with guards for the stricter pattern.

`SEQ(A a, B b)` and the same with `a.x < b.x` aren't equal, but every match of the second is a match of the first. So
both are matched as the first. A partial match for which `a.x < b.x` fails isn't kept for the second pattern. No partial
match is made that no pattern needs: the conditions of one pattern must be a subset of the other's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.workloads.merging.drafts import NO_PATTERN, Draft, Way
from ostinato.workloads.merging.pattern_program import EdgeCheck
from ostinato.workloads.merging.state_classes import StateClasses, classes_of


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions of a way over several events."""

    checks: frozenset[RunCondition]
    edges: frozenset[EdgeCheck]

    def is_subset_of(self, other: _Conditions) -> bool:
        return self != other and self.checks <= other.checks and self.edges <= other.edges

    def __len__(self) -> int:
        return len(self.checks) + len(self.edges)


def with_guards(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with conditions moved to guards wherever that makes two states one.

    This goes from the start of the patterns on: the successors of two states can only be compared once these are one.
    """
    result = list(drafts)
    while True:
        hosts = _hosts(result, classes_of(result))
        if not hosts:
            return result
        for (number, target), host in hosts.items():
            result[number] = _guarded(result[number], target, host)


def _hosts(drafts: Sequence[Draft], classes: StateClasses) -> dict[tuple[int, int], Way]:
    """For each state that only has more conditions than another one: the way into the other one."""
    alike: dict[Hashable, dict[_Conditions, list[tuple[int, Way]]]] = {}
    for number, draft in enumerate(drafts):
        ways_in = Counter(way.target for way in draft.ways)
        for way in draft.ways:
            if ways_in[way.target] == 1:
                key = (
                    classes.of(number, way.source), way.label, way.condition, way.absent, way.adjacent, way.segment,
                    draft.shares_with,
                )  # fmt: skip
                alike.setdefault(key, {}).setdefault(_conditions_of(way), []).append((number, way))
    hosts: dict[tuple[int, int], Way] = {}
    for by_conditions in alike.values():
        for conditions, members in by_conditions.items():
            least = min((other for other in by_conditions if other.is_subset_of(conditions)), key=len, default=None)
            if least is not None:
                host = by_conditions[least][0][1]
                hosts.update(((number, way.target), host) for number, way in _of_patterns(members, drafts))
    return hosts


def _of_patterns(members: Iterable[tuple[int, Way]], drafts: Sequence[Draft]) -> Iterable[tuple[int, Way]]:
    """Without segments, which get no guards: a pattern that joins a segment may also pass through its host."""
    return ((number, way) for number, way in members if drafts[number].pattern != NO_PATTERN)


def _conditions_of(way: Way) -> _Conditions:
    return _Conditions(frozenset(way.checks), frozenset(way.edges))


def _guarded(draft: Draft, target: int, host: Way) -> Draft:
    """The draft with the host's conditions on the way into a state, and its other conditions as guards."""

    def change(way: Way) -> Way:
        if way.target != target:
            return way
        return replace(
            way,
            checks=host.checks,
            edges=host.edges,
            guards=(*way.guards, *(check for check in way.checks if check not in host.checks)),
            guard_edges=(*way.guard_edges, *(edge for edge in way.edges if edge not in host.edges)),
        )

    return replace(draft, ways=tuple(map(change, draft.ways)))
