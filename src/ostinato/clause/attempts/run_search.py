"""One start of a pattern with conditions over the run -> the furthest paths, by trying them in order of preference.

A condition over the run depends on the rows matched so far, so a state at a row doesn't decide its future: every
partial match has to be tried. Their number may grow exponentially, so the search stops after a number of trials, and
says so. The number is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.attempts.state_sets import AllowedStates, first_choices
from ostinato.clause.automaton.nfa import Nfa
from ostinato.kernels.stopping import check_stopped

Admits = Callable[[int, int, list[int], int], bool]
"""`admits(state, row, path, number)`: whether the state's condition over the run holds for the row behind the path."""


@dataclass(frozen=True, slots=True)
class FurthestPaths:
    """The paths from one start that consume the most rows."""

    rows: int
    last: dict[int, NDArray[np.int32]]
    """For each state in which such a path ends, the states of the preferred one. Empty if no row was consumed."""
    trials: int
    complete: bool


def furthest_paths(
    nfa: Nfa, allowed: AllowedStates, admits: Admits, start: int, end: int, number: int, max_trials: int
) -> FurthestPaths:
    """Tries all paths from `start` that stay before the row `end`; `number` is the number that a match would have.

    No path may complete a match.
    """
    path: list[int] = []
    choices: list[Iterator[int]] = [iter(first_choices(nfa, start))]
    most, trials = 0, 0
    last: dict[int, NDArray[np.int32]] = {}

    def keep() -> None:
        """Keeps the path if no other is longer. It is copied when it is left, not at each of its rows."""
        if path and len(path) == most:
            last.setdefault(path[-1], np.array(path, np.int32))

    while choices:
        state = next(choices[-1], None)
        if state is None:
            keep()
            choices.pop()
            if path:
                path.pop()
            continue
        row = start + len(path)
        if state < 0 or row >= end or not allowed.at(row) >> state & 1:
            continue
        if trials == max_trials:
            keep()
            return FurthestPaths(most, last, trials, complete=False)
        trials += 1
        check_stopped()
        if not admits(state, row, path, number):
            continue
        path.append(state)
        choices.append(iter(nfa.states[state].choices))
        if len(path) > most:
            most = len(path)
            last.clear()
    return FurthestPaths(most, last, trials, complete=True)
