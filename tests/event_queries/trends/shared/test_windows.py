"""Windows of the shared kernel: when they open and close, their results, and lanes that are used again."""

from __future__ import annotations

import pytest
from tests.event_queries.trends.enumerated import answers, events, program, windows
from tests.event_queries.trends.shared.letter_lanes import (
    NEVER,
    OTHER,
    arrays_of,
    open_windows,
    plan_of,
    results,
    valued,
    walk,
    walked,
)

from ostinato.event_queries.plan.event_program import NO_WINDOW, Events, Extent, Program, Slot, SlotKind
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.lane_results import ResultCollector
from ostinato.event_queries.trends.shared.shared_engine import KernelArrays
from ostinato.kernels.numbers.number_table import Table

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("both_ways")]


def after(query: Program, stream: Events, until: int = NEVER) -> KernelArrays:
    """The arrays of a query behind another one without windows: its extent is extent 1."""
    return walked([OTHER, query], stream, until=until)


def at(*times: int, extent: Extent, until: int = NEVER) -> KernelArrays:
    """The arrays after an A at each of the times."""
    return after(program("A+", extent=extent), valued("A" * len(times), times=times), until)


def window_counts(arrays: KernelArrays) -> list[tuple[int, int]]:
    """(window, count) of the second query, of one sequence."""
    return [result[2:] for result in results(arrays) if result[0] == 1]


# --- opening and closing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "extent", "expected", "change"),
    [
        (5, windows(4, 2), [1, 2], 6),  # [2, 6) and [4, 8)
        (4, windows(4, 2), [1, 2], 6),  # [0, 4) is over
        (3, windows(4, 2), [0, 1], 4),
        (0, windows(4, 2), [-1, 0], 2),
        (-1, windows(4, 2), [-2, -1], 0),
        (7, windows(3, 3), [2], 9),
        (7, windows(3, 2), [3], 8),  # [4, 7) is over, [8, 11) hasn't begun
        (3, windows(2, 5), [], 5),  # between two windows
        (6, windows(2, 5), [1], 7),
    ],
)
def test_the_windows_around_a_time_are_open(time: int, extent: Extent, expected: list[int], change: int) -> None:
    arrays = at(time, extent=extent)
    assert open_windows(arrays, 1) == expected
    assert arrays.lane_section(s.OPEN_CHANGE).tolist() == [s.FAR, change]


def test_windows_that_count_events_begin_at_the_first() -> None:
    """Place 0 is in [0, 4) alone, though [-2, 2) would hold it."""
    assert open_windows(at(50, extent=windows(4, 2, by_place=True)), 1) == [0]
    assert open_windows(at(50, 60, 70, extent=windows(4, 2, by_place=True)), 1) == [0, 1]


def test_without_windows_one_is_open_until_the_end() -> None:
    assert open_windows(at(5, 10**9, extent=Extent())) == [0]
    assert window_counts(at(5, 10**9, extent=Extent(), until=10**12)) == []
    assert window_counts(at(5, 10**9, extent=Extent(), until=s.FAR)) == [(NO_WINDOW, 3)]


@pytest.mark.parametrize(("until", "expected"), [(3, []), (4, [(0, 3)]), (7, [(0, 3)]), (s.FAR, [(0, 3)])])
def test_a_window_closes_at_its_end(until: int, expected: list[tuple[int, int]]) -> None:
    assert window_counts(at(0, 3, extent=windows(4, 4), until=until)) == expected


def test_an_event_at_the_end_of_a_window_closes_it_and_is_outside() -> None:
    assert window_counts(at(0, 3, 4, extent=windows(4, 4))) == [(0, 3)]
    assert window_counts(at(0, 3, 4, extent=windows(4, 4), until=s.FAR)) == [(0, 3), (4, 1)]


def test_no_window_opens_in_a_gap() -> None:
    arrays = at(0, 10**15, extent=windows(4, 2))
    assert open_windows(arrays, 1) == [10**15 // 2 - 1, 10**15 // 2]
    assert window_counts(arrays) == [(-2, 1), (0, 1)]


def test_an_event_that_no_query_wants_moves_no_window() -> None:
    arrays = after(program("A+", extent=windows(4, 4)), valued("AX", times=[0, 100]))
    assert open_windows(arrays, 1) == [0]


@pytest.mark.parametrize("values", [[0, 1, 1, 0, 9, 0], [0.0, 1.0, 1.0, 0.0, 9.0, 0.0]], ids=["integers", "doubles"])
def test_a_lane_starts_anew_in_its_next_window(values: list[float]) -> None:
    """The windows [0, 3) and [3, 6) use one lane. A third has an A alone, and no result."""
    slots = [Slot(kind, frozenset({1}), 1) for kind in (SlotKind.SUM, SlotKind.MIN, SlotKind.COUNT)]
    some = [OTHER, program("A B+", slots=slots, extent=windows(3, 3))]
    stream = valued("ABBABA", values, times=[0, 1, 2, 3, 4, 6])
    arrays = walked(some, stream, until=s.FAR)
    collector = ResultCollector(some, plan_of(some, stream).slot_indexes)
    collector.take(arrays)
    assert answers(collector.results(True, stream)[1]) == [(0, 0, 3, 4, 1, 4), (0, 3, 1, 9, 9, 1)]
    assert arrays.log_section(s.ENTRY_LANES).tolist() == [0, 0]


def test_the_log_counts_the_lanes_that_are_open() -> None:
    assert at(5, extent=windows(4, 2)).log_section(s.ENTRY_LANES).tolist() == [1, 2]
    assert at(5, 50, extent=windows(4, 2)).log_section(s.ENTRY_LANES).tolist() == [1, 2]


# --- results ----------------------------------------------------------------------------------------------------------


def test_a_window_without_a_trend_has_no_result() -> None:
    arrays = after(program("A B", extent=windows(2, 2)), valued("AABAAB"), s.FAR)
    assert arrays.progress[s.RESULTS] == 1
    assert window_counts(arrays) == [(4, 1)]


def test_queries_with_equal_windows_close_together() -> None:
    some = [program("A+", extent=windows(2, 2)), program("B+", extent=windows(2, 2)), program("A B")]
    arrays = walked(some, "ABBB", until=s.FAR)
    assert results(arrays) == [(0, 0, 0, 1), (1, 0, 0, 1), (1, 0, 2, 3), (2, 0, NO_WINDOW, 3)]


@pytest.mark.parametrize("room", [1, 2, 3])
@pytest.mark.parametrize("limited", ["results", "extremes", "numbers"])
def test_full_results_stop_the_kernel_until_they_are_taken(limited: str, room: int) -> None:
    arrays = arrays_of([program("C T+"), program("A+", extent=windows(4, 2))], events("AAAA", [0, 2, 4, 6]))
    if limited == "numbers":
        rows = int(arrays.lanes[s.RESULT_TABLE]) + room
        arrays.table = Table(*(array[:rows] for array in arrays.table[:3]), exact=True)
    else:
        arrays.results[s.RESULT_ROOM if limited == "results" else s.RESULT_EXTREME_ROOM] = room
    taken = []
    while (status := walk(arrays, s.FAR)) == s.RESULTS_FULL:
        assert len(results(arrays)) == room
        taken += window_counts(arrays)
        arrays.progress[[s.RESULTS, s.RESULT_ROWS, s.RESULT_REALS, s.RESULT_EXTREMES]] = 0
    assert status == s.DONE
    assert taken + window_counts(arrays) == [(-2, 1), (0, 3), (2, 3), (4, 3), (6, 1)]


def test_a_sequence_begins_with_windows_of_its_own() -> None:
    stream = events("AAA", [100, 0, 1], starts=[0, 1, 3])
    arrays = walked([program("A+", extent=windows(4, 4))], stream, until=s.FAR)
    assert results(arrays) == [(0, 0, 100, 1), (0, 1, 0, 3)]
    assert arrays.lane_section(s.OPEN_FIRST).tolist() == arrays.lane_section(s.OPEN_NEXT).tolist() == [s.NOT_BEGUN]


# --- windows that count events, and events of one time ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "slide", "expected"),
    [
        (2, 2, [(0, 2), (2, 1)]),  # places 0 and 1, then 2
        (2, 1, [(0, 2), (1, 2), (2, 1)]),  # more windows than lanes: the first closes within the time
        (1, 1, [(0, 1), (1, 1), (2, 1)]),
        (1, 2, [(0, 1), (2, 1)]),
        (3, 3, [(0, 3)]),
    ],
)
def test_a_window_may_separate_events_of_one_time(length: int, slide: int, expected: list[tuple[int, int]]) -> None:
    extent = windows(length, slide, by_place=True)
    assert window_counts(at(7, 7, 7, extent=extent, until=s.FAR)) == expected


def test_events_before_and_after_such_a_time() -> None:
    """Places 0 1 2 3 have the times 0 1 1 2. [0, 2) holds a0 a1: 3 trends; [2, 4) holds a2 a3: 3 trends."""
    assert window_counts(at(0, 1, 1, 2, extent=windows(2, 2, by_place=True), until=s.FAR)) == [(0, 3), (2, 3)]
    assert window_counts(at(0, 1, 1, 2, extent=windows(3, 3, by_place=True), until=s.FAR)) == [(0, 5), (3, 1)]


@pytest.mark.parametrize(("length", "slide", "expected"), [(2, 1, [(0, 1), (3, 1)]), (3, 2, [(0, 2), (2, 1)])])
def test_labels_without_a_loop_in_a_separated_time(length: int, slide: int, expected: list[tuple[int, int]]) -> None:
    """The two B at places 1 and 2 have one time."""
    query = program("A B", extent=windows(length, slide, by_place=True))
    assert window_counts(after(query, valued("ABBAB", times=[0, 1, 1, 2, 3]), s.FAR)) == expected
