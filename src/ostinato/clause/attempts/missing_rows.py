"""Automaton -> for each state the least number of further rows that complete a match."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa


class MissingRows:
    """The distances to the end of a match, if every condition held. `$` counts as true."""

    def __init__(self, nfa: Nfa) -> None:
        before: dict[int, list[int]] = {}
        self._of_state: dict[int, int] = {}
        waiting: deque[int] = deque()
        for state, each in enumerate(nfa.states):
            for choice in each.choices:
                before.setdefault(choice, []).append(state)
        for state in (*before.get(ACCEPT, ()), *before.get(ACCEPT_AT_END, ())):
            if state not in self._of_state:
                self._of_state[state] = 0
                waiting.append(state)
        while waiting:
            state = waiting.popleft()
            for earlier in before.get(state, ()):
                if earlier not in self._of_state:
                    self._of_state[earlier] = self._of_state[state] + 1
                    waiting.append(earlier)

    def after(self, choices: Sequence[int]) -> int | None:
        """The least number of rows after which these choices end a match; None if they never do."""
        if any(choice < 0 for choice in choices):
            return 0
        known = [self._of_state[choice] + 1 for choice in choices if choice in self._of_state]
        return min(known, default=None)
