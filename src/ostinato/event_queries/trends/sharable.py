"""Programs of one workload -> sets of queries that can share the work for a Kleene sub-pattern (HAMLET, 2021).

A type of the paper is a condition here: `Travel+ t` with `t.speed < 10` is another sub-pattern than `Travel+ t` alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, Extent, Program, Slot, SlotKind


@dataclass(frozen=True, slots=True)
class KleeneLoop:
    """A sub-pattern `E+` of several queries (Definition 4): the number of E's condition, and the numbers of the
    programs."""

    condition: int
    programs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharableSet:
    """Programs that each share a loop with another program of the set (Definition 5), in order of their numbers."""

    programs: tuple[int, ...]
    loops: tuple[KleeneLoop, ...]
    pane: int | None
    """The length of a pane in microseconds or events; None without windows."""


def loop_conditions(program: Program) -> frozenset[int]:
    """The conditions of the labels that may directly follow themselves: `E+` anywhere in the pattern."""
    steps = program.automaton.transitions
    return frozenset(program.qualifies[step.label] for step in steps if step.source == step.target)


def sharable_loops(programs: Sequence[Program], among: Iterable[int] | None = None) -> tuple[KleeneLoop, ...]:
    """Definition 4: the Kleene sub-patterns that several programs have."""
    programs_of: dict[int, list[int]] = {}
    for number in range(len(programs)) if among is None else among:
        for condition in loop_conditions(programs[number]):
            programs_of.setdefault(condition, []).append(number)
    shared = sorted((condition, users) for condition, users in programs_of.items() if len(users) > 1)
    return tuple(KleeneLoop(condition, tuple(users)) for condition, users in shared)


def sharable_sets(
    programs: Sequence[Program], keys: Sequence[Hashable], *, extremes_apart: bool = True
) -> tuple[SharableSet, ...]:
    """Definition 5: sets of at least two programs. `keys[i]` identifies the sequences over which program i runs.

    Two programs are sharable if they have a loop in common, run over the same sequences, measure windows alike, and
    compute aggregates that can be shared. Such pairs connect the programs of a set. `extremes_apart` is the paper's
    rule that MIN and MAX are shared with the same MIN and MAX only; an engine may not need it.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, program in enumerate(programs):
        if program.selection is Selection.ANY:
            apart = _extremes(program) if extremes_apart else None
            alike.setdefault((keys[number], _measure(program.extent), apart), []).append(number)
    sets = []
    for numbers in alike.values():
        loops = sharable_loops(programs, numbers)
        for members in _connected(loops):
            own = tuple(loop for loop in loops if set(loop.programs) <= members)
            extents = [programs[number].extent for number in sorted(members)]
            sets.append(SharableSet(tuple(sorted(members)), own, pane_of(extents)))
    return tuple(sorted(sets, key=lambda sharable: sharable.programs))


def pane_of(extents: Iterable[Extent]) -> int | None:
    """The length of a pane: the greatest common divisor of all windows' lengths and slides.

    >>> minute = 60_000_000
    >>> cut = [Extent(BoundKind.WINDOWS, False, length * minute, 5 * minute) for length in (10, 15)]
    >>> pane_of(cut) == 5 * minute
    True
    """
    windows = [extent for extent in extents if extent.kind is BoundKind.WINDOWS]
    return math.gcd(*(number for extent in windows for number in (extent.length, extent.slide))) if windows else None


def _measure(extent: Extent) -> tuple[BoundKind, bool]:
    """The measure of windows. They start at multiples of their slide, so windows of one measure always overlap
    somewhere."""
    return extent.kind, extent.by_place


def _extremes(program: Program) -> frozenset[tuple[SlotKind, frozenset[int], int]]:
    """The properties that must be equal for two programs to share.

    COUNT(*) is part of every program here, so unlike in the paper it can be shared with COUNT(E), SUM and AVG.
    """

    def over(slot: Slot) -> frozenset[int]:
        return frozenset(program.qualifies[label] for label in slot.labels)

    extremes = (SlotKind.MIN, SlotKind.MAX)
    return frozenset((slot.kind, over(slot), slot.value) for slot in program.slots if slot.kind in extremes)


def _connected(loops: Sequence[KleeneLoop]) -> list[set[int]]:
    """Sets of programs that loops connect, directly or through others."""
    sets: list[set[int]] = []
    for loop in loops:
        touched = [members for members in sets if not members.isdisjoint(loop.programs)]
        sets = [members for members in sets if members.isdisjoint(loop.programs)]
        sets.append(set(loop.programs).union(*touched))
    return sets
