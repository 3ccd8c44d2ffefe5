"""Automaton -> a column and a row for each state, and a route for each edge. No drawing.

The column of a state is the length of the longest path from the start. Loops are opened at the states that enter them.
An edge that skips columns passes above the states between. An edge that leads back passes below them.
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
"""Extra nodes, like ACCEPT and ACCEPT_AT_END."""


class Route(enum.Enum):
    """How an edge is drawn."""

    NEXT = "to the next column"
    AHEAD = "over the columns between, above their states"
    BACK = "to an earlier column, below the states between"
    DOWN = "down inside a column"
    UP = "up inside a column"
    SELF = "to the state itself"


@dataclass(frozen=True, slots=True)
class GridPosition:
    """`row` counts from the middle of the column, so it can be a half."""

    column: int
    row: float


@dataclass(frozen=True, slots=True)
class AutomatonEdge:
    """`rank` is its rank in the order of preference among all `choices` of its source."""

    source: int
    target: int
    rank: int
    choices: int
    route: Route


@dataclass(frozen=True, slots=True)
class AutomatonLayout:
    """`omitted` is the number of states that aren't drawn."""

    positions: dict[int, GridPosition]
    edges: tuple[AutomatonEdge, ...]
    omitted: int

    @property
    def columns(self) -> int:
        return 1 + max(position.column for position in self.positions.values())


def state_names(nfa: Nfa) -> list[str]:
    """Names for states: the name of the variable, with a number if several states have the same variable.

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


def lay_out(nfa: Nfa) -> AutomatonLayout:
    """The layout of the first MAX_STATES_DRAWN states."""
    drawn = min(len(nfa.states), MAX_STATES_DRAWN)
    entries = _entries(nfa, drawn)
    total = {node: len(targets) for node, targets in entries.items()}
    choices = {
        node: [(rank, target) for rank, target in enumerate(targets, start=1) if target < drawn]
        for node, targets in entries.items()
    }
    arrows = [(source, target) for source, targets in choices.items() for _, target in targets]
    columns = _columns(choices, arrows)
    positions = _positions(columns, arrows)
    edges = tuple(
        AutomatonEdge(
            source, target, rank, total[source], _route(positions[source], positions[target], source == target)
        )
        for source, targets in choices.items()
        for rank, target in targets
    )
    return AutomatonLayout(positions, edges, len(nfa.states) - drawn)


def _entries(nfa: Nfa, drawn: int) -> dict[int, Sequence[int]]:
    """The choices of each node that is drawn."""
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
    while waiting:  # longest path; `forward` has no loops, so some node is always ready
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
    """The arrows without those from inside a loop to its entries; the same for loops inside loops."""
    forward = {arrow for arrow in arrows if arrow[0] != arrow[1]}
    while True:
        loops = [loop for loop in _components(forward) if len(loop) > 1]
        if not loops:
            return forward
        for loop in loops:
            entries = {target for source, target in forward if target in loop and source not in loop} or {min(loop)}
            forward = {(source, target) for source, target in forward if not (source in loop and target in entries)}


def _components(arrows: set[Arrow]) -> list[set[int]]:
    """Strongly connected components, by reachability: there are at most a few dozen nodes."""
    nodes = {node for arrow in arrows for node in arrow}
    after: dict[int, set[int]] = {node: set() for node in nodes}
    for source, target in arrows:
        after[source].add(target)
    reaches = {node: _reached(node, after) for node in nodes}
    components: list[set[int]] = []
    for node in sorted(nodes):
        if not any(node in component for component in components):
            components.append({node} | {other for other in reaches[node] if node in reaches[other]})
    return components


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


def _positions(columns: dict[int, int], arrows: Sequence[Arrow]) -> dict[int, GridPosition]:
    """Within a column, nodes are ordered by the rows of the nodes that lead to them."""
    positions: dict[int, GridPosition] = {}
    for column in range(max(columns.values()) + 1):
        members = [node for node in columns if columns[node] == column]

        def pull(node: int) -> tuple[float, int]:
            rows = [positions[source].row for source, target in arrows if target == node and source in positions]
            return (sum(rows) / len(rows) if rows else 0.0, node if node >= 0 else -node)

        for i, node in enumerate(sorted(members, key=pull)):
            positions[node] = GridPosition(column, i - (len(members) - 1) / 2)
    return positions


# --- routes ---


def _route(source: GridPosition, target: GridPosition, same: bool) -> Route:
    if same:
        return Route.SELF
    if target.column > source.column:
        return Route.NEXT if target.column == source.column + 1 else Route.AHEAD
    if target.column < source.column:
        return Route.BACK
    return Route.DOWN if target.row > source.row else Route.UP
