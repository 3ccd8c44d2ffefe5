"""Nfa of a window -> the same with states split by their distance from the first row of the frame.

PREV and NEXT at a fixed distance from the tried row are evaluated for all rows at once, and frames overlap. So each
state says how far it is from the first row of its frame: `PREV(x, 2)` is NULL in a state at distance 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ostinato.clause.automaton.nfa import Nfa, State
from ostinato.clause.plan.navigations import is_fixed, null_like, references
from ostinato.expressions.syntax import Anchor, Expr, Navigation, rebuild

MOST_SPLIT_STATES = 512
"""More states would make the sets of reachable states large. Then conditions run with the search instead."""


@dataclass(frozen=True, slots=True)
class FrameDistance:
    """The number of rows between the first row of the frame and the row that a state consumes."""

    rows: int
    is_exact: bool
    """Otherwise it is the least number of rows."""
    frame_end: int | None
    """The distance of the last row of the frame; None if the partition ends it."""

    def inside(self, shift: int) -> bool | None:
        """Whether the row at this distance from the tried row is in the frame. None: it isn't known."""
        if shift < 0:
            return True if self.rows + shift >= 0 else False if self.is_exact else None
        if shift == 0 or self.frame_end is None:
            return True
        if self.rows + shift > self.frame_end:
            return False
        return True if self.is_exact else None

    def cut(self, expr: Expr) -> Expr:
        """The condition with NULL in the place of rows that are outside of the frame for certain."""
        if not isinstance(expr, Navigation):
            return rebuild(expr, self.cut)
        if not is_fixed(expr) or self.inside(expr.shift) is not False:
            return expr
        return Navigation(null_like(expr.operand), None, Anchor.LAST, span=expr.span)

    def needs_search(self, expr: Expr) -> bool:
        """Whether only the search knows if a row that the expression reads is in the frame."""
        return any(
            isinstance(node, Navigation) and is_fixed(node) and self.inside(node.shift) is None
            for node in references(expr)
        )


@dataclass(frozen=True, slots=True)
class FramedNfa:
    """An automaton, and for each state its distance from the first row of the frame."""

    nfa: Nfa
    distances: tuple[FrameDistance, ...]
    frame_end: int | None

    def exactly(self, rows: int) -> FrameDistance:
        """The distance of a row whose place in the match is known."""
        return FrameDistance(rows, True, self.frame_end)


def split_by_distance(nfa: Nfa, conditions: Iterable[Expr], frame_end: int | None) -> FramedNfa:
    """Splits states as far as the conditions need, if that doesn't give too many."""
    fixed = [node for condition in conditions for node in references(condition) if isinstance(node, Navigation)]
    shifts = [0, *(node.shift for node in fixed)]
    before, after = -min(shifts), max(shifts)
    candidates = [before] if frame_end is None or after == 0 else [frame_end + 1, before]
    for exact in candidates:
        framed = _split(nfa, exact, frame_end)
        if framed is not None:
            return framed
    return _unsplit(nfa, frame_end)


def _unsplit(nfa: Nfa, frame_end: int | None) -> FramedNfa:
    return FramedNfa(nfa, (FrameDistance(0, False, frame_end),) * len(nfa.states), frame_end)


def _split(nfa: Nfa, exact: int, frame_end: int | None) -> FramedNfa | None:
    """The automaton with exact distances below `exact`. None if it would have too many states.

    Windows have no `^`, so a match begins in the same way on all rows.
    """
    if exact == 0:
        return _unsplit(nfa, frame_end)
    number: dict[tuple[int, int], int] = {}

    def numbered(choices: Iterable[int], distance: int) -> tuple[int, ...]:
        at = min(distance, exact)
        return tuple(number.setdefault((choice, at), len(number)) if choice >= 0 else choice for choice in choices)

    starts = numbered(nfa.elsewhere, 0)
    states: list[State] = []
    distances: list[FrameDistance] = []
    while len(states) < len(number):
        if len(number) > MOST_SPLIT_STATES:
            return None
        original, distance = list(number)[len(states)]
        state = nfa.states[original]
        states.append(State(state.variable, state.excluded, numbered(state.choices, distance + 1)))
        distances.append(FrameDistance(distance, distance < exact, frame_end))
    return FramedNfa(Nfa(tuple(states), starts, starts, nfa.longest_partition), tuple(distances), frame_end)
