"""A lane and all events of one time: they don't extend one another, and an event under NOT ends what was before it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.event_queries.trends.enumerated import program, windows
from tests.event_queries.trends.shared.letter_lanes import (
    OTHER,
    brought_up,
    cells,
    extreme_cells,
    real_cells,
    valued,
    walked,
)

from ostinato.event_queries.plan.event_program import Program, Slot, SlotKind
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.shared_engine import KernelArrays

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("both_ways")]

B = frozenset({1})
NOTHING, SUM, LEAST = Slot(SlotKind.SUM, B, 0), Slot(SlotKind.SUM, B, 1), Slot(SlotKind.MIN, B, 1)
"""NOTHING is the sum of the value that is 0."""


def at_once(text: str) -> list[int]:
    """The times of the letters: those in brackets have one time. The brackets themselves have none."""
    times, now, inside = [], -1, False
    for letter in text:
        if letter in "[]":
            inside = letter == "["
            now += inside
        else:
            now += not inside
            times.append(now)
    return times


def behind(query: Program, text: str, values: Any = None, exact: bool = True) -> KernelArrays:
    """The arrays of the query behind another one: its lane is lane 1, and it is up to date."""
    letters = text.replace("[", "").replace("]", "")
    return brought_up([OTHER, query], valued(letters, values, at_once(text)), exact)


def after(pattern: str, text: str, exact: bool = True) -> list[int]:
    """The cells of the pattern's only lane."""
    return cells(behind(program(pattern), text, exact=exact), 1)


# --- several events ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AB", [1, 1]),
        ("[AB]", [1, 0]),
        ("[BA]", [1, 0]),
        ("A[AB]", [2, 1]),
        ("A[BB]", [1, 2]),
        ("+", [1, 0]),  # an A and a B in one
        ("++", [2, 1]),
        ("[++]", [2, 0]),
        ("[++]+", [3, 2]),
    ],
)
def test_events_of_one_time_do_not_extend_one_another(text: str, expected: list[int], exact: bool) -> None:
    assert after("A B", text, exact) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A[AB]", [2, 3]),  # ahead is 1, doubled by B, plus the new A
        ("A[ABB]", [2, 4]),
        ("A[BAB]B", [2, 8]),
        ("[AB]B", [1, 2]),
        ("AB[AB]B", [2, 10]),
    ],
)
def test_a_loop_takes_its_events_before_other_labels_of_the_time(text: str, expected: list[int]) -> None:
    """The cells are A and ahead, which is A + B."""
    assert after("A B+", text) == expected


def test_sums_and_extremes_of_a_loop_during_such_a_time() -> None:
    """A at 0; then A, B = 20 and B = 10 together. The trends are A1 B1 and A1 B2."""
    query = program("A B+", slots=(NOTHING, SUM, LEAST))
    arrays = behind(query, "A[ABB]", [5, 6, 20, 10])
    assert cells(arrays, 1) == [2, 0, 0, 4, 0, 30]
    assert extreme_cells(arrays, 1)[3::4] == [None, 10, 10]  # of A, B and ahead
    arrays = behind(query, "A[ABB]", [5.0, 6.0, 20.0, 10.0])
    assert real_cells(arrays, 1) == [0.0, 0.0, 0.0, 30.0, 0.0, 30.0]


@pytest.mark.parametrize("values", [[2**63 - 1] * 2, [-(2**63)] * 2])
def test_large_values_of_such_a_time(values: list[int]) -> None:
    arrays = behind(program("A B+", slots=(SUM,)), "A[ABB]", [0, 0, *values])
    assert cells(arrays, 1) == [2, 0, 4, sum(values)]


def test_a_label_that_reads_the_cell_it_writes() -> None:
    """Without a log, B adds A + B to B itself. In (SEQ(A, B))+ each A also follows a B."""
    assert cells(walked([program("A B+")], "ABBB", share=False)) == [1, 7]
    assert cells(behind(program("A B", again=True), "ABAB"), 1) == [1 + 2, 1 + 3]


def test_moves_of_one_time_add_up_with_their_sums_and_extremes() -> None:
    nothing, total, least = (Slot(slot.kind, frozenset({0, 1}), slot.value) for slot in (NOTHING, SUM, LEAST))
    arrays = behind(program("A B", slots=(nothing, total, least)), "[AA][BB]", [1, 2, 10, 20])
    assert cells(arrays, 1) == [2, 0, 3, 4, 0, 2 * 3 + 2 * 10 + 2 * 20]
    assert extreme_cells(arrays, 1)[3::4] == [1, 1]
    arrays = behind(program("A B", slots=(nothing, total)), "[AA][BB]", [1.0, 2.0, 10.0, 20.0])
    assert real_cells(arrays, 1) == [0.0, 3.0, 0.0, 66.0]


def test_no_numbers_stay_aside_after_a_time() -> None:
    """Otherwise the lane would add them again at the second time."""
    arrays = behind(program("A B"), "[AB][AB]")
    assert not arrays.lane_section(s.ASIDE_USED).any()
    assert cells(arrays, 1) == [2, 1]


def test_a_lane_leaves_out_events_outside_its_window() -> None:
    """Of three A at one time, the window [1, 2) of places holds the second only."""
    arrays = walked([OTHER, program("A+", extent=windows(1, 1, by_place=True))], valued("AAA", times=[0, 0, 0]))
    assert cells(arrays, 1) == [2]


# --- NOT --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AB", [1, 1, 1]),
        ("ANB", [1, 0, 0]),
        ("ANAB", [2, 1, 1]),
        ("NAB", [1, 1, 1]),
        ("A[NB]", [1, 1, 0]),  # N isn't before B
        ("[AN]B", [1, 1, 1]),  # N isn't after A
        ("A[NA]B", [2, 1, 1]),
    ],
)
def test_not_ends_the_trends_strictly_before_it(text: str, expected: list[int], exact: bool) -> None:
    """The cells are A, B, and the A that no N has ended."""
    assert after("A !N B", text, exact) == expected


@pytest.mark.parametrize(("text", "expected"), [("A", [1, 1]), ("NA", [0, 0]), ("AN", [1, 0]), ("[NA]A", [1, 0])])
def test_not_before_the_first_event(text: str, expected: list[int]) -> None:
    """The cells are A, and the start that no N has ended."""
    assert after("!N A", text) == expected


@pytest.mark.parametrize(
    ("text", "b", "guard"),
    [("ABB", 3, 1), ("ANB", 0, 0), ("ABNB", 2, 0), ("A[BN]", 1, 0), ("A[BN]B", 2, 0), ("ANAB", 1, 1)],
)
def test_not_before_a_loop(text: str, b: int, guard: int) -> None:
    """A B may follow a B across an N, but not an A. Exact counts store ahead (guard + B) instead of B."""
    a = text.count("A")
    assert after("A !N B+", text) == [a, guard, guard + b]
    assert after("A !N B+", text, exact=False) == [a, b, guard, guard + b]


@pytest.mark.parametrize("exact", [True, False])
def test_not_before_a_loop_ends_sums_and_extremes(exact: bool) -> None:
    """The trends are A1 B1, A1 B1 B2 and A2 B2, where B1 = 10 and B2 = 20. Full cells: A, B, guard, ahead."""
    query = program("A !N B+", slots=(NOTHING, SUM, LEAST))
    arrays = behind(query, "ABNAB", [0.0, 10.0, 0.0, 0.0, 20.0], exact)
    assert real_cells(arrays, 1) == [0.0, 0.0, 0.0, 60.0, 0.0, 0.0, 0.0, 60.0]
    arrays = behind(query, "ABNAB", [0, 10, 0, 0, 20], exact)
    assert extreme_cells(arrays, 1)[3::4] == [None, 10, None, 10]
    assert cells(arrays, 1)[-3:] == [1 + 3, 0, 60]


def test_two_absences_of_a_query_end_their_own_guards() -> None:
    """The cells are A, B, C, the A that no N has ended, and the B that no X has ended."""
    for text, expected in (("ABC", [1, 1, 1, 1, 1]), ("ANBC", [1, 0, 0, 0, 0]), ("ABXC", [1, 1, 0, 1, 0])):
        assert after("A !N B !X C", text) == expected


def test_not_ends_an_extreme_of_the_guard() -> None:
    """Only the second A counts behind the N; its value is larger."""
    least = Slot(SlotKind.MIN, frozenset({0}), 1)
    arrays = behind(program("A !N B", slots=(least,)), "ANAB", [1, 0, 5, 0])
    assert extreme_cells(arrays, 1)[1::2] == [1, 5, 5]  # of A, B and the guard
