"""Program -> the method by which the separate engine runs it, and the reasons. No kernels here."""

from __future__ import annotations

from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, Program

MOST_BITS = 62
"""Labels and absences of an automaton are bits of one word."""
MOST_LANES = 100_000
"""Largest number of windows that are open at a time."""


def needs_events(program: Program) -> str | None:
    """The reason why a program needs its events: the gain of an event depends on more than the states before it."""
    automaton, extent = program.automaton, program.extent
    before_start = any(t.absences for t in automaton.transitions if t.source == START)
    between = any(t.absences for t in automaton.transitions if t.source != START)
    if program.edges:
        return "pairs of adjacent events are tested"
    if not all(map(is_single, automaton.absences)):
        return "several events together must be absent"
    if between and program.selection is Selection.NEXT:
        return "the forbidden events decide which event is next"
    if before_start and extent.kind is BoundKind.SPAN:
        return "what must be absent before the first event depends on the last one"
    if program.selection is Selection.STRICT and extent.by_place and extent.kind is BoundKind.WINDOWS:
        return "windows that count events may separate events of the same time"
    if len(automaton.labels) + len(automaton.absences) > MOST_BITS:
        return "more variables than bits in a word"
    if extent.kind is BoundKind.WINDOWS and extent.length // extent.slide > MOST_LANES:
        return "too many windows are open at a time"
    return None


def needs_visits(program: Program) -> str | None:
    """The reason why holders can't evaluate a program with tested edges; None if they can."""
    automaton = program.automaton
    pairs = [(test.before, test.after) for test in program.edges]
    if program.selection is not Selection.ANY:
        return f"with {program.selection.value} an edge depends on the events that the test has failed before"
    if not all(map(is_single, automaton.absences)):
        return "several events together must be absent"
    if len(set(pairs)) < len(pairs):
        return "several tests of the same pair"
    if program.extent.kind is BoundKind.SPAN and any(t.absences for t in automaton.transitions if t.source == START):
        return "what must be absent before the first event depends on the last one"
    if len(automaton.labels) + len(automaton.absences) > MOST_BITS:
        return "more variables than bits in a word"
    return None


def is_single(absence: TrendAutomaton) -> bool:
    """Whether the first event of every match is a match by itself."""
    return all(t.target in absence.accepting for t in absence.transitions if t.source == START)


def method_of(program: Program) -> str:
    """Describes how the engine runs a program, for `explain`."""
    why = needs_events(program)
    if why is None and program.extent.kind is BoundKind.SPAN:
        return "running sums for each state of the automaton and each start that is still inside the length"
    if why is None:
        return "running sums for each state of the automaton: an event costs the same however many came before"
    visits = needs_visits(program)
    if visits is not None:
        return f"each event visits the earlier ones of its window ({visits})"
    if any(test.op is None for test in program.edges):
        return f"each event visits those earlier ones of its window that a test of pairs asks for ({why})"
    return f"sums by the rank of a value: an event costs the logarithm of its window's size ({why})"
