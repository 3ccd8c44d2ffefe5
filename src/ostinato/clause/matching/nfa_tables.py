"""Nfa -> the arrays that kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa

BITS = 64


class NfaTables(NamedTuple):
    """State t may go on to `choices[choice_at[t]:choice_at[t + 1]]`, in order of preference.

    Two more rows follow the states: the first choices of a match elsewhere, and on the first row of a partition.
    Negative choices are `nfa.ACCEPT` and `nfa.ACCEPT_AT_END`.
    """

    choice_at: NDArray[np.int64]
    choices: NDArray[np.int32]
    label: NDArray[np.int32]
    """The number of the variable that each state matches."""
    completing: NDArray[np.uint64]
    """The states (bits) after which a match may end at the end of the partition."""


def automaton_tables(nfa: Nfa, variables: tuple[str, ...]) -> NfaTables:
    number = {name: i for i, name in enumerate(variables)}
    lists = [state.choices for state in nfa.states] + [nfa.elsewhere, nfa.at_start]
    choice_at = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(choices) for choices in lists], out=choice_at[1:])
    choices = np.fromiter((choice for choices in lists for choice in choices), np.int32, count=int(choice_at[-1]))
    label = np.fromiter((number[state.variable] for state in nfa.states), np.int32, count=len(nfa.states))
    ends = [any(choice in (ACCEPT, ACCEPT_AT_END) for choice in state.choices) for state in nfa.states]
    return NfaTables(choice_at, choices, label, pack_bits(np.array([ends], np.bool_))[0])


def words(count: int) -> int:
    """The number of 64-bit words that hold so many bits (at least one)."""
    return max(1, -(-count // BITS))


def pack_bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of flags -> rows of words, bit i of a row at word i // 64."""
    rows, count = flags.shape
    packed = np.zeros((rows, words(count)), np.uint64)
    for bit in range(count):
        packed[:, bit // BITS] |= flags[:, bit].astype(np.uint64) << np.uint64(bit % BITS)
    return packed
