"""The walk over events: times in order, sequences apart, and where it stops and goes on."""

from __future__ import annotations

import pytest
from tests.event_queries.trends.enumerated import events, program, windows
from tests.event_queries.trends.shared.letter_lanes import (
    NEVER,
    STOP,
    arrays_of,
    bring_up,
    brought_up,
    cells,
    extreme_cells,
    open_windows,
    results,
    walk,
    walked,
)

from ostinato.event_queries.plan.event_program import NO_WINDOW
from ostinato.event_queries.trends.shared import sections as s
from ostinato.kernels.numbers.number_table import grown

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("both_ways")]

Q1, Q2 = program("A B+"), program("C B+")


# --- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "X", "XXX"])
def test_without_events_that_matter_no_window_opens(text: str) -> None:
    arrays = walked([Q1, Q2], text, until=s.FAR)
    assert results(arrays) == []
    assert not arrays.lane_section(s.LANE_IS_OPEN).any()
    assert arrays.progress[s.SEQUENCE] == 1


def test_a_log_gets_its_events_and_lanes_see_the_others() -> None:
    arrays = walked([Q1, Q2], "ACBBB")
    assert [cells(arrays, lane) for lane in (0, 1)] == [[1, 1], [1, 1]]
    assert arrays.log_section(s.ENTRY_ENTRIES).tolist() == [3]
    assert arrays.counters[s.UPDATES] == 2
    assert (arrays.counters[s.BURSTS], arrays.counters[s.SAVED]) == (1, 3 * 2)


def test_an_event_enters_the_logs_of_all_its_conditions() -> None:
    arrays = walked([program("A+"), program("B+")], "+A+")
    assert arrays.log_section(s.ENTRY_ENTRIES).tolist() == [3, 2]


def test_an_event_that_extends_nothing_leaves_no_trend() -> None:
    assert extreme_cells(walked([program("A B")], "B")) == [None, None]


def test_an_action_that_reads_what_it_writes_is_not_applied_in_place() -> None:
    """Without a log, B adds A + B to B."""
    assert cells(walked([program("C A"), Q1], "ABBB", share=False), 1) == [1, 7]


def test_the_order_of_rows_within_a_time_does_not_matter() -> None:
    times = [0, 1, 1, 1]
    orders = [cells(brought_up([Q1], events("A" + some, times))) for some in ("ABB", "BAB", "BBA")]
    assert orders == [[2, 4]] * 3


def test_irrelevant_rows_of_a_time_keep_its_events_together() -> None:
    """The B around an X have one time, so that neither follows the other."""
    assert cells(brought_up([Q1], events("ABXB", [0, 1, 1, 1]))) == [1, 3]
    assert cells(brought_up([Q1], events("AXBX", [0, 1, 1, 1]))) == [1, 2]
    assert cells(brought_up([Q1], events("AXB", [0, 1, 1]))) == [1, 2]


def test_an_event_of_two_labels_of_a_query_is_applied_once() -> None:
    """`+` is an A and a B in one: it starts a trend, and it ends the trend of the A before it."""
    assert cells(walked([program("A C"), program("A B")], "A++"), 1) == [3, 3]
    assert cells(brought_up([program("C T+"), Q1], "A++"), 1) == [3, 1 + 2 + 4]


def test_every_extent_moves_its_own_windows() -> None:
    extents = (windows(4, 4), windows(6, 6), None)
    arrays = brought_up([program("A B+", extent=extent) for extent in extents], "ABBBAB")
    assert [open_windows(arrays, extent) for extent in range(3)] == [[1], [0], [0]]
    assert [cells(arrays, lane) for lane in range(3)] == [[1, 2], [2, 18], [2, 18]]
    assert results(arrays) == [(0, 0, 0, 7)]


def test_windows_that_count_events_separate_events_of_one_time() -> None:
    arrays = walked([program("B+", extent=windows(2, 2, by_place=True))], events("BBB", [0, 0, 0]), until=s.FAR)
    assert results(arrays) == [(0, 0, 0, 2), (0, 0, 2, 1)]


# --- sequences --------------------------------------------------------------------------------------------------------


def test_sequences_do_not_mix() -> None:
    stream = events("ABBAAB", [0, 1, 2, 0, 1, 2], starts=[0, 1, 3, 3, 6])
    arrays = walked([Q1, Q2], stream, until=s.FAR)
    assert results(arrays) == [(0, 3, NO_WINDOW, 2)]
    assert arrays.progress[s.SEQUENCE] == 4


def test_the_walk_is_over_the_sequences_that_progress_names() -> None:
    stream = events("ABABAB", [0, 1] * 3, starts=[0, 2, 4, 6])
    arrays = arrays_of([Q1], stream)
    arrays.progress[[s.SEQUENCE, s.ROW, s.LAST_SEQUENCE]] = 1, 2, 2
    assert walk(arrays, s.FAR) == s.DONE
    assert results(arrays) == [(0, 1, NO_WINDOW, 1)]


def test_windows_that_are_not_over_stay_open() -> None:
    query = program("A B+", extent=windows(4, 4))
    arrays = walked([query], "ABBBAB", until=5)
    assert results(arrays) == [(0, 0, 0, 7)]
    assert open_windows(arrays) == [1]
    assert arrays.log_section(s.ENTRY_ENTRIES).tolist() == [4]  # nothing is forgotten


# --- stopping and going on --------------------------------------------------------------------------------------------


def test_a_stopped_walk_returns_before_the_next_event_that_matters() -> None:
    arrays = arrays_of([Q1, Q2], "XAB")
    assert walk(arrays, NEVER, STOP) == s.STOPPED
    assert cells(arrays) == [0, 0]
    assert walk(arrays_of([Q1, Q2], "XXX"), NEVER, STOP) == s.DONE


def test_a_number_that_might_not_fit_stops_the_walk_before_its_event() -> None:
    text = "A" + "B" * 130 + "A"
    arrays = arrays_of([Q1], text)
    assert walk(arrays) == s.NUMBERS_FULL
    assert arrays.progress[s.ROW] == len(text) - 1
    assert cells(arrays) == [1, 1]
    arrays.table = grown(arrays.table)
    assert walk(arrays) == s.DONE
    assert cells(arrays) == [2, 2**130 + 1]


def test_a_lane_that_took_the_event_does_not_take_it_again() -> None:
    """SEQ(A, C) has room and takes the second A; SEQ(A, B+) has none. After more room both have two A."""
    arrays = arrays_of([program("A C"), Q1], "A" + "B" * 130 + "A")
    assert walk(arrays) == s.NUMBERS_FULL
    assert [cells(arrays, 0), cells(arrays, 1)] == [[2, 0], [1, 1]]
    arrays.table = grown(arrays.table)
    assert walk(arrays) == s.DONE
    assert [cells(arrays, 0), cells(arrays, 1)] == [[2, 0], [2, 2**130 + 1]]


def test_an_event_enters_its_log_once_however_often_the_walk_stops() -> None:
    arrays = arrays_of([Q1], events("A" + "B" * 130 + "AB", [*range(131), 131, 131]))
    assert walk(arrays) == s.NUMBERS_FULL
    arrays.table = grown(arrays.table)
    assert walk(arrays) == s.DONE
    assert arrays.log_section(s.ENTRY_ENTRIES).tolist() == [131]
    assert bring_up(arrays) == s.DONE
    assert cells(arrays) == [2, 2**131 + 1]


def test_full_results_stop_the_walk_at_an_event_and_at_the_end() -> None:
    """Both queries have a result in [0, 2), the second one also in [2, 4). There is room for one at a time."""
    some = [program("A+", extent=windows(2, 2)), program("B+", extent=windows(2, 2))]
    arrays = arrays_of(some, "ABBB")
    arrays.results[s.RESULT_ROOM] = 1
    for status, row, expected in (
        (s.RESULTS_FULL, 2, (0, 0, 0, 1)),
        (s.RESULTS_FULL, 4, (1, 0, 0, 1)),
        (s.DONE, 4, (1, 0, 2, 3)),
    ):
        assert walk(arrays, s.FAR) == status
        assert (results(arrays), arrays.progress[s.ROW]) == ([expected], row)
        arrays.progress[[s.RESULTS, s.RESULT_ROWS, s.RESULT_REALS, s.RESULT_EXTREMES]] = 0


# --- bringing lanes up to date ----------------------------------------------------------------------------------------


def test_every_open_lane_of_every_query_is_brought_up_to_date() -> None:
    some = [program("A B+", extent=windows(4, 2)), Q2]
    arrays = brought_up(some, "ACBBAB")
    # Windows [2, 6) and [4, 8) are open: in lanes 1 and 0.
    assert open_windows(arrays, 0) == [1, 2]
    assert [cells(arrays, lane) for lane in range(3)] == [[1, 2], [1, 2], [1, 8]]
    positions = arrays.lane_section(s.LANE_POSITION)
    assert positions.tolist() == [3, 3, 3]


def test_a_lane_that_is_not_open_is_left_alone() -> None:
    arrays = arrays_of([Q1, Q2], "ACBB")
    assert bring_up(arrays) == s.DONE
    assert arrays.lane_section(s.LANE_POSITION).tolist() == [0, 0]
