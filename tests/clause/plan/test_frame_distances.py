"""States of a window's automaton know their distance from the first row of the frame, as far as conditions need it."""

from __future__ import annotations

import pytest

from ostinato.clause.automaton.nfa import build_nfa
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan import frame_distances
from ostinato.clause.plan.frame_distances import FrameDistance, FramedNfa, split_by_distance
from ostinato.clause.plan.window_plan import plan_window
from ostinato.clause.query.window_pattern import WindowPattern


def split(text: str, frame_end: int | None = None) -> FramedNfa:
    bound = bind(parse_clause(f"MEASURES x AS m {text}"), ["x"])
    return split_by_distance(build_nfa(bound.clause.pattern), bound.conditions.values(), frame_end)


@pytest.mark.parametrize(
    ("distance", "inside"),
    [
        (FrameDistance(1, True, None), {-2: False, -1: True, 0: True, 5: True}),
        (FrameDistance(1, False, None), {-2: None, -1: True, 5: True}),
        (FrameDistance(1, True, 3), {1: True, 2: True, 3: False}),
        (FrameDistance(1, False, 3), {1: None, 2: None, 3: False}),
    ],
)
def test_inside(distance: FrameDistance, inside: dict[int, bool | None]) -> None:
    assert {shift: distance.inside(shift) for shift in inside} == inside


def test_a_pattern_whose_first_variable_comes_once_isnt_split() -> None:
    framed = split("PATTERN (A B* C) DEFINE B AS x > PREV(x), C AS x < PREV(x)")
    assert framed.nfa.dump() == "start -> 0\n0 A -> 1, 2\n1 B -> 1, 2\n2 C -> accept"
    assert [distance.rows for distance in framed.distances] == [0, 1, 1]


def test_a_loop_is_split_at_its_start() -> None:
    framed = split("PATTERN (A+) DEFINE A AS x > PREV(x, 2)")
    assert framed.nfa.dump() == "start -> 0\n0 A -> 1, accept\n1 A -> 2, accept\n2 A -> 2, accept"
    assert [(distance.rows, distance.is_exact) for distance in framed.distances] == [(0, True), (1, True), (2, False)]


def test_conditions_without_prev_and_next_split_nothing() -> None:
    assert len(split("PATTERN (A+ B) DEFINE A AS x > 1, B AS NEXT(x) > 1").nfa.states) == 2


def test_next_needs_all_distances_of_a_short_frame_and_none_of_a_long_one() -> None:
    text = "PATTERN (A+) DEFINE A AS x > NEXT(x)"
    assert [distance.is_exact for distance in split(text, 2).distances] == [True, True, True, False]
    assert [distance.is_exact for distance in split(text, 100_000).distances] == [False]


def test_too_many_states_stay_unsplit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_distances, "MOST_SPLIT_STATES", 2)
    assert [distance.is_exact for distance in split("PATTERN (A+) DEFINE A AS x > PREV(x, 2)").distances] == [False]


def test_only_what_reads_behind_a_long_frame_runs_with_the_search() -> None:
    text = "ORDER BY x MEASURES x AS m PATTERN (A B+) DEFINE B AS x > PREV(x) AND NEXT(x) > 0"
    unbounded, long = (plan_window(WindowPattern(parse_clause(text), end), ["x"]) for end in (None, 100_000))
    assert (len(unbounded.neighbour_conditions), len(unbounded.run_conditions)) == (1, 0)
    assert (len(long.neighbour_conditions), len(long.run_conditions)) == (1, 1)
