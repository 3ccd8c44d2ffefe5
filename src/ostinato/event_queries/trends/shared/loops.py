"""Which labels of a set of programs become loops on a shared log, and which programs can't run in the shared engine.

A loop is a label whose transitions all lead to one state s, one of them from s itself: `T+`. Let `ahead` be the sum of
the counts of its sources: what its next event would count. That event adds `ahead` to the count of s, and s is one of
the sources, so `ahead` doubles; k events at one time make it 1 + k times as much. Nothing else changes. So a loop needs
no work for its events: it is brought up to date from a log of them, which all queries with the same condition share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.event_queries.automaton.trend_automaton import START, Transition, TrendAutomaton
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, Program

TOO_MANY_WINDOWS = "too many windows are open at once"
_MOST_CELLS = 1 << 16
"""All numbers of all open windows are in one table, each as wide as the largest."""


@dataclass(frozen=True, slots=True)
class Loop:
    label: int
    state: int
    condition: int
    others: tuple[Transition, ...]
    """Its transitions from elsewhere."""


def declined(programs: Sequence[Program]) -> str | None:
    """Why these can't run in the shared engine; None if they can."""
    for program in programs:
        if program.selection is not Selection.ANY:
            return "only SKIP TILL ANY MATCH shares"
        if program.extent.kind is BoundKind.SPAN:
            return "WITHIN without SLIDE asks for each match's own begin"
        if program.edges:
            return "conditions between adjacent events"
        if any(_single_label(absence) is None for absence in program.automaton.absences):
            return "NOT over more than one event"
    if sum(map(_cells, programs)) > _MOST_CELLS:
        return TOO_MANY_WINDOWS
    if not any(len(sharing) > 1 for sharing in sharing_queries(programs).values()):
        return "no two queries repeat the same events"
    return None


def fitting(programs: Sequence[Program]) -> tuple[int, ...]:
    """The programs, by number, that one table holds; those with few cells first."""
    fits: list[int] = []
    cells = 0
    for number in sorted(range(len(programs)), key=lambda number: _cells(programs[number])):
        cells += _cells(programs[number])
        if cells > _MOST_CELLS:
            break
        fits.append(number)
    return tuple(sorted(fits))


def _cells(program: Program) -> int:
    return program.automaton.states * _windows_open(program)


def _windows_open(program: Program) -> int:
    extent = program.extent
    return 1 if extent.kind is BoundKind.NONE else -(-extent.length // extent.slide)


def sharing_queries(programs: Sequence[Program]) -> dict[int, list[int]]:
    """Condition -> the programs in which events of it can be a loop (Definition 4)."""
    found: dict[int, list[int]] = {}
    for number, program in enumerate(programs):
        for condition in sorted({loop.condition for loop in possible_loops(program)}):
            found.setdefault(condition, []).append(number)
    return found


def loops(programs: Sequence[Program]) -> list[list[Loop]]:
    """For each program the labels that become loops: most widely shared first, none that leads into another one."""
    wanted = Counter({condition: len(queries) for condition, queries in sharing_queries(programs).items()})
    return [_chosen(program, wanted) for program in programs]


def absent_conditions(program: Program, absences: Sequence[int]) -> frozenset[int]:
    """The conditions whose events are what must not occur."""
    labels = [(absence, _single_label(program.automaton.absences[absence]) or frozenset()) for absence in absences]
    return frozenset(program.absent_qualifies[absence][label] for absence, some in labels for label in some)


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
    """Every label that could be a loop."""
    found = []
    for label, condition in enumerate(program.qualifies):
        steps = [step for step in program.automaton.transitions if step.label == label]
        states = {step.target for step in steps}
        own = [step for step in steps if step.source == step.target and not step.absences]
        if len(states) == 1 and own:
            others = tuple(step for step in steps if step.source != step.target)
            found.append(Loop(label, own[0].target, condition, others))
    return found


def _single_label(absence: TrendAutomaton) -> frozenset[int] | None:
    """The labels of an absence that is one event; None: it takes more events than one."""
    steps = absence.transitions
    if any(step.source != START or step.target not in absence.accepting or step.absences for step in steps):
        return None
    return frozenset(step.label for step in steps)
