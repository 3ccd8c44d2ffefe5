"""The log of a loop's events, entry by entry, and what a lane makes of the entries that it hasn't taken yet."""

from __future__ import annotations

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import program, windows
from tests.event_queries.trends.shared.letter_lanes import (
    OTHER,
    arrays_of,
    bring_up,
    brought_up,
    cells,
    extreme_cells,
    real_cells,
    valued,
    walk,
    walked,
)

from ostinato.event_queries.plan.event_program import Program, Slot, SlotKind
from ostinato.event_queries.trends.shared import logs, lookups
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.shared_engine import KernelArrays
from ostinato.kernels.numbers.number_table import new_table, to_ints

pytestmark = pytest.mark.kernel

B = frozenset({1})
NOTHING, SUM, LEAST = Slot(SlotKind.SUM, B, 0), Slot(SlotKind.SUM, B, 1), Slot(SlotKind.MIN, B, 1)
"""NOTHING is the sum of the value that is 0."""
LARGEST = 2**63 - 1


def ab(*slots: Slot) -> list[Program]:
    """SEQ(A, B+) behind another query. Its cells are A and `ahead`, which is A + B: a B extends the trends of both."""
    return [OTHER, program("A B+", slots=slots)]


def of_log(arrays: KernelArrays, section: int) -> int:
    """An entry by log: that of B."""
    return int(arrays.log_section(section)[1])


def of_entries(arrays: KernelArrays, section: int, count: int) -> list[int]:
    """The first entries of the log of B."""
    first = arrays.log_section(s.ENTRY_ENTRY_FROM)[1]
    return [int(number) for number in arrays.log_section(section)[first : first + count]]


def of_stack(arrays: KernelArrays, section: int) -> list[int]:
    """All of the stack of extremes in the last column of the log of B."""
    size = arrays.log_section(s.ENTRY_STACK_SIZE)[-1]
    first = arrays.log_section(s.ENTRY_STACK_AT)[-2]
    return [int(number) for number in arrays.log_section(section)[first : first + size]]


# --- entries ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("both_ways")
def test_events_of_one_time_are_one_entry() -> None:
    arrays = walked(ab(), valued("BBBBX", times=[0, 1, 1, 1, 2]))
    assert of_log(arrays, s.ENTRY_ENTRIES) == 2
    assert of_entries(arrays, s.ENTRY_EVENTS, 2) == [1, 3]
    assert of_entries(arrays, s.ENTRY_TIES, 3) == [0, 0, 1]
    assert of_entries(arrays, s.ENTRY_TIE_ENTRY, 1) == [1]


@pytest.mark.usefixtures("both_ways")
def test_growth_is_at_least_the_bits_of_the_factors() -> None:
    """k events at one time multiply by 1 + k: one bit for one event, two for two or three, three for four."""
    arrays = walked(ab(), valued("BBBBBBBB", times=[0, 1, 1, 2, 3, 3, 3, 3]))
    assert of_entries(arrays, s.ENTRY_GROWTH, 5) == [0, 1, 3, 4, 7]


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    "values", [[5, -1, 4], [LARGEST] * 4, [-LARGEST - 1] * 4, [2**32, -(2**32), 1]], ids=["small", "large", "low", "32"]
)
def test_running_sums_have_two_halves_that_never_overflow(values: list[int]) -> None:
    arrays = walked(ab(NOTHING, SUM), valued("B" * len(values), values))
    first = arrays.log_section(s.ENTRY_INT_AT)[2]
    high, low = (arrays.log_section(half)[first:].tolist() for half in (s.ENTRY_INT_HIGH, s.ENTRY_INT_LOW))
    sums = [above * 2**logs.WORD + below for above, below in zip(high, low, strict=True)]
    assert sums == [sum(values[:count]) for count in range(len(values) + 1)]


@pytest.mark.usefixtures("both_ways")
def test_a_sum_of_doubles_keeps_the_rounding_error_beside_it() -> None:
    """1e16 + 1 is 1e16 in doubles; the entry's own 1 must still come out."""
    arrays = walked(ab(NOTHING, SUM), valued("BBB", [1e16, 1.0, -1e16]))
    total, error = arrays.log_sums[:, arrays.log_section(s.ENTRY_REAL_AT)[2] :]
    assert [total[i + 1] - total[i] + error[i + 1] - error[i] for i in range(3)] == [1e16, 1.0, -1e16]


@pytest.mark.usefixtures("both_ways")
def test_the_stack_holds_the_minimum_of_all_later_entries() -> None:
    """Of the keys 5 7 3 3 9, a lane reads 3 from any of the first four entries on, and 9 from the last."""
    arrays = walked(ab(LEAST), valued("BBBBB", [5, 7, 3, 3, 9]))
    assert of_stack(arrays, s.ENTRY_STACK_ENTRY) == [3, 4]
    assert of_stack(arrays, s.ENTRY_STACK_KEY) == [3, 9]


@pytest.mark.usefixtures("both_ways")
def test_null_is_no_extreme() -> None:
    arrays = walked(ab(LEAST), valued("BBB", [5, 1, 7], valid=np.array([True, False, True])))
    assert of_stack(arrays, s.ENTRY_STACK_KEY) == [5, 7]


@pytest.mark.usefixtures("both_ways")
def test_the_end_of_a_sequence_empties_the_log() -> None:
    """The kernel finds the entries of another sequence there. Only its first entry begins at 0."""
    arrays = arrays_of(ab(SUM, LEAST), valued("ABB", [0, 7, 5]))
    for number in (s.ENTRY_GROWTH, s.ENTRY_TIES, s.ENTRY_INT_HIGH, s.ENTRY_INT_LOW):
        arrays.log_section(number)[:] = 9
    for number in (s.ENTRY_ENTRIES, s.ENTRY_STACK_SIZE):
        arrays.log_section(number)[:] = 1
    arrays.log_section(s.ENTRY_FRESH)[:] = 0
    arrays.progress[[s.ROW, s.LAST_SEQUENCE]] = 3, 1  # all its rows are done
    assert walk(arrays, s.FAR) == s.DONE
    for number in (s.ENTRY_ENTRIES, s.ENTRY_STACK_SIZE):
        assert not arrays.log_section(number).any()
    assert arrays.log_section(s.ENTRY_FRESH).all()
    entry = arrays.log_section(s.ENTRY_ENTRY_FROM)[:2]
    column = arrays.log_section(s.ENTRY_INT_AT)[:2]
    for number, first in (
        (s.ENTRY_GROWTH, entry),
        (s.ENTRY_TIES, entry),
        (s.ENTRY_INT_HIGH, column),
        (s.ENTRY_INT_LOW, column),
    ):
        assert arrays.log_section(number)[first].tolist() == [0, 0]


@pytest.mark.usefixtures("both_ways")
def test_the_end_of_a_sequence_empties_sums_of_doubles() -> None:
    arrays = arrays_of(ab(SUM), valued("B", [7.5]))
    arrays.log_sums[:] = 9.0
    arrays.progress[[s.ROW, s.LAST_SEQUENCE]] = 1, 1
    assert walk(arrays, s.FAR) == s.DONE
    assert not arrays.log_sums[:, arrays.log_section(s.ENTRY_REAL_AT)[:2]].any()


# --- statistics -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("both_ways")
def test_a_burst_ends_when_a_lane_reads_the_log() -> None:
    arrays = walked([program("A B+"), program("C B+")], "ACBBAB")
    assert arrays.counters[s.BURSTS] == arrays.counters[s.SHARED] == 2
    assert arrays.counters[s.SAVED] == 6  # three B, and two lanes open
    assert walked(ab(), valued("ABBAB")).counters[s.SHARED] == 0  # one query by itself shares with nobody


# --- bringing a lane up to date ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("text", "times", "expected"),
    [
        ("A", None, [1, 1]),
        ("ABB", None, [1, 4]),  # B may follow A, each B, or both
        ("AABB", None, [2, 8]),
        ("ABABB", None, [2, 12]),  # 2, with the second A 3, then doubled twice
        ("ABBAB", [0, 1, 1, 2, 3], [2, 8]),
        ("ABB", [0, 1, 1], [1, 3]),  # the two don't follow one another
        ("ABBBB", [0, 1, 2, 2, 3], [1, 12]),
        ("AB", [0, 0], [1, 1]),
        ("BBA", None, [1, 1]),
        ("A" + "B" * 200, None, [1, 2**200]),
        ("A" + "BBB" * 40, [0, *(time for time in range(1, 41) for _ in range(3))], [1, 4**40]),
    ],
    ids=lambda value: value[:6] if isinstance(value, str) else "",
)
def test_an_event_doubles_ahead_and_ties_multiply_it(text: str, times: list[int] | None, expected: list[int]) -> None:
    assert cells(brought_up(ab(), valued(text, times=times)), 1) == expected


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("values", "times", "count", "total"),
    [
        ([10, 20], None, 4, 60),  # 10, 20, 10 + 20
        ([10, 20], [0, 1, 1], 3, 30),
        ([1, 2, 4, 8], [0, 1, 2, 2, 3], 12, 78),  # 1, then 3 * 1 + 6 * 2 = 15, then 2 * 15 + 8 * 6
        ([1, 2, 4, 8], [0, 1, 1, 2, 3], 12, 84),  # 3, then 2 * 3 + 4 * 3 = 18, then 2 * 18 + 8 * 6 = 84
        ([LARGEST, LARGEST], None, 4, 4 * LARGEST),
        ([-LARGEST - 1, 1], None, 4, 2 * (-LARGEST - 1) + 2),
    ],
)
def test_sums_are_those_of_every_trend(values: list[int], times: list[int] | None, count: int, total: int) -> None:
    arrays = brought_up(ab(NOTHING, SUM), valued("A" + "B" * len(values), [0, *values], times))
    assert cells(arrays, 1) == [1, 0, 0, count, 0, total]


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("exact", [True, False])
def test_sums_of_doubles_are_those_of_every_trend(exact: bool) -> None:
    """Cells of every state: A, B, ahead, each with two sums. The trends of B are b1, b2 and b1 b2."""
    arrays = brought_up(ab(NOTHING, SUM), valued("ABB", [9.0, 0.5, 0.25]), exact)
    assert real_cells(arrays, 1) == [0.0, 0.0, 0.0, 1.5, 0.0, 1.5]


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("exact", [True, False])
def test_sums_of_doubles_over_ties(exact: bool) -> None:
    """A, B = 1, B = 2 and B = 4 together, B = 8: as with integers."""
    arrays = brought_up(ab(NOTHING, SUM), valued("ABBBB", [0.0, 1.0, 2.0, 4.0, 8.0], [0, 1, 2, 2, 3]), exact)
    assert real_cells(arrays, 1) == [0.0, 0.0, 0.0, 78.0, 0.0, 78.0]


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(("label", "total", "least"), [(1, 2 * 3 + 2 * 2, 2), (0, 4 * 7, 7)], ids=["B", "A"])
def test_an_aggregate_covers_the_loop_or_another_label(label: int, total: int, least: int) -> None:
    """The four trends of `ahead` are A, A B1, A B2 and A B1 B2, where A = 7, B1 = 3 and B2 = 2."""
    slots = [Slot(kind, frozenset({label}), 1) for kind in (SlotKind.MIN, SlotKind.SUM)]
    arrays = brought_up(ab(*slots), valued("ABB", [7, 3, 2]))
    assert cells(arrays, 1)[-1] == total
    assert extreme_cells(arrays, 1)[-2] == least
    arrays = brought_up(ab(*slots), valued("ABB", [7.0, 3.0, 2.0]))
    assert real_cells(arrays, 1)[-1] == total


@pytest.mark.usefixtures("both_ways")
def test_approximate_counts_also_store_the_state_of_the_loop() -> None:
    assert cells(brought_up(ab(), valued("ABB"), exact=False), 1) == [1.0, 3.0, 4.0]


@pytest.mark.usefixtures("both_ways")
def test_a_lane_takes_only_entries_after_its_window_opened() -> None:
    """At time 3 the windows [0, 4) and [2, 6) are open. Both read the log, which began in the first."""
    query = program("A B+", slots=(SUM, LEAST), extent=windows(4, 2))
    arrays = brought_up([OTHER, query], valued("ABAB", [0, 1, 0, 10]))
    # Window 0 is in lane 1: A1 B1, A1 B2, A1 B1 B2 and A2 B2. Window 1 is in lane 2: A2 B2.
    assert cells(arrays, 1) == [2, 0, 6, 1 + 10 + 11 + 10]
    assert cells(arrays, 2) == [1, 0, 2, 10]
    assert extreme_cells(arrays, 1)[2::3] == [None, 1, 1]
    assert extreme_cells(arrays, 2)[2::3] == [None, 10, 10]


@pytest.mark.usefixtures("both_ways")
def test_a_lane_without_a_trend_skips_its_entries() -> None:
    arrays = walked(ab(), valued("BBB"))
    bring_up(arrays)
    assert arrays.lane_section(s.LANE_POSITION).tolist() == [0, 3]
    assert arrays.counters[s.SNAPSHOTS] == 0
    assert cells(arrays, 1) == [0, 0]


@pytest.mark.usefixtures("both_ways")
def test_a_lane_takes_an_entry_once() -> None:
    arrays = arrays_of(ab(), valued("ABBB"))
    walk(arrays)
    assert arrays.lane_section(s.LANE_POSITION).tolist() == [0, 0]
    for _ in range(2):
        bring_up(arrays)
        assert cells(arrays, 1) == [1, 8]
        assert arrays.lane_section(s.LANE_POSITION).tolist() == [0, 3]
        assert arrays.counters[s.SNAPSHOTS] == 1


@pytest.mark.usefixtures("in_python")
def test_catch_up_says_whether_anything_changed() -> None:
    arrays = walked(ab(), valued("ABB"))
    arrays.log_section(s.ENTRY_FRESH)[:] = 0
    lane_arrays = arrays.lane_arrays()
    lane = lookups.cells_of_lane(lane_arrays, 1, 1)
    assert [bool(logs.catch_up(lane_arrays, 1, lane, 1)) for _ in range(2)] == [True, False]
    assert arrays.log_section(s.ENTRY_FRESH).tolist() == [0, 1]


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(
    ("high", "low"),
    [(0, 0), (0, 7), (-1, 2**32 - 1), (2**29 - 1, 2**61 - 1), (2**29, 5), (-(2**29), 5), (1, 2**61), (-(2**40), 2**62)],
)
def test_a_sum_in_two_halves_is_scaled_whatever_its_size(high: int, low: int) -> None:
    table = new_table(3, True, 8)
    table.limbs[:2, 0] = 11, -3
    logs.add_times_sum(table, 0, 1, np.int64(high), np.int64(low), 2)
    assert to_ints(table, [0, 1]).tolist() == [11 - 3 * (high * 2**32 + low), -3]
