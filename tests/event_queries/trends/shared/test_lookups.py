"""Lookups in the packed arrays: ranges, the cells and lanes of a query, open windows, room for longer numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import events, program, windows
from tests.event_queries.trends.shared.letter_lanes import arrays_of, plan_of

from ostinato.event_queries.plan.event_program import Slot, SlotKind
from ostinato.event_queries.trends.shared import lookups
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.sections import packed, packed_plan
from ostinato.kernels.kernel_cache import AnyFunction, borrowing_kernel
from ostinato.kernels.numbers.number_table import Table, new_table, to_ints

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("both_ways")]

BothWays = Callable[[AnyFunction], AnyFunction]


@borrowing_kernel
def _write_ranges(bounds, lanes, extent, into):  # type: ignore[no-untyped-def]
    """A range can't be returned to Python: writes the entries of two ranges, and their number in front."""
    for index in range(3):
        for entry in lookups.within(bounds, 0, index):
            into[index, 0] += 1
            into[index, into[index, 0]] = entry
    for number in lookups.open_windows(lanes, extent):
        into[3, 0] += 1
        into[3, into[3, 0]] = number


@borrowing_kernel
def _fits(table, first, last, bits, spare_limbs):  # type: ignore[no-untyped-def]
    return lookups.rows_fit(table, range(first, last), bits, spare_limbs)


@borrowing_kernel
def _add_signed(table, into, source, sign):  # type: ignore[no-untyped-def]
    lookups.add_signed(table, into, source, sign)


def test_ranges_lie_between_neighbouring_bounds_and_may_be_empty(both_ways: BothWays) -> None:
    arrays = arrays_of([program("A B+"), program("C B+", extent=windows(6, 2))], "A")
    arrays.lane_section(s.OPEN_FIRST)[1], arrays.lane_section(s.OPEN_NEXT)[1] = -1, 2
    into = np.zeros((4, 5), np.int64)
    both_ways(_write_ranges)(packed({0: np.array([0, 2, 2, 5])}), arrays.lanes, 1, into)
    assert [row[1 : 1 + row[0]].tolist() for row in into] == [[0, 1], [], [2, 3, 4], [-1, 0, 1]]


def test_the_lanes_of_a_query_are_used_in_turn_also_before_time_zero() -> None:
    layout = plan_of([program("A B+"), program("C B+", extent=windows(10, 3)), program("A C")]).layout
    plan = packed_plan(layout, 0, 0)
    assert [lookups.lane_of_window(plan, 1, number) for number in (-5, -1, 0, 1, 3, 4)] == [4, 4, 1, 2, 4, 1]
    assert [lookups.lane_of_window(plan, query, 0) for query in (0, 2)] == [0, 5]


def test_the_shape_of_windows() -> None:
    some = [program("A B+", extent=extent) for extent in (None, windows(10, 3), windows(6, 2, by_place=True))]
    plan = packed_plan(plan_of(some).layout, 0, 0)
    assert [lookups.window_shape(plan, extent) for extent in range(3)] == [(0, 0, 1), (1, 10, 3), (2, 6, 2)]


def test_each_kind_of_cell_has_its_own_first_row_and_width() -> None:
    """Two cells of exact numbers (A, ahead), three of doubles and extremes (A, B, ahead).

    Query 0 has a count of B beside each count, query 1 a sum of doubles and four flags for it.
    """
    count = Slot(SlotKind.COUNT, frozenset({1}))
    total = Slot(SlotKind.SUM, frozenset({1}), 0)
    some = [program("A B+", slots=(count,)), program("C B+", slots=(total,)), program("A B+")]
    arrays = arrays_of(some, events("AB", values=[np.array([0.5, 1.5])])).lane_arrays()
    assert [tuple(lookups.cells_of_lane(arrays, query, query)) for query in range(3)] == [
        (0, 2, 0, 0, 0, 1),
        (4, 1, 0, 1, 3, 5),
        (6, 1, 3, 0, 18, 1),
    ]


def table_of(lengths: list[int], columns: int, exact: bool = True) -> Table:
    table = new_table(len(lengths), exact, columns)
    table.length[:] = lengths
    return table


@pytest.mark.parametrize(
    ("lengths", "bits", "spare", "fits"),
    [
        ([1, 1], 0, 3, True),
        ([1, 1], 0, 4, False),
        ([1, 1], 60, 2, True),
        ([1, 1], 61, 2, False),  # a 61st bit needs one more limb of 60 bits
        ([1, 2], 60, 1, True),
        ([1, 2], 60, 2, False),  # the longest number counts
        ([3, 1], 60, 1, False),
        ([], 120, 1, True),
        ([], 121, 1, False),
    ],
)
def test_numbers_fit_up_to_the_last_limb(
    lengths: list[int], bits: int, spare: int, fits: bool, both_ways: BothWays
) -> None:
    assert both_ways(_fits)(table_of(lengths, 4), 0, len(lengths), bits, spare) == fits


def test_approximate_numbers_always_fit(both_ways: BothWays) -> None:
    assert both_ways(_fits)(table_of([1], 2, exact=False), 0, 1, 10**6, 100)


def test_a_negative_sign_subtracts(both_ways: BothWays) -> None:
    call = both_ways(_add_signed)
    table = new_table(2, True, 4)
    table.limbs[:, 0] = 10, 3
    call(table, 0, 1, 1)
    assert to_ints(table, [0, 1]).tolist() == [13, 3]
    call(table, 0, 1, -1)
    call(table, 0, 1, -1)
    assert to_ints(table, [0, 1]).tolist() == [7, 3]
