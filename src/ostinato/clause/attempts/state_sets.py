"""Sets of states as bits of whole numbers: the states after each row of one start, and a path through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import Nfa
from ostinato.clause.matching.nfa_tables import BITS
from ostinato.clause.matching.symbols import RowSymbols


def consuming(choices: Sequence[int]) -> list[int]:
    """The choices that consume a row."""
    return [choice for choice in choices if choice >= 0]


def first_choices(nfa: Nfa, start: int) -> tuple[int, ...]:
    """The choices at a start; row 0 is the first of its partition."""
    return nfa.elsewhere if start else nfa.at_start


def bits_of(states: Iterable[int]) -> int:
    """The set of these states.

    >>> bits_of([0, 3])
    9
    """
    return sum(1 << state for state in dict.fromkeys(states))


def members(states: int) -> Iterator[int]:
    """The states of a set, in their order."""
    while states:
        lowest = states & -states
        yield lowest.bit_length() - 1
        states ^= lowest


class AllowedStates:
    """The states whose conditions over the row and its neighbours hold, for each row."""

    def __init__(self, symbols: RowSymbols) -> None:
        self.symbol: list[int] = symbols.of_row.tolist()
        self._packed = symbols.allowed
        self.states = [
            sum(int(word) << (BITS * at) for at, word in enumerate(words)) for words in symbols.allowed.tolist()
        ]

    def at(self, row: int) -> int:
        """The set of states that may consume the row."""
        return self.states[self.symbol[row]]

    def as_flags(self, states: int) -> NDArray[np.bool_]:
        """A row of flags for each symbol."""
        octets = self._packed.astype("<u8").view(np.uint8)
        return np.unpackbits(octets, axis=1, count=states, bitorder="little").astype(np.bool_)


class StateSets:
    """Follows all paths of one start at a time. Equal steps of different starts are computed once."""

    def __init__(self, nfa: Nfa, allowed: AllowedStates) -> None:
        self.nfa = nfa
        self.allowed = allowed
        self._next = [bits_of(consuming(state.choices)) for state in nfa.states]
        self._forward: dict[tuple[int, int], int] = {}
        self._backward: dict[tuple[int, int], int] = {}

    def levels(self, start: int, rows: int) -> list[int]:
        """The states that some path may be in after 1, 2, ... rows of the start."""
        result: list[int] = []
        if rows:
            states = bits_of(consuming(first_choices(self.nfa, start))) & self.allowed.at(start)
            result.append(states)
            for row in range(start + 1, start + rows):
                states = self._after(states, self.allowed.symbol[row])
                result.append(states)
        return result

    def _after(self, states: int, symbol: int) -> int:
        step = (states, symbol)
        if step not in self._forward:
            following = 0
            for state in members(states):
                following |= self._next[state]
            self._forward[step] = following & self.allowed.states[symbol]
        return self._forward[step]

    def path(self, start: int, levels: Sequence[int], last: int) -> NDArray[np.int32]:
        """The states of the preferred path that ends in one of the states `last`, a subset of the last level."""
        viable = [last]
        for level in reversed(levels[:-1]):
            viable.append(self._before(level, viable[-1]))
        viable.reverse()
        path = np.empty(len(levels), np.int32)
        choices = first_choices(self.nfa, start)
        for at, states in enumerate(viable):
            # Each viable state leads on to a viable one, so the first viable choice is part of the preferred path.
            state = next(choice for choice in choices if choice >= 0 and states >> choice & 1)
            path[at] = state
            choices = self.nfa.states[state].choices
        return path

    def _before(self, level: int, following: int) -> int:
        step = (level, following)
        if step not in self._backward:
            self._backward[step] = bits_of(state for state in members(level) if self._next[state] & following)
        return self._backward[step]
