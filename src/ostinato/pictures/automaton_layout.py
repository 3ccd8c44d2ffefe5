"""Automaton -> where its states stand in columns and rows, and by which way each choice leads to the next. No drawing.

Columns follow the longest way from the start; loops are opened at the states by which they are entered. A choice that
leads more than one column ahead passes above the states between, one that leads back passes below them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa
from ostinato.clause.language.clause_render import render_pattern
from ostinato.clause.query.pattern import Variable

MAX_STATES_DRAWN = 40
START, START_AT_FIRST_ROW = -3, -4
"""Nodes of their own, beside ACCEPT and ACCEPT_AT_END."""


class Way(enum.Enum):
    """How an edge is led."""

    NEXT = "to the next column"
    AHEAD = "over columns between, above them"
    BACK = "to a column before, below what lies between"
    DOWN = "down inside a column"
    UP = "up inside a column"
    SELF = "to the state itself"


@dataclass(frozen=True, slots=True)
class Place:
    """`row` is counted from the middle of the column, so it may be a half."""

    column: int
    row: float


@dataclass(frozen=True, slots=True)
class Edge:
    """`rank` is its place in the order of preference among all `choices` of its source."""

    source: int
    target: int
    rank: int
    choices: int
    way: Way


@dataclass(frozen=True, slots=True)
class Layout:
    """`omitted` states are not drawn."""

    places: dict[int, Place]
    edges: tuple[Edge, ...]
    omitted: int

    @property
    def columns(self) -> int:
        return 1 + max(place.column for place in self.places.values())


def state_names(nfa: Nfa) -> list[str]:
    """Names for states: the variable's, with a number where several states stand for it.

    >>> from ostinato.clause.automaton.nfa import build_nfa
    >>> from ostinato.clause.language.pattern_parser import parse_row_pattern
    >>> state_names(build_nfa(parse_row_pattern("A B{2} {- C -}")))
    ['A', 'B#1', 'B#2', '{- C -}']
    """
    total: dict[str, int] = {}
    for state in nfa.states:
        total[state.variable] = total.get(state.variable, 0) + 1
    seen: dict[str, int] = {}
    names = []
    for state in nfa.states:
        name = render_pattern(Variable(state.variable))
        if total[state.variable] > 1:
            seen[state.variable] = seen.get(state.variable, 0) + 1
            name = f"{name}#{seen[state.variable]}"
        names.append(f"{{- {name} -}}" if state.excluded else name)
    return names


Arrow = tuple[int, int]


def lay_out(nfa: Nfa) -> Layout:
    """The places of the first states and the ways of the choices between them."""
    drawn = min(len(nfa.states), MAX_STATES_DRAWN)
    entries = _entries(nfa, drawn)
    total = {node: len(targets) for node, targets in entries.items()}
    choices = {
        node: [(rank, target) for rank, target in enumerate(targets, start=1) if target < drawn]
        for node, targets in entries.items()
    }
    arrows = [(source, target) for source, targets in choices.items() for _, target in targets]
    columns = _columns(choices, arrows)
    places = _rows(columns, arrows)
    edges = tuple(
        Edge(source, target, rank, total[source], _way(places[source], places[target], source == target))
        for source, targets in choices.items()
        for rank, target in targets
    )
    return Layout(places, edges, len(nfa.states) - drawn)


def _entries(nfa: Nfa, drawn: int) -> dict[int, Sequence[int]]:
    """For each node that is drawn its choices."""
    entries: dict[int, Sequence[int]] = {START: nfa.elsewhere}
    if nfa.at_start != nfa.elsewhere:
        entries = {START_AT_FIRST_ROW: nfa.at_start, **({START: nfa.elsewhere} if nfa.elsewhere else {})}
    entries.update(enumerate(state.choices for state in nfa.states[:drawn]))
    return entries


# --- columns ---


def _columns(nodes: Iterable[int], arrows: Sequence[Arrow]) -> dict[int, int]:
    forward = _without_loops(arrows)
    before: dict[int, list[int]] = {node: [] for node in nodes}
    for source, target in forward:
        before.setdefault(target, []).append(source)
    columns: dict[int, int] = {}
    waiting = list(before)
    while waiting:  # longest way; `forward` has no loops, so some node is always ready
        ready = [node for node in waiting if all(source in columns for source in before[node])]
        for node in ready:
            columns[node] = 1 + max((columns[source] for source in before[node]), default=-1)
        waiting = [node for node in waiting if node not in columns]
    end = max((column for node, column in columns.items() if node not in (ACCEPT, ACCEPT_AT_END)), default=0) + 1
    for node in (ACCEPT, ACCEPT_AT_END):
        if node in columns:
            columns[node] = end
    return columns


def _without_loops(arrows: Sequence[Arrow]) -> set[Arrow]:
    """The arrows without those that lead into a loop's entries from inside it; loops inside loops likewise."""
    kept = {arrow for arrow in arrows if arrow[0] != arrow[1]}
    while True:
        loops = [loop for loop in _loops(kept) if len(loop) > 1]
        if not loops:
            return kept
        for loop in loops:
            entries = {target for source, target in kept if target in loop and source not in loop} or {min(loop)}
            kept = {(source, target) for source, target in kept if not (source in loop and target in entries)}


def _loops(arrows: set[Arrow]) -> list[set[int]]:
    """Strongly connected components (of at most a few dozen nodes: by who reaches whom)."""
    nodes = {node for arrow in arrows for node in arrow}
    after: dict[int, set[int]] = {node: set() for node in nodes}
    for source, target in arrows:
        after[source].add(target)
    reaches = {node: _reached(node, after) for node in nodes}
    found: list[set[int]] = []
    for node in sorted(nodes):
        if not any(node in loop for loop in found):
            found.append({node} | {other for other in reaches[node] if node in reaches[other]})
    return found


def _reached(node: int, after: dict[int, set[int]]) -> set[int]:
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        for target in after[waiting.pop()]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


# --- rows ---


def _rows(columns: dict[int, int], arrows: Sequence[Arrow]) -> dict[int, Place]:
    """Inside a column, nodes stand near those that lead to them."""
    places: dict[int, Place] = {}
    for column in range(max(columns.values()) + 1):
        members = [node for node in columns if columns[node] == column]

        def pull(node: int) -> tuple[float, int]:
            rows = [places[source].row for source, target in arrows if target == node and source in places]
            return (sum(rows) / len(rows) if rows else 0.0, node if node >= 0 else -node)

        for i, node in enumerate(sorted(members, key=pull)):
            places[node] = Place(column, i - (len(members) - 1) / 2)
    return places


# --- ways ---


def _way(source: Place, target: Place, same: bool) -> Way:
    if same:
        return Way.SELF
    if target.column > source.column:
        return Way.NEXT if target.column == source.column + 1 else Way.AHEAD
    if target.column < source.column:
        return Way.BACK
    return Way.DOWN if target.row > source.row else Way.UP
