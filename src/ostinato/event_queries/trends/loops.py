"""Chooses the labels that become loops on a shared log, and says why a program can't run in the shared engine.

A loop is a label whose transitions all lead to one state s, one of them from s itself: `T+`. Let `ahead` be the sum of
the counts of its sources, that is the number of trends that its next event would extend. That event adds `ahead` to the
count of s. As s is one of the sources, `ahead` doubles; k events at one time multiply it by 1 + k. Nothing else
changes. So the events of a loop need no work when they arrive: they go into a log, and a query reads the log when it
needs its numbers. All queries with the same condition share the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ostinato.event_queries.automaton.trend_automaton import START, Transition, TrendAutomaton
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, Extent, Program

TOO_MANY_WINDOWS = "too many windows are open at once"
_MOST_CELLS = 1 << 16
"""All numbers of all open windows are in one table, and every row is as wide as the largest number."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A label that repeats: `state` is the state it leads to, `condition` the number of its condition."""

    label: int
    state: int
    condition: int
    others: tuple[Transition, ...]
    """Its transitions from other states."""


def declined(programs: Sequence[Program]) -> str | None:
    """The reason why the programs can't run in the shared engine; None if they can."""
    for program in programs:
        reason = never_shared(program)
        if reason is not None:
            return reason
        if program.edges:
            return "conditions between adjacent events"
        if any(_single_label(absence) is None for absence in program.automaton.absences):
            return "NOT over more than one event"
    if sum(map(_cells, programs)) > _MOST_CELLS:
        return TOO_MANY_WINDOWS
    if not any(len(sharing) > 1 for sharing in sharing_queries(programs).values()):
        return "no two queries repeat the same events"
    return None


def never_shared(program: Program) -> str | None:
    """The reason why neither a log nor graphlets can share the program; None if one of them may."""
    if program.selection is not Selection.ANY:
        return "only SKIP TILL ANY MATCH can be shared"
    if program.extent.kind is BoundKind.SPAN:
        return "WITHIN without SLIDE needs the start of each match"
    return None


def fitting(programs: Sequence[Program]) -> tuple[int, ...]:
    """The numbers of the programs that fit into one table together. Programs with few cells are preferred."""
    fits: list[int] = []
    cells = 0
    for number in sorted(range(len(programs)), key=lambda number: _cells(programs[number])):
        cells += _cells(programs[number])
        if cells > _MOST_CELLS:
            break
        fits.append(number)
    return tuple(sorted(fits))


def _cells(program: Program) -> int:
    return program.automaton.states * windows_open(program.extent)


def windows_open(extent: Extent) -> int:
    """The largest number of windows that are open at once."""
    return 1 if extent.kind is BoundKind.NONE else -(-extent.length // extent.slide)


def sharing_queries(programs: Sequence[Program]) -> dict[int, list[int]]:
    """For each condition, the programs in which its events can be a loop (Definition 4)."""
    programs_of: dict[int, list[int]] = {}
    for number, program in enumerate(programs):
        for condition in sorted({loop.condition for loop in possible_loops(program)}):
            programs_of.setdefault(condition, []).append(number)
    return programs_of


def chosen_loops(programs: Sequence[Program]) -> list[list[Loop]]:
    """The loops of each program. Widely shared labels are chosen first; no loop leads into another loop."""
    wanted = Counter({condition: len(queries) for condition, queries in sharing_queries(programs).items()})
    return [_chosen(program, wanted) for program in programs]


def absent_conditions(program: Program, absences: Iterable[int]) -> frozenset[int]:
    """The conditions of the events that these absences forbid."""
    return frozenset(
        program.absent_qualifies[absence][label]
        for absence in absences
        for label in _single_label(program.automaton.absences[absence]) or ()
    )


def _chosen(program: Program, wanted: Counter[int]) -> list[Loop]:
    chosen: list[Loop] = []
    for loop in sorted(possible_loops(program), key=lambda loop: (-wanted[loop.condition], loop.label)):
        if not any(_feed_one_another(loop, other) for other in chosen):
            chosen.append(loop)
    return sorted(chosen, key=lambda loop: loop.label)


def _feed_one_another(one: Loop, other: Loop) -> bool:
    return (
        one.state == other.state
        or any(step.source == other.state for step in one.others)
        or any(step.source == one.state for step in other.others)
    )


def possible_loops(program: Program) -> list[Loop]:
    """All labels of the program that could be loops."""
    candidates = []
    for label, condition in enumerate(program.qualifies):
        steps = [step for step in program.automaton.transitions if step.label == label]
        states = {step.target for step in steps}
        own = [step for step in steps if step.source == step.target and not step.absences]
        if len(states) == 1 and own:
            others = tuple(step for step in steps if step.source != step.target)
            candidates.append(Loop(label, own[0].target, condition, others))
    return candidates


def _single_label(absence: TrendAutomaton) -> frozenset[int] | None:
    """The labels of an absence of a single event; None if the absence needs several events."""
    steps = absence.transitions
    if any(step.source != START or step.target not in absence.accepting or step.absences for step in steps):
        return None
    return frozenset(step.label for step in steps)
