"""GRETA as published on exact integers: the same visits as in greta.py, added up by Python's own `sum` over a list.

That loop runs in C, a few tens of nanoseconds a visit and more as numbers grow, which is about what the additions
themselves take. For COUNT(*) where no two events have the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.trends.windows import Unsupported, symbols_of, windows_of
from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import Events, Program, QueryResults


def greta_exact(programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
    """Query by query."""
    symbols = symbols_of(events)
    return tuple(_one_query(program, events, symbols) for program in programs)


def _one_query(program: Program, events: Events, symbols: np.ndarray) -> QueryResults:
    automaton = program.automaton
    if program.edges or program.slots or automaton.absences or program.selection is not Selection.ANY:
        raise Unsupported("only COUNT(*) without conditions between neighbours")
    windows = windows_of(events, program.extent)
    steps = [(1 << program.qualifies[t.label], t.source, t.target) for t in automaton.transitions]
    counts = []
    for first, last in zip(windows.first.tolist(), windows.last.tolist(), strict=True):
        if (np.diff(events.time[first:last]) == 0).any():
            raise Unsupported("equal times")
        by_state = _window(steps, automaton.states, symbols[first:last].tolist())
        counts.append(sum(sum(by_state[state]) for state in automaton.accepting))
    kept = np.array([number for number, count in enumerate(counts) if count], np.int64)
    column = np.empty(len(kept), object)
    column[:] = [counts[number] for number in kept]
    return QueryResults(windows.sequence[kept], windows.start[kept], column, (), ())


def _window(steps: list[tuple[int, int, int]], states: int, symbols: list[int]) -> list[list[int]]:
    """The count of each event, by the state that it leads to."""
    by_state: list[list[int]] = [[] for _ in range(states)]
    for symbol in symbols:
        new: dict[int, int] = {}
        for condition, source, target in steps:
            if symbol & condition:
                visited = 1 if source == START else sum(by_state[source])
                new[target] = new.get(target, 0) + visited
        for target, count in new.items():
            if count:
                by_state[target].append(count)
    return by_state
