"""EventPattern -> Positions: the occurrences of events, which may follow which, and the absences in between.

These are Glushkov's positions, with NOT as a mark on the steps that cross it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ostinato.errors import QueryError, Span
from ostinato.event_queries.language.event_query import (
    Absent,
    AllOf,
    AnyOf,
    EventPattern,
    InOrder,
    OneEvent,
    Quantifier,
    Repeated,
    Without,
)

MAX_STATES = 4_096
MAX_POSITIONS_OF_STATES = 1_000_000
"""Positions of all states together. `(A{0,60}){0,60}` has few states, but each stands for thousands of positions."""

Absences = frozenset[int]
NOTHING: Absences = frozenset()


@dataclass(frozen=True, slots=True)
class PatternEnds:
    """First and last positions of a part of the pattern, each with the absences before or behind it."""

    first: dict[int, Absences]
    last: dict[int, Absences]
    may_be_empty: bool


class Positions:
    """A walk over the pattern that numbers its positions and collects which one follows which."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}
        self.label_of: list[int] = []
        self.follow: list[dict[int, set[Absences]]] = []
        self.absent: dict[EventPattern, int] = {}
        self.absent_span: list[Span | None] = []

    def add(self, pattern: EventPattern) -> PatternEnds:
        """Numbers the positions of a part of the pattern. Returns the ends of the part."""
        match pattern:
            case OneEvent(variable=variable):
                position = len(self.label_of)
                check_size(position)
                self.label_of.append(self.labels.setdefault(variable, len(self.labels)))
                self.follow.append({})
                return PatternEnds({position: NOTHING}, {position: NOTHING}, False)
            case InOrder(parts):
                return self.in_order(parts)
            case AnyOf(parts):
                ends = [self.add(part) for part in parts]
                return PatternEnds(
                    {position: absent for each in ends for position, absent in each.first.items()},
                    {position: absent for each in ends for position, absent in each.last.items()},
                    any(each.may_be_empty for each in ends),
                )
            case Repeated(body, times):
                return self.repeated(body, times)
            case Without(body, absent):
                return self.without(body, absent)
            case Absent(span=span):
                raise QueryError("NEGATION_MISPLACED", "NOT stands inside SEQ, beside something that occurs", span=span)
            case AllOf(span=span):
                raise QueryError("CONJUNCTION_NOT_SUPPORTED", "AND joins two whole patterns only", span=span)

    def in_order(self, parts: Sequence[EventPattern]) -> PatternEnds:
        """SEQ: an absence before a part belongs to its first positions; at the very end, to the last positions."""
        joined_ends = PatternEnds({}, {}, True)
        waiting: list[Absent] = []
        before: PatternEnds | None = None
        for pattern in parts:
            if isinstance(pattern, Absent):
                if before is not None:
                    _check_beside(before, pattern)
                self.numbered(pattern)
                waiting.append(pattern)
                continue
            before = self.add(pattern)
            for absent in waiting:
                _check_beside(before, absent)
            joined_ends = self.joined(
                joined_ends, PatternEnds(self.more(before.first, waiting), before.last, before.may_be_empty)
            )
            waiting = []
        if before is None and waiting:
            self.add(waiting[0])  # raises: nothing occurs
        return PatternEnds(joined_ends.first, self.more(joined_ends.last, waiting), joined_ends.may_be_empty)

    def repeated(self, body: EventPattern, times: Quantifier) -> PatternEnds:
        """`{n,m}` is m copies; a match may end in each from the n-th on. `{n,}` is n copies, and the last one loops.

        If the body may be empty, its empty rounds count as the last ones, so a match may end in every copy.
        """
        copies = [self.add(body) for _ in range(times.at_most or max(times.at_least, 1))]
        for before, after in pairwise(copies):
            self.connect(before.last, after.first)
        if times.at_most is None:
            self.connect(copies[-1].last, copies[-1].first)
        fewest = 0 if copies[0].may_be_empty else times.at_least
        last = {position: absent for each in copies[max(fewest, 1) - 1 :] for position, absent in each.last.items()}
        return PatternEnds(copies[0].first, last, fewest == 0)

    def without(self, body: EventPattern, absent: Absent) -> PatternEnds:
        """WITHOUT: the absence belongs to every step between two positions of the body."""
        start = len(self.label_of)
        ends = self.add(body)
        added = frozenset((self.numbered(absent),))
        for follow in self.follow[start:]:
            for after, absences in follow.items():
                follow[after] = {each | added for each in absences}
        return ends

    def joined(self, left: PatternEnds, right: PatternEnds) -> PatternEnds:
        self.connect(left.last, right.first)
        return PatternEnds(
            left.first | right.first if left.may_be_empty else left.first,
            left.last | right.last if right.may_be_empty else right.last,
            left.may_be_empty and right.may_be_empty,
        )

    def connect(self, last: dict[int, Absences], first: dict[int, Absences]) -> None:
        for before, behind in last.items():
            follow = self.follow[before]
            for after, ahead in first.items():
                follow.setdefault(after, set()).add(behind | ahead)

    def more(self, ends: dict[int, Absences], waiting: Iterable[Absent]) -> dict[int, Absences]:
        """The same positions, with further absences at each."""
        added = frozenset(self.numbered(absent) for absent in waiting)
        return {position: absent | added for position, absent in ends.items()} if added else ends

    def numbered(self, absent: Absent) -> int:
        if absent.body not in self.absent:
            self.absent[absent.body] = len(self.absent)
            self.absent_span.append(absent.span)
        return self.absent[absent.body]


def _check_beside(neighbour: PatternEnds, absent: Absent) -> None:
    if neighbour.may_be_empty:
        raise QueryError(
            "NEGATION_NEXT_TO_OPTIONAL",
            "what stands next to a NOT must occur, or nobody knows between which events nothing may lie",
            span=absent.span,
            hint="write the cases with OR",
        )


def check_size(states: int, positions: int = 0) -> None:
    if states >= MAX_STATES or positions > MAX_POSITIONS_OF_STATES:
        raise QueryError(
            "PATTERN_TOO_LARGE",
            f"the pattern needs more than {MAX_STATES:,} states, or too much memory for them",
            hint="use smaller numbers in {n,m}, or give variables that stand in several places different names",
        )
