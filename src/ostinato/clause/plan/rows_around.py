"""MatchPlan -> the rows before and behind a match that its conditions and measures read, by position in the pattern.

`PREV(x, 2)` in a variable that is never before the third row of a match reads a row of the match itself. So most
patterns read nothing before a match, although they compare rows. `margins_of` (slicing.py) doesn't use positions: a
slice may begin in the middle of a match.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa
from ostinato.clause.plan.match_plan import NONE, MatchPlan
from ostinato.clause.plan.navigations import references
from ostinato.clause.plan.slicing import Margins
from ostinato.expressions.syntax import Anchor, Expr, Navigation


def rows_around(plan: MatchPlan) -> Margins:
    """The most rows before the first row of a match, and behind its last row, that the plan reads."""
    return _widest([conditions_around(plan), measures_around(plan)])


def conditions_around(plan: MatchPlan) -> Margins:
    """The rows around a match that its conditions read."""
    positions = _Positions.of(plan)
    margins = []
    for state, condition in enumerate(plan.state_conditions):
        here = _Row(positions.before[state], positions.behind[state])
        exprs = []
        if condition.neighbours != NONE:
            exprs.append(plan.neighbour_conditions[condition.neighbours])
        if condition.run != NONE:
            exprs.append(plan.run_conditions[condition.run])
        margins += [positions.margins(navigation, here) for navigation in _navigations(exprs)]
    return _widest(margins)


def measures_around(plan: MatchPlan) -> Margins:
    """The rows around a match that its measures read."""
    positions = _Positions.of(plan)
    last = _Row(positions.shortest - 1, 0)
    any_row = _Row(0, 0)
    return _widest(
        positions.margins(node, any_row if plan.bound.shows_all_rows and not node.final else last)
        for node in _navigations(plan.slots)
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a match: the least number of rows of the match before it, and behind it."""

    before: int
    behind: int


@dataclass(frozen=True, slots=True)
class _Positions:
    """For each state, the least number of rows of a match before and behind the row that the state consumes."""

    nfa: Nfa
    before: tuple[int, ...]
    behind: tuple[int, ...]
    shortest: int
    """The number of rows of the shortest match that has rows."""

    @staticmethod
    def of(plan: MatchPlan) -> _Positions:
        nfa = plan.nfa
        count = len(nfa.states)
        ends = [i for i, state in enumerate(nfa.states) if ACCEPT in state.choices or ACCEPT_AT_END in state.choices]
        before = _distances(nfa, (*nfa.at_start, *nfa.elsewhere))
        if plan.bound.clause.show_timeouts:  # a partial match that timed out may end at any row
            return _Positions(nfa, before, (0,) * count, 1)
        return _Positions(nfa, before, _distances_to(nfa, ends), 1 + min((before[end] for end in ends), default=0))

    def margins(self, navigation: Navigation, current: _Row) -> Margins:
        """The rows around a match that a navigation reads from the current row of the match."""
        target = self._target(navigation, current)
        if target is None:
            return Margins(0, 0)
        return Margins(max(-navigation.shift - target.before, 0), max(navigation.shift - target.behind, 0))

    def _target(self, navigation: Navigation, current: _Row) -> _Row | None:
        """The row of the match from which the navigation counts its shift; None if there is none in any match."""
        skip = navigation.skip
        if navigation.rows is None:
            if navigation.anchor is Anchor.FIRST:
                return _Row(skip, current.behind)
            return _Row(max(current.before - skip, 0), current.behind + skip)
        states = [i for i, state in enumerate(self.nfa.states) if state.variable in navigation.rows]
        if not states:
            return None
        before = min(self.before[state] for state in states)
        behind = max(min(self.behind[state] for state in states), current.behind)
        return _Row(before + skip, behind) if navigation.anchor is Anchor.FIRST else _Row(before, behind + skip)


def _navigations(exprs: Iterable[Expr]) -> Iterator[Navigation]:
    return (node for expr in exprs for node in references(expr) if isinstance(node, Navigation))


def _widest(margins: Iterable[Margins]) -> Margins:
    collected = [Margins(0, 0), *margins]
    return Margins(max(each.before for each in collected), max(each.after for each in collected))


def _distances(nfa: Nfa, starts: Iterable[int]) -> tuple[int, ...]:
    """The number of rows consumed before each state, at least."""
    return _breadth_first(len(nfa.states), starts, lambda state: nfa.states[state].choices)


def _distances_to(nfa: Nfa, ends: Iterable[int]) -> tuple[int, ...]:
    """The number of rows consumed behind each state until a match is complete, at least."""
    predecessors: list[list[int]] = [[] for _ in nfa.states]
    for number, state in enumerate(nfa.states):
        for choice in state.choices:
            if choice >= 0:
                predecessors[choice].append(number)
    return _breadth_first(len(nfa.states), ends, predecessors.__getitem__)


def _breadth_first(count: int, starts: Iterable[int], following: Callable[[int], Iterable[int]]) -> tuple[int, ...]:
    """The distance of each state from the nearest start; 0 for states that can't be reached, which no match has."""
    distance = {start: 0 for start in starts if start >= 0}
    waiting = deque(distance)
    while waiting:
        state = waiting.popleft()
        for after in following(state):
            if after >= 0 and after not in distance:
                distance[after] = distance[state] + 1
                waiting.append(after)
    return tuple(distance.get(state, 0) for state in range(count))
