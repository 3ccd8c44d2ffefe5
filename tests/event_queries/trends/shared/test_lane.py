"""One lane: its room for longer numbers, the moves that are possible, and a single event of a label without a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import program, windows
from tests.event_queries.trends.shared.letter_lanes import (
    OTHER,
    bring_up,
    cells,
    extreme_cells,
    real_cells,
    valued,
    walked,
)

from ostinato.event_queries.plan.event_program import Program, Slot, SlotKind
from ostinato.event_queries.trends.shared import lane
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.shared_engine import KernelArrays
from ostinato.kernels.numbers.number_table import grown

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("both_ways")]

LOWEST = -(2**63)


def slots(kind: SlotKind, *labels: int) -> tuple[Slot, Slot]:
    """The same aggregate of the value that is 0, then of the one that counts."""
    return Slot(kind, frozenset(labels), 0), Slot(kind, frozenset(labels), 1)


def after(query: Program, text: str, values: Any = None, exact: bool = True, valid: Any = None) -> KernelArrays:
    """The arrays of the query behind another one: its lane is lane 1."""
    return walked([OTHER, query], valued(text, values, valid=valid), exact)


# --- room -------------------------------------------------------------------------------------------------------------


def test_a_lane_waits_until_its_numbers_are_sure_to_fit() -> None:
    """Of 8 limbs, one is in use and five are spare: 120 events fit, which double `ahead` 120 times."""
    arrays = after(program("A B+"), "A" + "B" * 120)
    assert (bring_up(arrays), cells(arrays, 1)) == (s.DONE, [1, 2**120])
    arrays = after(program("A B+"), "A" + "B" * 121)
    assert (bring_up(arrays), cells(arrays, 1)) == (s.NUMBERS_FULL, [1, 1])
    assert (arrays.lane_section(s.LANE_POSITION).tolist(), arrays.counters[s.SNAPSHOTS]) == ([0, 0], 0)
    arrays.table = grown(arrays.table)
    assert (bring_up(arrays), cells(arrays, 1)) == (s.DONE, [1, 2**121])
    assert (arrays.lane_section(s.LANE_POSITION).tolist(), arrays.counters[s.SNAPSHOTS]) == ([0, 121], 1)


def test_only_entries_that_a_lane_has_not_taken_need_room() -> None:
    """The log has 180 entries, of which the second window takes 60."""
    query = program("A B+", extent=windows(130, 130))
    arrays = after(query, "A" + "B" * 120 + "X" * 9 + "A" + "B" * 60)
    assert (bring_up(arrays), cells(arrays, 1)) == (s.DONE, [1, 2**60])


def test_the_growth_of_all_loops_of_a_query_adds_up() -> None:
    """60 events of each of three loops need three more limbs; of two loops, two."""
    two = after(program("A+ C B+"), "A" * 60 + "C" + "B" * 60)
    assert (bring_up(two), cells(two, 1)) == (s.DONE, [2**60 - 1, 2**60, (2**60 - 1) * 2**60])  # C, A, B
    three = after(program("A+ C B+ C T+"), "B" * 60 + "T" * 60 + "A" * 60)
    assert bring_up(three) == s.NUMBERS_FULL


def test_approximate_numbers_need_no_more_room() -> None:
    arrays = after(program("A B+"), "A" + "B" * 900, exact=False)
    assert (bring_up(arrays), cells(arrays, 1)[2]) == (s.DONE, 2.0**900)


# --- moves ------------------------------------------------------------------------------------------------------------


def test_a_move_is_possible_from_the_start_or_behind_a_trend() -> None:
    query = program("A B C")
    first = 1  # the moves of the other query come before
    for text, expected in (("X", 1), ("BC", 1), ("A", 2), ("AB", 3)):
        arrays = after(query, text).lane_arrays()
        possible = [bool(lane.is_possible(arrays, 1, 1, first + move)) for move in range(3)]
        assert possible == [move < expected for move in range(3)], text


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("A", [1, 0, 0]), ("AAB", [2, 2, 0]), ("AABBC", [2, 4, 4]), ("CBA", [1, 0, 0]), ("ABCA", [2, 1, 1])],
)
def test_an_event_adds_the_count_of_the_state_before_it(text: str, expected: list[int], exact: bool) -> None:
    assert cells(after(program("A B C"), text, exact=exact), 1) == expected


def test_a_state_of_a_loop_is_ahead_less_its_other_sources() -> None:
    """Cells: A, C, ahead. The two B make three trends behind one A."""
    assert cells(after(program("A B+ C"), "ABBC"), 1) == [1, 3, 4]
    assert cells(after(program("B+ C"), "BBC"), 1) == [3, 4]


def test_a_sum_adds_the_event_to_every_trend_that_it_extends() -> None:
    query = program("A B C", slots=slots(SlotKind.SUM, 0, 2))
    assert cells(after(query, "AABC", [10, 20, 99, 1]), 1) == [2, 0, 30, 2, 0, 30, 2, 0, 32]
    by_itself = program("A B C", slots=slots(SlotKind.SUM, 0, 2)[1:])
    assert cells(walked([by_itself], valued("AABC", [10, 20, 99, 1]))) == [2, 30, 2, 30, 2, 32]


@pytest.mark.parametrize("value", [7, 2**62, 2**63 - 1, LOWEST])
@pytest.mark.parametrize(("pattern", "text"), [("A B+ C", "ABBC"), ("B+ C", "XBBC")])
def test_a_difference_of_cells_scales_any_value(pattern: str, text: str, value: int) -> None:
    """C counts `ahead` less A, or less the 1 of the start: 4 - 1 trends. -(-2**63) would overflow."""
    query = program(pattern, slots=slots(SlotKind.SUM, len(pattern.split()) - 1))
    arrays = after(query, text, [0, 0, 0, value])
    assert cells(arrays, 1)[-6:] == [3, 0, 3 * value, 4, 0, 0]  # C, ahead


@pytest.mark.parametrize("exact", [True, False])
def test_a_sum_of_doubles_adds_the_event_to_every_trend_that_it_extends(exact: bool) -> None:
    query = program("A B", slots=slots(SlotKind.SUM, 0, 1))
    arrays = after(query, "AAB", [0.5, 0.125, 0.25], exact)
    assert real_cells(arrays, 1) == [0.0, 0.625, 0.0, 0.625 + 2 * 0.25]
    only_a = program("A B", slots=slots(SlotKind.SUM, 0))
    assert real_cells(after(only_a, "AAB", [0.5, 0.125, 0.25], exact), 1) == [0.0, 0.625, 0.0, 0.625]


def test_a_minimum_comes_from_the_trends_before_or_from_the_event() -> None:
    """Each full cell has its flag, then its minima; C isn't covered."""
    query = program("A B C", slots=slots(SlotKind.MIN, 0, 1))
    assert extreme_cells(after(query, "ABC", [5, 7, 1]), 1) == [0, 0, 5] * 3
    assert extreme_cells(after(query, "AABC", [5, 4, 3, 1]), 1)[2::3] == [4, 3, 3]
    assert extreme_cells(after(query, "ABB", [5, 2, 4]), 1)[2::3] == [5, 2, None]


def test_a_minimum_of_nulls_is_none() -> None:
    query = program("A B C", slots=slots(SlotKind.MIN, 0, 1))
    nothing = after(query, "ABC", [5, 7, 1], valid=np.array([False, False, True]))
    assert extreme_cells(nothing, 1) == [0, 0, None] * 3
    only_b = after(query, "ABC", [5, 7, 1], valid=np.array([False, True, True]))
    assert extreme_cells(only_b, 1)[2::3] == [None, 7, 7]
