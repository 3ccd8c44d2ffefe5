"""Sub-patterns that differ only in how much they ask -> one, with guards for the patterns that ask more.

`SEQ(A a, B b)` and the same with `a.x < b.x` are not equal, but every match of the second is one of the first. So both
are matched as the first, and a partial match for which `a.x < b.x` fails is not kept for the second's pattern. No
partial match is made that no pattern asks for: the conditions of one must be a part of the other's.
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
class _Asked:
    """What a way asks of several events."""

    checks: frozenset[RunCondition]
    edges: frozenset[EdgeCheck]

    def is_part_of(self, other: _Asked) -> bool:
        return self != other and self.checks <= other.checks and self.edges <= other.edges

    def __len__(self) -> int:
        return len(self.checks) + len(self.edges)


def with_guards(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with conditions moved to guards wherever that makes two states one.

    From the start of the patterns on: whether the states behind two states are alike is only known once these are one.
    """
    result = list(drafts)
    while True:
        hosts = _hosts(result, classes_of(result))
        if not hosts:
            return result
        for (place, target), host in hosts.items():
            result[place] = _guarded(result[place], target, host)


def _hosts(drafts: Sequence[Draft], classes: StateClasses) -> dict[tuple[int, int], Way]:
    """For states that ask more than another one that is alike otherwise: the way into that one."""
    alike: dict[Hashable, dict[_Asked, list[tuple[int, Way]]]] = {}
    for place, draft in enumerate(drafts):
        ways_in = Counter(way.target for way in draft.ways)
        for way in draft.ways:
            if ways_in[way.target] == 1:
                key = (
                    classes.of(place, way.source), way.label, way.condition, way.absent, way.adjacent, way.segment,
                    draft.shares_with,
                )  # fmt: skip
                alike.setdefault(key, {}).setdefault(_asked(way), []).append((place, way))
    hosts: dict[tuple[int, int], Way] = {}
    for found in alike.values():
        for asked, members in found.items():
            least = min((other for other in found if other.is_part_of(asked)), key=len, default=None)
            if least is not None:
                host = found[least][0][1]
                hosts.update(((place, way.target), host) for place, way in _of_patterns(members, drafts))
    return hosts


def _of_patterns(members: Iterable[tuple[int, Way]], drafts: Sequence[Draft]) -> Iterable[tuple[int, Way]]:
    """A segment isn't guarded: the patterns that join it may pass through its host on their own way too."""
    return ((place, way) for place, way in members if drafts[place].pattern != NO_PATTERN)


def _asked(way: Way) -> _Asked:
    return _Asked(frozenset(way.checks), frozenset(way.edges))


def _guarded(draft: Draft, target: int, host: Way) -> Draft:
    """The draft asking on the way into a state what the host asks, and the rest as guards."""

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
