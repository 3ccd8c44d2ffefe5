"""One lane: its room for longer numbers, the moves that are possible, and a single event of a label without a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import events, program
from tests.event_queries.trends.shared.letter_lanes import (
    bring_up,
    cells,
    extreme_cells,
    real_cells,
    walked,
)

from ostinato.event_queries.plan.event_program import Events, Slot, SlotKind
from ostinato.event_queries.trends.shared import lane
from ostinato.event_queries.trends.shared import sections as s
from ostinato.kernels.numbers.number_table import grown

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("both_ways")]

LOWEST = -(2**63)


def slot(kind: SlotKind, *labels: int) -> Slot:
    return Slot(kind, frozenset(labels), 0)


def valued(text: str, values: list[Any], valid: Any = None) -> Events:
    return events(text, None, [np.array(values)], [valid] if valid is not None else ())


# --- room -------------------------------------------------------------------------------------------------------------


def test_a_lane_waits_until_its_numbers_are_sure_to_fit() -> None:
    """Of 8 limbs, one is in use and five are spare: 120 events fit, which double `ahead` 120 times."""
    arrays = walked([program("A B+")], "A" + "B" * 120)
    assert (bring_up(arrays), cells(arrays)) == (s.DONE, [1, 2**120])
    arrays = walked([program("A B+")], "A" + "B" * 121)
    assert (bring_up(arrays), cells(arrays)) == (s.NUMBERS_FULL, [1, 1])
    assert arrays.lane_section(s.LANE_POSITION).tolist() == [0]
    arrays.table = grown(arrays.table)
    assert (bring_up(arrays), cells(arrays)) == (s.DONE, [1, 2**121])


def test_the_growth_of_all_loops_of_a_query_adds_up() -> None:
    """60 events of each of three loops need three more limbs; of two loops, two."""
    two = walked([program("A+ C B+")], "A" * 60 + "C" + "B" * 60)
    assert bring_up(two) == s.DONE
    three = walked([program("A+ C B+ C T+")], "B" * 60 + "T" * 60 + "A" * 60)
    assert bring_up(three) == s.NUMBERS_FULL


def test_approximate_numbers_need_no_more_room() -> None:
    arrays = walked([program("A B+")], "A" + "B" * 900, exact=False)
    assert (bring_up(arrays), cells(arrays)[2]) == (s.DONE, 2.0**900)


# --- moves ------------------------------------------------------------------------------------------------------------


def test_a_move_is_possible_from_the_start_or_behind_a_trend() -> None:
    query = program("A B C")
    possible = [
        [bool(lane.is_possible(walked([query], text).lane_arrays(), 0, 0, move)) for move in range(3)]
        for text in ("X", "BC", "A", "AB")
    ]
    assert possible[1:] == [[True, False, False], [True, True, False], [True, True, True]]
    assert possible[0] == [True, False, False]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("A", [1, 0, 0]), ("AAB", [2, 2, 0]), ("AABBC", [2, 4, 4]), ("CBA", [1, 0, 0]), ("ABCA", [2, 1, 1])],
)
def test_an_event_adds_the_count_of_the_state_before_it(text: str, expected: list[int], exact: bool) -> None:
    assert cells(walked([program("A B C")], text, exact)) == expected


def test_a_state_of_a_loop_is_ahead_less_its_other_sources() -> None:
    """Cells: A, C, ahead. The two B make three trends behind one A."""
    assert cells(walked([program("A B+ C")], "ABBC")) == [1, 3, 4]
    assert cells(walked([program("B+ C")], "BBC")) == [3, 4]


def test_a_sum_adds_the_event_to_every_trend_that_it_extends() -> None:
    query = program("A B C", slots=(slot(SlotKind.SUM, 0, 2),))
    arrays = walked([query], valued("AABC", [10, 20, 99, 1]))
    assert cells(arrays) == [2, 30, 2, 30, 2, 32]


@pytest.mark.parametrize("value", [7, 2**62, 2**63 - 1, LOWEST])
@pytest.mark.parametrize(("pattern", "text"), [("A B+ C", "ABBC"), ("B+ C", "XBBC")])
def test_a_difference_of_cells_scales_any_value(pattern: str, text: str, value: int) -> None:
    """C counts `ahead` less A, or less the 1 of the start: 4 - 1 trends. -(-2**63) would overflow."""
    query = program(pattern, slots=(slot(SlotKind.SUM, len(pattern.split()) - 1),))
    arrays = walked([query], valued(text, [0, 0, 0, value]))
    c = len(cells(arrays)) - 4
    assert cells(arrays)[c : c + 2] == [3, 3 * value]


@pytest.mark.parametrize("exact", [True, False])
def test_a_sum_of_doubles_adds_the_event_to_every_trend_that_it_extends(exact: bool) -> None:
    query = program("A B", slots=(slot(SlotKind.SUM, 0, 1),))
    assert real_cells(walked([query], valued("AAB", [0.5, 0.125, 0.25]), exact)) == [0.625, 0.625 + 2 * 0.25]


def test_a_minimum_comes_from_the_trends_before_or_from_the_event() -> None:
    """Each full cell has its flag, then its minimum; C isn't covered."""
    query = program("A B C", slots=(slot(SlotKind.MIN, 0, 1),))
    assert extreme_cells(walked([query], valued("ABC", [5, 7, 1]))) == [0, 5, 0, 5, 0, 5]
    assert extreme_cells(walked([query], valued("AABC", [5, 4, 3, 1]))) == [0, 4, 0, 3, 0, 3]
    assert extreme_cells(walked([query], valued("ABB", [5, 2, 4]))) == [0, 5, 0, 2, None, None]


def test_a_minimum_of_nulls_is_none() -> None:
    query = program("A B C", slots=(slot(SlotKind.MIN, 0, 1),))
    stream = valued("ABC", [5, 7, 1], np.array([False, False, True]))
    assert extreme_cells(walked([query], stream)) == [0, None, 0, None, 0, None]
    stream = valued("ABC", [5, 7, 1], np.array([False, True, True]))
    assert extreme_cells(walked([query], stream)) == [0, None, 0, 7, 0, 7]
