"""Nfa -> Nfa in which no two choices consume a row under the same label: ALL MATCHES returns each labeling once.

`A* A*` reaches the same labels along many paths. Here one state stands for all states that the same labels lead to.
The order of preference between them is lost, so only ALL MATCHES can use the result.
"""

from __future__ import annotations

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, MAX_STATES, Nfa, State
from ostinato.errors import QueryError

_Label = tuple[str, bool]


def one_state_per_label(nfa: Nfa) -> Nfa:
    """The same matches, each labeling along one path only."""
    if all(_is_distinct(nfa, choices) for choices in (nfa.at_start, nfa.elsewhere, *(s.choices for s in nfa.states))):
        return nfa
    number: dict[tuple[int, ...], int] = {}
    waiting: list[tuple[int, ...]] = []

    def grouped(choices: tuple[int, ...]) -> tuple[int, ...]:
        """The choices, with all states of one label as one state, in the position of the first of them."""
        members: dict[_Label | int, list[int]] = {}
        for choice in choices:
            if choice == ACCEPT_AT_END and ACCEPT in choices:
                continue  # one end of a match, not two
            key: _Label | int = choice if choice < 0 else _label(nfa, choice)
            members.setdefault(key, []).append(choice)
        result = []
        for key, group in members.items():
            if isinstance(key, int):
                result.append(key)
                continue
            identity = tuple(sorted(set(group)))
            if identity not in number:
                if len(number) >= MAX_STATES:
                    raise QueryError(
                        "PATTERN_TOO_LARGE",
                        f"ALL MATCHES needs more than {MAX_STATES:,} states to tell labelings apart",
                    )
                number[identity] = len(number)
                waiting.append(identity)
            result.append(number[identity])
        return tuple(result)

    elsewhere, at_start = grouped(nfa.elsewhere), grouped(nfa.at_start)
    states: list[State] = []
    while len(states) < len(waiting):
        group = waiting[len(states)]
        variable, excluded = _label(nfa, group[0])
        union = tuple(dict.fromkeys(choice for member in group for choice in nfa.states[member].choices))
        states.append(State(variable, excluded, grouped(union)))
    return Nfa(tuple(states), at_start, elsewhere, nfa.longest_partition)


def _label(nfa: Nfa, state: int) -> _Label:
    return nfa.states[state].variable, nfa.states[state].excluded


def _is_distinct(nfa: Nfa, choices: tuple[int, ...]) -> bool:
    labels = [_label(nfa, choice) for choice in choices if choice >= 0]
    return len(set(labels)) == len(labels) and not {ACCEPT, ACCEPT_AT_END} <= set(choices)
