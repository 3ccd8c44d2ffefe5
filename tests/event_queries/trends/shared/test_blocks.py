"""Plain counts in blocks: which plans allow it, the order of cells, and numbers around the bound of 58 bits."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import events, program, windows
from tests.event_queries.trends.shared.letter_lanes import (
    STOP,
    arrays_of,
    plan_of,
    results,
    small_matrix,
    walk_blocks,
)

from ostinato.event_queries.plan.event_program import NO_WINDOW, Events, Program, Slot, SlotKind
from ostinato.event_queries.trends.shared import blocks
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.blocks import ops_of
from ostinato.event_queries.trends.shared.sections import section
from ostinato.event_queries.trends.shared.shared_engine import KernelArrays
from ostinato.kernels.numbers.number_table import grown

Q1, Q2 = program("A B+"), program("C B+")


# --- plans ------------------------------------------------------------------------------------------------------------


def ops(*programs: Program, share: bool = True, exact: bool = True) -> Any:
    return ops_of(plan_of(programs, exact=exact, share=share).layout)


@pytest.mark.parametrize(
    "query",
    [
        program("A B+", slots=(Slot(SlotKind.COUNT, frozenset({1})),)),
        program("A B+", slots=(Slot(SlotKind.MIN, frozenset({1}), 0),)),
        program("A !N B+"),
        program("A+ C B+"),
        program("A B C", again=True),
    ],
    ids=["a sum", "an extreme", "NOT", "two loops", "a cycle of cells"],
)
def test_plans_that_are_no_sums_of_cells_have_no_blocks(query: Program) -> None:
    assert ops(Q1, query) is None
    assert ops(Q1, Q2) is not None


def test_a_label_that_reads_its_own_cell_has_no_blocks() -> None:
    """Without a log, B+ adds B to itself."""
    assert ops(Q1, share=False) is None


def actions(packed: Any, count: int) -> list[list[tuple[int, ...]]]:
    """For each action its rows (into, source, sign)."""
    records = section(packed, blocks.RECORDS, blocks.RECORD * count).reshape(count, blocks.RECORD)
    rows = section(packed, blocks.OPS, 3 * int(records[-1, blocks.OF_OPS_END])).reshape(-1, 3)
    return [
        [tuple(row.tolist()) for row in rows[first:last]]
        for first, last in records[:, [blocks.OF_OPS, blocks.OF_OPS_END]]
    ]


def test_an_action_is_a_sum_of_cells() -> None:
    """Cells of SEQ(A, B+, C): A is 0, C is 1, ahead is 2; 3 stands for the number 1. C adds ahead - A."""
    some = ops(program("A B+ C"))
    assert actions(some, 2) == [[(0, 3, 1), (2, 3, 1)], [(1, 2, 1), (1, 0, -1)]]


def test_a_cell_is_applied_before_the_cells_that_it_reads() -> None:
    order = section(ops(program("A B+ C")), blocks.ORDER, 3).tolist()
    assert order == [1, 0, 2]
    order = section(ops(program("A B C")), blocks.ORDER, 3).tolist()
    assert order == [2, 1, 0]


def test_an_approximate_state_is_applied_before_the_ahead_that_feeds_it() -> None:
    """Cells of SEQ(A, B+): A is 0, B is 1, ahead is 2. B gains what ahead gains."""
    order = section(ops(Q1, exact=False), blocks.ORDER, 3).tolist()
    assert order.index(1) < order.index(2)


def test_the_records_of_later_queries_count_lanes_and_rows_of_all_before() -> None:
    some = ops(program("A B+", extent=windows(6, 2)), program("C A"), Q2)
    record = section(some, blocks.RECORDS, 4 * blocks.RECORD).reshape(4, blocks.RECORD)[-1]
    assert record[blocks.OF_QUERY] == 2
    assert record[blocks.OF_LANE] == 3 + 1
    assert record[blocks.OF_ROW] == 3 * 2 + 2
    assert record[blocks.OF_POSITION] == 3  # SEQ(C, A) has no loop
    assert record[[blocks.OF_LOG, blocks.OF_AHEAD, blocks.OF_KEEP]].tolist() == [0, 1, -1]


# --- the walk ---------------------------------------------------------------------------------------------------------


def walked(programs: list[Program], stream: Events | str, exact: bool = True) -> KernelArrays:
    arrays = arrays_of(programs, stream, exact)
    assert arrays.rows.one_at_a_time
    small = small_matrix(arrays)
    while (status := walk_blocks(arrays, small)) == s.NUMBERS_FULL:
        arrays.table = grown(arrays.table)
    assert status == s.DONE
    return arrays


def counted(pattern: str, text: str, exact: bool = True) -> Any:
    """The count of one query without windows; 0 if it has no result."""
    return next((result[-1] for result in results(walked([program(pattern)], text, exact))), 0)


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("A B+", "", 0),
        ("A B+", "A", 0),
        ("A B+", "BA", 0),
        ("A B+", "XABXB", 3),
        ("A B+", "ABABB", 7 + 3),  # with the first A, with the second
        ("B+", "BBB", 7),
        ("A B+ C", "ABBCBC", 3 + 7),
        ("A B+ A", "ABABA", 1 + 3 + 1),
        ("A B C", "AABBCC", 8),
    ],
)
def test_counts_worked_out_by_hand(pattern: str, text: str, expected: int, exact: bool) -> None:
    assert counted(pattern, text, exact) == expected


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("length", [57, 58, 59, 60, 61, 64, 119, 120, 200])
def test_a_long_burst_is_counted_exactly(length: int) -> None:
    assert counted("A B+", "A" + "B" * length) == 2**length - 1
    assert counted("A B+", "A" + "B" * length + "A") == 2**length - 1
    assert counted("A B+ C", "A" + "B" * length + "CC") == 2 * (2**length - 1)


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("length", [55, 56, 57, 58])
def test_small_numbers_are_applied_before_they_overflow(length: int) -> None:
    """Each C adds nearly 2**length to its cell, and a D as much again for each C."""
    text = "A" + "B" * length + "C" * 50
    assert counted("A B+ C", text) == 50 * (2**length - 1)
    assert counted("A B+ C D", text + "D" * 50) == 2500 * (2**length - 1)


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_bursts_between_other_events_multiply() -> None:
    """(A B{40}){3}: each A starts with what is ahead of it; the numbers pass 58 bits in the second burst."""
    expected = 0
    for _ in range(3):
        expected = (expected + 1) * 2**40
    assert counted("A B+", ("A" + "B" * 40) * 3) == expected - 3


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_each_window_counts_its_own_events() -> None:
    query = program("A B+", extent=windows(4, 2))
    expected = [(-2, 1), (0, 3), (2, 3)]
    assert [result[2:] for result in results(walked([query], "ABBABB"))] == expected
    by_place = program("A B+", extent=windows(4, 2, by_place=True))
    assert [result[2:] for result in results(walked([by_place], "ABBABB"))] == expected[1:]


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_queries_and_sequences_are_counted_apart() -> None:
    stream = events("ABBCBBAB", [0, 1, 2, 0, 1, 2, 3, 4], starts=[0, 3, 8])
    arrays = walked([Q1, Q2, program("A C")], stream)
    assert results(arrays) == [(0, 0, NO_WINDOW, 3), (0, 1, NO_WINDOW, 1), (1, 1, NO_WINDOW, 7)]
    assert arrays.log_section(s.ENTRY_ENTRIES).tolist() == [0]


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_it_goes_on_where_a_number_did_not_fit() -> None:
    """The table has too few limbs at the first event, and again behind 600 more."""
    arrays = arrays_of([program("A C"), Q1], "A" + "B" * 600 + "A")
    small = small_matrix(arrays)
    full = []
    while (status := walk_blocks(arrays, small)) == s.NUMBERS_FULL:
        full.append(int(arrays.progress[s.ROW]))
        arrays.table = grown(arrays.table)
    assert status == s.DONE
    assert full == [0, 601]
    assert results(arrays) == [(1, 0, NO_WINDOW, 2**600 - 1)]


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_room_is_needed_for_numbers_that_are_long_already() -> None:
    """Of 16 limbs, 8 are spare. Five more fit the first 300 B, but not the next 300."""
    arrays = arrays_of([program("A C"), Q1], ("A" + "B" * 300) * 2 + "A")
    small = small_matrix(arrays)
    full = []
    while walk_blocks(arrays, small) == s.NUMBERS_FULL:
        full.append(int(arrays.progress[s.ROW]))
        arrays.table = grown(arrays.table)
    assert full == [0, 602]
    assert results(arrays) == [(1, 0, NO_WINDOW, (2**300 + 1) * 2**300 - 2)]


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_queries_with_other_windows_are_counted_apart() -> None:
    extents = (windows(4, 4), windows(6, 6), None, windows(3, 1))
    arrays = walked([program("A B+", extent=extent) for extent in extents], "ABBBAB")
    counts: dict[int, list[tuple[int, int]]] = {query: [] for query in range(4)}
    for query, _, window, count in results(arrays):
        counts[query].append((window, count))
    assert counts == {
        0: [(0, 7), (4, 1)],
        1: [(0, 16)],
        2: [(NO_WINDOW, 16)],
        3: [(-1, 1), (0, 3), (3, 1), (4, 1)],
    }


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_a_stopped_walk_returns_before_the_next_event_that_matters() -> None:
    arrays = arrays_of([Q1], "XAB")
    assert walk_blocks(arrays, small_matrix(arrays), STOP) == s.STOPPED
    assert arrays.progress[s.ROW] == 1
    arrays = arrays_of([Q1], "XXX")
    assert walk_blocks(arrays, small_matrix(arrays), STOP) == s.DONE


@pytest.mark.kernel
@pytest.mark.usefixtures("both_ways")
def test_full_results_stop_the_walk_until_they_are_taken() -> None:
    arrays = arrays_of([program("B+", extent=windows(1, 1))], "BBBBB")
    arrays.table = grown(arrays.table)
    arrays.results[s.RESULT_ROOM] = 2
    small, taken = small_matrix(arrays), []
    while (status := walk_blocks(arrays, small)) == s.RESULTS_FULL:
        taken += results(arrays)
        arrays.progress[[s.RESULTS, s.RESULT_ROWS, s.RESULT_REALS, s.RESULT_EXTREMES]] = 0
    assert status == s.DONE
    assert [result[2:] for result in taken + results(arrays)] == [(time, 1) for time in range(5)]


# --- symbols that concern a query more than once ----------------------------------------------------------------------


def one_at_a_time(actions_of: list[list[int]], logs_of: list[list[int]], *programs: Program) -> bool:
    """For each symbol, the numbers of its actions and of its logs."""
    symbols = []
    for lists in (actions_of, logs_of):
        symbols += [np.cumsum([0, *map(len, lists)]), np.array(list(chain(*lists)), np.int64)]
    return blocks.one_at_a_time(symbols, plan_of(programs).layout)


def test_a_symbol_may_concern_many_queries_each_once() -> None:
    """Actions: A of Q1, C of Q2. The log of B belongs to both."""
    assert one_at_a_time([[], [0, 1], []], [[], [], [0]], Q1, Q2)
    assert one_at_a_time([[]], [[]], Q1, Q2)


def test_a_symbol_may_not_act_and_loop_in_one_query() -> None:
    assert not one_at_a_time([[], [0]], [[], [0]], Q1, Q2)


def test_a_symbol_may_not_act_twice_in_one_query() -> None:
    assert one_at_a_time([[], [0], [1]], [[], [], []], program("A B C"))
    assert not one_at_a_time([[], [0, 1]], [[], []], program("A B C"))
