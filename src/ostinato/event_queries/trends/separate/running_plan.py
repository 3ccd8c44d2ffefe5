"""Program -> its running sums and the arrays for the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, Program
from ostinato.event_queries.trends.separate.running_arrays import (
    ANY,
    NEXT,
    SPAN,
    STRICT,
    UNBOUNDED,
    WINDOWS,
    RunningArrays,
)

SELECTIONS = {Selection.ANY: ANY, Selection.NEXT: NEXT, Selection.STRICT: STRICT}
BOUNDS = {BoundKind.NONE: UNBOUNDED, BoundKind.SPAN: SPAN, BoundKind.WINDOWS: WINDOWS}

RunningSum = tuple[int, frozenset[int], bool]
"""A state, the absences that empty the sum, and whether the sum only collects results."""


def make_plan(program: Program) -> RunningArrays:
    automaton = program.automaton
    strict = program.selection is Selection.STRICT
    sources = [
        # There is no event between two events that directly follow one another.
        (t.source, frozenset() if strict and t.source != START else frozenset(t.absences), False)
        for t in automaton.transitions
    ]
    passing_away = program.selection is not Selection.ANY
    results: list[RunningSum] = [(s, automaton.absences_at_end(s), passing_away) for s in sorted(automaton.accepting)]
    plain: list[RunningSum] = [(s, frozenset(), False) for s in range(automaton.states)]
    used = set(sources) | set(results)
    # Every state has at least one running sum.
    sums = [*sorted(used, key=_order), *(s for s in plain if not any(u[0] == s[0] for u in used))]
    number = {each: i for i, each in enumerate(sums)}
    of_state = [[i for i, each in enumerate(sums) if each[0] == s] for s in range(automaton.states)]
    single = not passing_away and all(len(of) == 1 for of in of_state) and not automaton.absences
    edge_at, edges, at_once = [0], [], []
    for label in range(len(automaton.labels)):
        mine = [i for i, t in enumerate(automaton.transitions) if t.label == label]
        order = in_place_order([(automaton.transitions[i].source, automaton.transitions[i].target) for i in mine])
        edges += [mine[i] for i in order] if order is not None else mine
        edge_at.append(len(edges))
        at_once.append(single and order is not None)
    resets = [[i for i, each in enumerate(sums) if a in each[1]] for a in range(len(automaton.absences))]
    return RunningArrays(
        sums_per_lane=len(sums),
        states=automaton.states,
        edge_at=ints(edge_at),
        edge_source=ints(number[sources[i]] for i in edges),
        edge_state=ints(automaton.transitions[i].source for i in edges),
        edge_target=ints(automaton.transitions[i].target for i in edges),
        at_once=np.array(at_once, bool),
        sum_at=offsets(of_state),
        sum_of=ints(i for of in of_state for i in of),
        passing=np.array([passing_away and not each[2] and each[0] != START for each in sums], bool),
        starts=ints(i for i, each in enumerate(sums) if each[0] == START),
        results=ints(number[each] for each in results),
        reset_at=offsets(resets),
        reset_sum=ints(i for of in resets for i in of),
        labels=len(automaton.labels),
        start_labels=sum(1 << label for label in automaton.first_labels()),
        selection=SELECTIONS[program.selection],
        bound=BOUNDS[program.extent.kind],
        by_place=program.extent.by_place,
        length=program.extent.length,
        slide=max(program.extent.slide, 1),
    )


def _order(running_sum: RunningSum) -> tuple[int, list[int], bool]:
    state, absences, only_results = running_sum
    return state, sorted(absences), only_results


def in_place_order(edges: Sequence[tuple[int, int]]) -> list[int] | None:
    """An order of edges in which each edge reads its source before anything is added to it; None if there is none.

    A loop from a state to itself comes first among the edges to the state, as it doubles the old sum.
    """
    states = {state for edge in edges for state in edge}
    order: list[int] = []
    while states:
        ready = [s for s in sorted(states) if not any(a == s and b in states and b != s for a, b in edges)]
        if not ready:
            return None
        for state in ready:
            into = [i for i, edge in enumerate(edges) if edge[1] == state]
            order += sorted(into, key=lambda i: edges[i][0] != state)
            states.remove(state)
    return order


def ints(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(numbers), np.int64)


def offsets(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Where each list begins if they lie one after another, and the length of all."""
    return ints(np.cumsum([0, *map(len, lists)]).tolist())
