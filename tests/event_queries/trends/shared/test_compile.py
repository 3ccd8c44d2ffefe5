"""Programs -> arrays for the shared kernel: cells, lanes, logs, and the columns that a log keeps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import LETTERS, program, windows

from ostinato.event_queries.plan.event_program import Program, Slot, SlotKind
from ostinato.event_queries.trends.shared.compile import compiled
from ostinato.event_queries.trends.shared.layout import CompiledPrograms

Q1, Q2 = program("A B+"), program("C B+")
COUNT_B = Slot(SlotKind.COUNT, frozenset({1}))


def plan(
    *programs: Program, exact: bool = True, floats: frozenset[int] = frozenset(), share: bool = True
) -> CompiledPrograms:
    return compiled(programs, exact, floats, share)


def test_queries_that_repeat_the_same_events_read_one_log() -> None:
    logs = plan(Q1, Q2).layout.logs
    assert [LETTERS[condition] for condition in logs.condition] == ["B"]
    assert logs.queries.tolist() == [2]
    assert plan(Q1, Q2).layout.loops.log.tolist() == [0, 0]


def test_without_sharing_there_is_no_log_and_no_loop() -> None:
    layout = plan(Q1, Q2, share=False).layout
    assert len(layout.logs.condition) == len(layout.loops.log) == 0


def test_events_of_a_loop_are_no_actions() -> None:
    """The engine writes it to the log once, for any number of queries that repeat it."""

    def conditions(share: bool) -> str:
        return "".join(LETTERS[condition] for condition in plan(Q1, Q2, share=share).layout.actions.condition)

    assert conditions(share=True) == "AC"
    assert sorted(conditions(share=False)) == sorted("ABCB")


def test_a_query_has_a_lane_for_each_window_that_may_be_open() -> None:
    layout = plan(Q1, program("C B+", extent=windows(10, 3)), program("A B+", extent=windows(10, 3))).layout
    assert layout.windows.lanes.tolist() == [1, 4]  # equal extents are stored once
    assert layout.queries.extent.tolist() == [0, 1, 1]
    assert layout.queries.first_lane.tolist() == [0, 1, 5]
    assert layout.windows.kind.tolist() == [0, 1]
    by_place = plan(program("A B+", extent=windows(10, 3, by_place=True)), Q2).layout
    assert by_place.windows.kind.tolist() == [2, 0]


def test_a_log_stores_a_column_once_for_all_its_readers() -> None:
    both = [program("A B+", slots=(COUNT_B,)), program("C B+", slots=(COUNT_B,))]
    layout = plan(*both).layout
    assert len(layout.logs.int_stream) == 1
    assert layout.queries.slots.tolist() == [1, 1]
    assert len(plan(Q1, Q2).layout.logs.int_stream) == 0


def test_sums_of_doubles_and_of_integers_have_separate_slots() -> None:
    total = Slot(SlotKind.SUM, frozenset({1}), 0)
    queries = [program("A B+", slots=(total,)), program("C B+", slots=(total,))]
    ints, real = plan(*queries).layout.queries, plan(*queries, floats=frozenset({0})).layout.queries
    assert (ints.slots.tolist(), ints.reals.tolist()) == ([1, 1], [0, 0])
    assert (real.slots.tolist(), real.reals.tolist()) == ([0, 0], [1, 1])


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_every_range_ends_at_the_end_of_its_array(exact: bool, share: bool) -> None:
    """`x_from[i]` and `x_from[i + 1]` bound a range of the arrays `x_...`."""
    slots = (COUNT_B, Slot(SlotKind.SUM, frozenset({1}), 0), Slot(SlotKind.MIN, frozenset({1}), 0))
    queries = [program("A B+", slots=slots), program("C !A B+ C", slots=slots), program("A+ B", extent=windows(9, 2))]
    layout = plan(*queries, exact=exact, share=share).layout
    checked = 0
    for group in layout:
        columns = group._asdict()
        for name, begins in columns.items():
            if name.endswith("_from"):
                assert begins[0] == 0
                assert (np.diff(begins) >= 0).all()
                prefix = name.removesuffix("from")
                for other, values in columns.items():
                    has_own_range = other.endswith(("_from", "_constant")) or f"{other}_from" in columns
                    if other.startswith(prefix) and not has_own_range:
                        assert len(values) == begins[-1], f"{name} and {other}"
                        checked += 1
    assert checked > 20


def test_all_read_cells_exist() -> None:
    layout = plan(program("A B+"), program("C !A B+ C")).layout
    cells = layout.queries.cells.max()
    for read in (
        layout.queries.result_cell,
        layout.queries.one_cell,
        layout.actions.term_cell,
        layout.loops.other_cell,
    ):
        assert ((read >= 0) & (read < cells)).all()
