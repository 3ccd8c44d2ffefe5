"""The live states of attempts, row by row: whether a start is still undecided, without reading its earlier rows.

The search of one start follows its choices in order of preference. Without conditions over the run, the rows decide
which states follow. So an attempt is known by the states that may consume its next row, in order of preference, each
once. A completed match cuts the states that are less preferred. While states are left, later rows decide the start.

The lists of states are numbered as they appear, and (list, symbol) -> list is looked up in a table that is filled on
demand: the lazily built deterministic automaton of the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END
from ostinato.clause.matching.nfa_tables import BITS
from ostinato.clause.matching.symbols import RowSymbols
from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.kernels.kernel_cache import kernel

Numbers = NDArray[np.int64]
DECIDED = 0
"""The number of the list without states. It also stands for lists that aren't numbered: the start is searched again."""
DONE, MISSING = 0, 1
_UNKNOWN = -1
MOST_LISTS = 1 << 12
_LARGEST_TABLE = 1 << 22


class LiveStates:
    """Numbers lists of states. A number is valid in this object only; a state stores the lists."""

    def __init__(self, plan: MatchPlan) -> None:
        self._choices = [state.choices for state in plan.nfa.states]
        self._lists: list[tuple[int, ...]] = [()]
        self._number: dict[tuple[int, ...], int] = {(): DECIDED}
        self._after: dict[tuple[int, bytes], int] = {}
        self.at_start = self.number_of(_preferred([plan.nfa.at_start]))
        self.elsewhere = self.number_of(_preferred([plan.nfa.elsewhere]))

    def number_of(self, states: tuple[int, ...]) -> int:
        """The number of a list; DECIDED for a new one where there are too many."""
        number = self._number.get(states)
        if number is None:
            if len(self._lists) == MOST_LISTS:
                return DECIDED
            number = self._number[states] = len(self._lists)
            self._lists.append(states)
        return number

    def states(self, number: int) -> tuple[int, ...]:
        """The list of a number."""
        return self._lists[number]

    def holds(self, states: Sequence[int]) -> bool:
        """Whether such a list can be one of this pattern."""
        return bool(states) and all(choice == ACCEPT_AT_END or 0 <= choice < len(self._choices) for choice in states)

    def walk(self, numbers: Numbers, symbols: RowSymbols, begin: Numbers, end: Numbers) -> Numbers:
        """The numbers after attempt i has consumed the rows `begin[i]:end[i]`."""
        lists, progress = numbers.copy(), np.array([0, -1], np.int64)
        table = self._empty_table(len(symbols.allowed))
        if len(table) < len(self._lists):
            return np.full(len(numbers), DECIDED)
        while _walk(table, symbols.of_row, begin, end, lists, progress) == MISSING:
            here, symbol = int(lists[progress[0]]), int(symbols.of_row[progress[1]])
            after = self._next(here, symbols.allowed[symbol])
            if after >= len(table):
                grown = self._empty_table(len(symbols.allowed))
                grown[: len(table)] = table
                table = grown
            table[here, symbol] = after if after < len(table) else DECIDED
        return lists

    def _empty_table(self, symbols: int) -> NDArray[np.int32]:
        rows = min(2 * len(self._lists) + 64, _LARGEST_TABLE // max(symbols, 1))
        table = np.full((rows, symbols), _UNKNOWN, np.int32)
        table[:1] = DECIDED
        return table

    def _next(self, number: int, allowed: NDArray[np.uint64]) -> int:
        key = (number, allowed.tobytes())
        after = self._after.get(key)
        if after is None:
            consuming = (state for state in self._lists[number] if state >= 0 and _has(allowed, state))
            after = self._after[key] = self.number_of(_preferred(self._choices[state] for state in consuming))
        return after


def _has(allowed: NDArray[np.uint64], state: int) -> bool:
    return bool(int(allowed[state // BITS]) >> (state % BITS) & 1)


def _preferred(choices: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The choices of several states in order of preference, each once, up to a completed match."""
    states: dict[int, None] = {}
    for of_state in choices:
        for choice in of_state:
            if choice == ACCEPT:
                return tuple(states)
            states.setdefault(choice)
    return tuple(states)


@kernel
def _walk(table, symbol_of_row, begin, end, lists, progress):  # type: ignore[no-untyped-def]
    while progress[0] < len(begin):
        attempt = progress[0]
        row = progress[1] if progress[1] >= 0 else begin[attempt]
        here = lists[attempt]
        while row < end[attempt] and here != 0:
            after = table[here, symbol_of_row[row]]
            if after < 0:
                progress[1] = row
                lists[attempt] = here
                return MISSING
            here = after
            row += 1
        lists[attempt] = here
        progress[0] += 1
        progress[1] = -1
    return DONE
