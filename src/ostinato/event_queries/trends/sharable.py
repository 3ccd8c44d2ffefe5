"""Programs of one workload -> sets of queries that can share the work for a Kleene sub-pattern (HAMLET, 2021).

A type of the paper is a condition here: `Travel+ t` with `t.speed < 10` is another sub-pattern than `Travel+ t` alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, Extent, Program


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


def sharable_sets(programs: Sequence[Program], keys: Sequence[Hashable]) -> tuple[SharableSet, ...]:
    """Definition 5: sets of at least two programs. `keys[i]` identifies the sequences over which program i runs.

    Two programs are sharable if they have a loop in common, run over the same sequences and measure windows alike. Such
    pairs connect the programs of a set. In the paper, MIN and MAX are shared with the same MIN and MAX only. Here each
    query has its own aggregates, so they share with queries that count.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, program in enumerate(programs):
        if program.selection is Selection.ANY:
            alike.setdefault((keys[number], _measure(program.extent)), []).append(number)
    sets = []
    for numbers in alike.values():
        loops = sharable_loops(programs, numbers)
        for members in _connected(loops):
            own = tuple(loop for loop in loops if set(loop.programs) <= members)
            sets.append(SharableSet(tuple(sorted(members)), own))
    return tuple(sorted(sets, key=lambda sharable: sharable.programs))


def _measure(extent: Extent) -> tuple[BoundKind, bool]:
    """The measure of windows. They start at multiples of their slide, so windows of one measure always overlap
    somewhere."""
    return extent.kind, extent.by_place


def _connected(loops: Sequence[KleeneLoop]) -> list[set[int]]:
    """Sets of programs that loops connect, directly or through others."""
    sets: list[set[int]] = []
    for loop in loops:
        touched = [members for members in sets if not members.isdisjoint(loop.programs)]
        sets = [members for members in sets if members.isdisjoint(loop.programs)]
        sets.append(set(loop.programs).union(*touched))
    return sets
