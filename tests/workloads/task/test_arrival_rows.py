"""Numbers of arriving events, and the order of matches, which is that of the enumerator."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ostinato.event_queries.plan.event_program import Events
from ostinato.workloads.task.arrival_rows import EventNumbers, enumeration_order, links, next_link


def events(*sequences: list[int]) -> Events:
    """Events of sequences with these times."""
    starts = np.cumsum([0, *(len(times) for times in sequences)])
    time = np.array([time for times in sequences for time in times], np.int64)
    return Events(starts, time, np.zeros(len(time), np.int64), (), (), ())


def test_neighbours_have_consecutive_links() -> None:
    numbers = links(events([1, 2, 5], [3, 4]), np.ones(5, np.bool_))
    assert numbers.tolist() == [0, 1, 2, 0, 1]


def test_events_of_the_same_time_have_no_neighbours() -> None:
    numbers = links(events([1, 2, 2, 3, 4]), np.ones(5, np.bool_))
    assert (np.diff(numbers) == 1).tolist() == [False, False, False, True]


def test_links_of_new_events_start_at_zero() -> None:
    is_new = np.array([False, False, True, True, False, True])
    assert links(events([1, 2, 5, 6], [3, 7]), is_new)[is_new].tolist() == [0, 1, 0]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=12).map(sorted), st.integers(0, 12))
def test_a_cut_does_not_change_which_events_are_neighbours(times: list[int], cut: int) -> None:
    """Events after the cut have numbers from 0, earlier events have numbers relative to it. Ties aren't cut."""
    before = [time for time in times if time < cut]
    after = [time for time in times if time >= cut]
    uncut = links(events(times), np.ones(len(times), np.bool_))
    if not before or not after:
        return
    first = events(before)
    is_new = np.ones(len(before), np.bool_)
    numbers = EventNumbers(first.place, links(first, is_new))
    relative = numbers.link - next_link(first, numbers, is_new)
    second = links(events(after), np.ones(len(after), np.bool_))
    assert (np.diff(np.concatenate([relative, second])) == 1).tolist() == (np.diff(uncut) == 1).tolist()


def test_a_sequence_without_new_events_keeps_its_next_link() -> None:
    known_events = events([1, 2], [3])
    is_new = np.array([False, False, True])
    numbers = EventNumbers(known_events.place, np.array([-2, -1, 0]))
    assert next_link(known_events, numbers, is_new).tolist() == [0, 1]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.lists(st.integers(0, 2), min_size=1, max_size=4)),
        max_size=20,
        unique_by=lambda match: (match[0], match[1], tuple(match[2])),
    )
)
def test_matches_are_ordered_by_keys_and_then_event_by_event(matches: list[tuple[int, int, list[int]]]) -> None:
    offsets = np.cumsum([0, *(len(codes) for _, _, codes in matches)])
    codes = np.array([code for _, _, codes in matches for code in codes], np.int64)
    keys = tuple(np.array([match[i] for match in matches], np.int64) for i in range(2))
    order = enumeration_order(keys, offsets[:-1], np.diff(offsets), codes)
    assert [matches[i] for i in order] == sorted(matches)


def test_duplicate_matches_are_not_removed() -> None:
    keys = (np.zeros(3, np.int64),)
    order = enumeration_order(keys, np.arange(3), np.ones(3, np.int64), np.array([5, 4, 5]))
    assert sorted(order.tolist()) == [0, 1, 2] and order[0] == 1
