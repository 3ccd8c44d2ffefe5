"""Automaton -> the moves of counters, for COUNT or SUM, skip-till-any or skip-till-next.

The start isn't a state here: its count is 1 in global counters and 0 in local ones. Moves out of it are separate
(`begins`). A SUM is a COUNT over twice the states: the second half counts partial matches with one marked event, each
as many times as the value of that event. So every algorithm for counts also computes sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ostinato.event_queries.language.event_query import Selection
from ostinato.summaries.language.summary_query import SummaryAggregate
from ostinato.summaries.language.type_automaton import NO_STATE, START, TypeAutomaton


class Move(NamedTuple):
    """Partial matches in `source` that take the event move to `target`. `weighted`: multiplied by its value."""

    source: int
    target: int
    weighted: bool


class Begin(NamedTuple):
    """The event alone is a partial match in `target`."""

    target: int
    weighted: bool


@dataclass(frozen=True, slots=True)
class CountProgram:
    """State z here is state z + 1 of the automaton; z + `plain_states` is the same state with a marked event."""

    plain_states: int
    states: int
    moves: tuple[tuple[Move, ...], ...]
    """By type."""
    begins: tuple[tuple[Begin, ...], ...]
    """By type."""
    may_skip: tuple[tuple[bool, ...], ...]
    """By type and state: whether a partial match may also skip the event."""
    final: tuple[int, ...]
    """1 for states whose partial matches are complete and counted."""

    @property
    def any_match(self) -> bool:
        return all(all(row) for row in self.may_skip)


def count_program(automaton: TypeAutomaton, selection: Selection = Selection.ANY) -> CountProgram:
    """The program for COUNT."""
    states = len(automaton.final) - 1
    moves, begins, may_skip = [], [], []
    for type in range(len(automaton.types)):
        taken = [automaton.next_state[state + 1][type] - 1 for state in range(states)]
        moves.append(tuple(Move(z, to, False) for z, to in enumerate(taken) if to != NO_STATE - 1))
        first = automaton.next_state[START][type]
        begins.append((Begin(first - 1, False),) if first != NO_STATE else ())
        may_skip.append(tuple(selection is Selection.ANY or to == NO_STATE - 1 for to in taken))
    final = tuple(int(is_final) for is_final in automaton.final[1:])
    return CountProgram(states, states, tuple(moves), tuple(begins), tuple(may_skip), final)


def sum_program(count: CountProgram) -> CountProgram:
    """For SUM: the doubled automaton. The unmarked half still counts."""
    half = count.states
    moves = tuple(tuple(_marked_moves(row, half)) for row in count.moves)
    begins = tuple(
        tuple(Begin(begin.target + marked * half, bool(marked)) for begin in row for marked in (0, 1))
        for row in count.begins
    )
    may_skip = tuple(row + row for row in count.may_skip)
    return CountProgram(half, 2 * half, moves, begins, may_skip, (0,) * half + count.final)


def _marked_moves(moves: tuple[Move, ...], half: int) -> Iterator[Move]:
    for move in moves:
        yield move
        yield Move(move.source + half, move.target + half, False)
        yield Move(move.source, move.target + half, True)


def benefit_program(automaton: TypeAutomaton, aggregate: SummaryAggregate, selection: Selection) -> CountProgram:
    """The program for the choice of events: sums for SUM, counts for COUNT. AVG uses counts: the paper has no rule."""
    count = count_program(automaton, selection)
    return sum_program(count) if aggregate is SummaryAggregate.SUM else count
