"""Where states stand: columns by the longest way from the start, loops opened where they are entered."""

from __future__ import annotations

import pytest

from ostinato.clause.automaton.nfa import ACCEPT, build_nfa
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.pictures.automaton_layout import MAX_STATES_DRAWN, START, AutomatonLayout, Route, lay_out, state_names
from ostinato.pictures.automaton_svg import Picture, draw_automata


def columns(text: str) -> list[str]:
    """The names of the states in each column, from top to bottom; without start and end."""
    nfa = build_nfa(parse_row_pattern(text))
    layout, names = lay_out(nfa), state_names(nfa)
    found: list[list[tuple[float, str]]] = [[] for _ in range(layout.columns)]
    for node, place in layout.positions.items():
        if node >= 0:
            found[place.column].append((place.row, names[node]))
    return [" ".join(name for _, name in sorted(column)) for column in found if column]


def way(layout: AutomatonLayout, source: int, target: int) -> Route:
    return next(edge.route for edge in layout.edges if (edge.source, edge.target) == (source, target))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A B* C", ["A", "B", "C"]),
        ("A | B", ["A B"]),
        ("(A | B)+? C{2,3}", ["A B", "C#1", "C#2", "C#3"]),
        ("(A B)+ C", ["A", "B", "C"]),
        ("(A (B C?)* D)+", ["A", "B", "C", "D"]),
        ("PERMUTE(A, B)", ["A#1 B#1", "B#2 A#2"]),
    ],
)
def test_columns(text: str, expected: list[str]) -> None:
    assert columns(text) == expected


def test_ways() -> None:
    layout = lay_out(build_nfa(parse_row_pattern("(A B* C)+")))  # states 0 A, 1 B, 2 C
    assert way(layout, START, 0) is Route.NEXT
    assert way(layout, 0, 2) is Route.AHEAD
    assert way(layout, 1, 1) is Route.SELF
    assert way(layout, 2, 0) is Route.BACK
    assert way(layout, 2, ACCEPT) is Route.NEXT


def test_ways_inside_a_column() -> None:
    layout = lay_out(build_nfa(parse_row_pattern("(A | B)+")))
    assert {way(layout, 0, 1), way(layout, 1, 0)} == {Route.DOWN, Route.UP}


def test_large_automata_are_cut() -> None:
    nfa = build_nfa(parse_row_pattern("A{100}"))
    layout = lay_out(nfa)
    assert sum(node >= 0 for node in layout.positions) == MAX_STATES_DRAWN
    assert layout.omitted == 60
    assert "the first 40 of 100 states" in draw_automata([Picture(nfa, {})])


def test_many_choices_are_drawn_in_time() -> None:
    nfa = build_nfa(parse_row_pattern(" ".join(f"V{i}?" for i in range(60)) + " E"))
    assert draw_automata([Picture(nfa, {})]).count('class="edge"') > 700


def test_names_and_conditions_are_escaped() -> None:
    svg = draw_automata([Picture(build_nfa(parse_row_pattern('"<b>"')), {"<b>": "a < 'x' AND b > \"y\""})])
    assert "<b>" not in svg
    assert "&lt;b&gt;" in svg
