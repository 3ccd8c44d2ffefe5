"""Tests which results are final, which rows stay in the buffer, and which rows are read back."""

from __future__ import annotations

import numpy as np

from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.recent_buffer import NOTHING_MISSING, Missing, rows_to_keep
from ostinato.correlations.strategies.result_order import Future, first_possible_start, future_of
from ostinato.correlations.strategies.sides import Ints, RowTimes, covered, first_longer, runs_of
from ostinato.correlations.strategies.step_matches import Growths

SEVEN = Region("time", 7)
NOTHING_MISSED = Missing(np.array([NOTHING_MISSING]), np.array([NOTHING_MISSING]))


def minutes(count: int) -> RowTimes:
    """One key with one row per minute."""
    rows = np.arange(count)
    return RowTimes(np.array([0, count]), rows, rows)


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


def growth(position: int, end: int) -> Growths:
    """One archive match of a table with one row per minute."""
    return Growths(ints(0), ints(position), ints(position), ints(end), ints(-1), ints(0))


def known_at(now: int) -> tuple[RowTimes, Future]:
    """Table 1 of the paper at the time `now`."""
    times = minutes(now + 1)
    return times, future_of(times, ints(0), SEVEN, ints(now + 1))


def test_a_result_waits_while_an_earlier_start_may_get_another() -> None:
    # Table 1: at 7, (2, 4) may still get a live match, so (4, 7) waits. At 9, the match from 2 is out of reach.
    both = growth(2, 4).merged(growth(4, 6))
    for now, first in ((7, 2), (9, 4)):
        times, future = known_at(now)
        start = first_possible_start(times, future, ints(6), ints(), both, SEVEN, now)
        assert start.tolist() == [first]


def test_starts_that_are_not_searched_or_open_may_get_a_match() -> None:
    times, future = known_at(9)
    nothing = Growths.none()
    assert first_possible_start(times, future, ints(8), ints(), nothing, SEVEN, 9).tolist() == [8]
    assert first_possible_start(times, future, ints(8), ints(5), nothing, SEVEN, 9).tolist() == [5]
    assert first_possible_start(times, future, ints(10), ints(), nothing, SEVEN, 9).tolist() == [10]
    assert first_possible_start(times, future, ints(8), ints(1), nothing, SEVEN, 9).tolist() == [8]  # out of reach


def test_regions_by_rows_count_positions() -> None:
    times = minutes(10)
    future = future_of(times, ints(100), Region("rows", 4), ints(10))
    assert (future.row.tolist(), future.position.tolist()) == ([6], [106])
    wide = future_of(times, ints(100), Region("rows", 12), ints(10))
    assert (wide.row.tolist(), wide.position.tolist(), wide.begins_at_hand.tolist()) == ([0], [98], [False])


def test_with_the_cache_rows_after_the_last_searched_start_stay() -> None:
    # Table 3 at 02:07: the match from 02:04 is cached, and the buffer begins one row after its start.
    times, future = known_at(7)
    cut = rows_to_keep(times, future, ints(5), ints(), 0, None, NOTHING_MISSED)
    assert cut.first.tolist() == [5]


def test_without_the_cache_the_region_stays_with_the_earlier_rows_that_it_reads() -> None:
    times, future = known_at(9)
    assert rows_to_keep(times, future, ints(0), ints(), 0, None, NOTHING_MISSED).first.tolist() == [3]
    assert rows_to_keep(times, future, ints(0), ints(), 2, None, NOTHING_MISSED).first.tolist() == [1]


def test_open_starts_keep_their_rows() -> None:
    times, future = known_at(9)
    assert rows_to_keep(times, future, ints(8), ints(4), 0, None, NOTHING_MISSED).first.tolist() == [4]


def test_a_full_buffer_drops_the_oldest_rows_and_reports_missing_ones() -> None:
    times, future = known_at(9)
    cut = rows_to_keep(times, future, ints(0), ints(), 0, 4, NOTHING_MISSED)
    assert cut.first.tolist() == [6]
    assert cut.missing == (3, 6)
    later = future_of(minutes(20), ints(0), SEVEN, ints(20))  # all missing rows are out of reach
    cut = rows_to_keep(minutes(20), later, ints(0), ints(), 0, None, cut.missing)
    assert not cut.missing.is_some.any()


def test_rows_of_the_same_time_are_dropped_together() -> None:
    times = RowTimes(ints(0, 6), ints(0, 1, 5, 5, 5, 6), ints(0, 1, 5, 5, 5, 6))
    future = future_of(times, ints(0), SEVEN, ints(7))
    cut = rows_to_keep(times, future, ints(0), ints(), 0, 2, NOTHING_MISSED)
    assert cut.first.tolist() == [2]


def test_rows_that_end_after_the_known_time() -> None:
    times = RowTimes(ints(0, 3, 4), ints(0, 1, 2, 0), ints(1, 9, 3, 2))
    assert first_longer(times, 3).tolist() == [1, 4]
    assert times.keys_with_late_ends().tolist() == [True, False]


def test_ranges_become_marks_and_marks_become_ranges() -> None:
    marked = covered(6, ints(0, 1, 4), ints(2, 3, 4))
    assert marked.tolist() == [True, True, True, False, False, False]
    assert [edges.tolist() for edges in runs_of(marked, ints(0, 2, 2, 6))] == [[0, 2], [2, 3]]
