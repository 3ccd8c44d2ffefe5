"""Which states can still lead to a match, for every row: letters for rows, variables for states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ostinato.clause.automaton.nfa import build_nfa
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.matching import reachability
from ostinato.clause.matching.nfa_tables import automaton_tables
from ostinato.clause.matching.reachability import reachable_states
from ostinato.clause.matching.symbols import symbols_of
from ostinato.kernels.kernel_cache import interpreted

pytestmark = pytest.mark.kernel

KERNELS = ("_walk_back", "_find_set", "_add_set", "_hash", "_fill_buckets")


@pytest.fixture(params=["compiled", "python"], autouse=True)
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test runs with the compiled kernels, and with the Python functions that they were compiled from."""
    if request.param == "python":
        for name in KERNELS:
            monkeypatch.setattr(reachability, name, interpreted(getattr(reachability, name)))
    with np.errstate(over="ignore"):  # hashes wrap around
        yield


def reachable(pattern: str, *keys: str, is_open: bool = False) -> str:
    """For each row the variables that may consume it: a row `a` is one for A, `*` one for every variable."""
    nfa = build_nfa(parse_row_pattern(pattern))
    variables = tuple(dict.fromkeys(state.variable for state in nfa.states))
    rows = "".join(keys)
    masks = [np.array([row in (name.lower(), "*") for row in rows], np.bool_) for name in variables]
    symbols = symbols_of(masks, [variables.index(state.variable) for state in nfa.states], len(rows))
    ends = np.cumsum([len(key) for key in keys])
    reached = reachable_states(
        automaton_tables(nfa, variables),
        symbols.of_row,
        symbols.allowed,
        ends - [len(key) for key in keys],
        ends,
        np.full(len(keys), is_open, np.uint8),
    )

    def names(row: int) -> str:
        words = reached.sets[reached.set_of_row[row]]
        states = [i for i in range(len(nfa.states)) if int(words[i // 64]) >> (i % 64) & 1]
        return "".join(sorted(nfa.states[i].variable for i in states)) or "-"

    return " ".join(names(row) for row in range(len(rows)))


def test_a_row_counts_only_if_the_rest_can_follow() -> None:
    assert reachable("A B C", "abc") == "A B C"
    assert reachable("A B C", "aabc") == "- A B C"
    assert reachable("A B C", "ab") == "- -"


def test_a_loop_goes_on_or_leads_out() -> None:
    assert reachable("A B* C", "abbc") == "A B B C"
    assert reachable("A B* C", "abbx") == "- - - -"


def test_a_row_may_be_several_things() -> None:
    """Only rows to come count: a match may have begun before the row."""
    assert reachable("A+ B", "**") == "AB B"
    assert reachable("A B C", "***") == "ABC BC C"


def test_an_alternative_that_dies_out_is_left_out() -> None:
    assert reachable("(A | B) C", "ac") == "A C"
    assert reachable("A C | B D", "*d") == "BCD D"  # no C follows an A


def test_keys_are_apart() -> None:
    assert reachable("A B", "a", "b") == "- B"
    assert reachable("A B", "xa", "bab") == "- - B A B"


def test_where_rows_may_follow_every_state_is_still_open() -> None:
    assert reachable("A B C", "ab", is_open=True) == "A B"
    assert reachable("A B C", "ax", is_open=True) == "- -"
    assert reachable("A B C", "xa", is_open=True) == "- A"


def test_the_end_of_the_partition_is_a_condition() -> None:
    assert reachable("A B $", "abab") == "- - A B"


def test_more_than_64_states() -> None:
    assert reachable("A{70} B", "a" * 71 + "b") == " ".join("-" + "A" * 70 + "B")
    assert reachable("A{70} B", "a" * 71) == " ".join("-" * 71)


def test_more_sets_than_there_is_room_for_at_first() -> None:
    """Each row has a set of its own: 200 of them, and there is room for 64."""
    expected = ["AB"[row % 2] * ((201 - row) // 2) for row in range(200)]
    assert reachable(" ".join("AB" * 100), "ab" * 100) == " ".join(expected)
