"""Patterns as automata: one line per state, choices in order of preference."""

from __future__ import annotations

import pytest

from ostinato.clause.automaton.distinct_labels import one_state_per_label
from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, LONGEST_UNROLLED_BOUND, build_nfa
from ostinato.clause.automaton.pattern_rewrites import rewrite
from ostinato.clause.language.clause_render import render_pattern
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.errors import QueryError


def dump(pattern: str) -> list[str]:
    return build_nfa(parse_row_pattern(pattern)).dump().split("\n")


def test_greedy_loops_prefer_to_repeat_and_reluctant_ones_to_end() -> None:
    assert dump("A B* C") == ["start -> 0", "0 A -> 1, 2", "1 B -> 1, 2", "2 C -> accept"]
    assert dump("A B*? C") == ["start -> 0", "0 A -> 1, 2", "1 C -> accept", "2 B -> 1, 2"]


def test_plus_is_one_state() -> None:
    assert dump("A+ B") == ["start -> 0", "0 A -> 0, 1", "1 B -> accept"]


def test_bounds_are_unrolled_with_two_choices_each() -> None:
    assert dump("A{2,4}") == ["start -> 0", "0 A -> 1", "1 A -> 2, accept", "2 A -> 3, accept", "3 A -> accept"]


def test_an_iteration_without_a_row_ends_the_loop() -> None:
    assert dump("(A??)*") == ["start -> accept, 0", "0 A -> accept, 0"]
    assert dump("()*") == ["start -> accept"]
    assert dump("(B ()*)*") == ["start -> 0, accept", "0 B -> 0, accept"]


def test_anchors_are_conditions_on_choices() -> None:
    nfa = build_nfa(parse_row_pattern("^ A | B $"))
    assert [nfa.states[choice].variable for choice in nfa.at_start] == ["A", "B"]
    assert [nfa.states[choice].variable for choice in nfa.elsewhere] == ["B"]
    assert {state.variable: state.choices for state in nfa.states} == {"A": (ACCEPT,), "B": (ACCEPT_AT_END,)}


@pytest.mark.parametrize("pattern", ["A^", "$A"])
def test_anchors_that_never_hold(pattern: str) -> None:
    assert "accept" not in " ".join(dump(pattern))


def test_permute_shares_states_instead_of_writing_all_orders() -> None:
    three = build_nfa(parse_row_pattern("PERMUTE(A, B, C)"))
    assert len(three.states) == 3 * 2**2
    assert [three.states[choice].variable for choice in three.elsewhere] == ["A", "B", "C"]
    assert len(build_nfa(parse_row_pattern("PERMUTE(A, B, C, D, E, F, G, H)")).states) == 8 * 2**7


def test_patterns_with_too_many_states_are_refused() -> None:
    for pattern in ("A{10000} B{10000} C", "(A{1000}){1000}", "PERMUTE(" + "A," * 20 + "A)"):
        with pytest.raises(QueryError) as caught:
            build_nfa(parse_row_pattern(pattern))
        assert caught.value.code == "PATTERN_TOO_LARGE"


def test_a_huge_upper_bound_counts_as_unbounded_and_is_remembered() -> None:
    nfa = build_nfa(parse_row_pattern(f"A{{1,{LONGEST_UNROLLED_BOUND + 5}}}"))
    assert (len(nfa.states), nfa.longest_partition) == (1, LONGEST_UNROLLED_BOUND + 5)


def test_ten_thousand_variables_are_fine() -> None:
    names = " ".join(f"V{i}" for i in range(10_000))
    assert len(build_nfa(parse_row_pattern(names)).states) == 10_000


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("((A))", "A"),
        ("(A B) C", "A B C"),
        ("(A | B) | A", "A | B"),
        ("(A+)+ B", "A+ B"),
        ("(A*)+", "A*"),
        ("(A+?)+", "(A+?)+"),
        ("A () B", "A B"),
        ("A{1}", "A"),
        ("({- () -})*", "()"),
    ],
)
def test_rewrites(pattern: str, expected: str) -> None:
    assert render_pattern(rewrite(parse_row_pattern(pattern))[0]) == expected


def test_all_matches_get_one_path_per_labeling() -> None:
    merged = one_state_per_label(build_nfa(parse_row_pattern("A* A* B")))
    labels = [[merged.states[c].variable for c in state.choices if c >= 0] for state in merged.states]
    assert all(len(set(paths)) == len(paths) for paths in labels)
    nfa = build_nfa(parse_row_pattern("A B* C"))
    assert one_state_per_label(nfa) is nfa
