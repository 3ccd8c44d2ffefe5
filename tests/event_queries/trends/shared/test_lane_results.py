"""Results of closed windows, written into the kernel's arrays by hand -> columns of each query."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import answers, events, program
from tests.event_queries.trends.shared.letter_lanes import plan_of

from ostinato.event_queries.plan.event_program import Events, Program, QueryResults, Slot, SlotKind
from ostinato.event_queries.trends.ordered_keys import ordered_keys
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.event_symbols import prepared
from ostinato.event_queries.trends.shared.lane_results import ResultCollector
from ostinato.event_queries.trends.shared.sections import section
from ostinato.event_queries.trends.shared.shared_engine import KernelArrays
from ostinato.kernels.numbers.python_numbers import Extended

B = frozenset({1})
COUNT, SUM, LEAST, GREATEST = (Slot(kind, B, 0) for kind in SlotKind)
NO_VALUES, WHOLE, DOUBLES = events("AB"), events("AB", values=[np.array([0, 0])]), events("AB", values=[np.zeros(2)])


class Kernel:
    """Arrays into which a test writes results as the kernel would."""

    def __init__(self, programs: list[Program], stream: Events, exact: bool = True) -> None:
        self.plan = plan_of(programs, stream, exact)
        self.arrays = KernelArrays(self.plan, exact, prepared(stream, self.plan))
        self.collector = ResultCollector(programs, self.plan.slot_indexes)
        self.stream, self.exact = stream, exact

    def close(
        self,
        query: int = 0,
        sequence: int = 0,
        window: int = 0,
        count: int = 1,
        sums: tuple[int, ...] = (),
        reals: tuple[float, ...] = (),
        extremes: tuple[int | None, ...] = (),
    ) -> None:
        """Writes the result of one window. An extreme is a key, or None."""
        arrays, progress = self.arrays, self.arrays.progress
        number = int(progress[s.RESULTS])
        row = int(arrays.lanes[s.RESULT_TABLE] + progress[s.RESULT_ROWS])
        real = int(arrays.lanes[s.RESULT_REAL_TABLE] + progress[s.RESULT_REALS])
        extreme = int(progress[s.RESULT_EXTREMES])
        for at, value in enumerate((query, sequence, window, row, real, extreme)):
            section(arrays.results, s.RESULT_QUERY + at, number + 1)[number] = value
        for offset, value in enumerate((count, *sums)):
            if self.exact:
                arrays.table.limbs[row + offset, 0] = value
            else:
                arrays.table.floats[row + offset, 0] = value
        for offset, double in enumerate(reals):
            arrays.real.floats[real + offset, 0] = double
        for offset, key in enumerate((0, *extremes)):
            at = extreme + offset
            section(arrays.results, s.RESULT_KEY, at + 1)[at] = -99 if key is None else key
            section(arrays.results, s.RESULT_HAS, at + 1)[at] = key is not None
        progress[[s.RESULTS, s.RESULT_ROWS, s.RESULT_REALS, s.RESULT_EXTREMES]] += np.array(
            [1, 1 + len(sums), len(reals), 1 + len(extremes)]
        )

    def take(self) -> None:
        self.collector.take(self.arrays)

    def results(self) -> tuple[QueryResults, ...]:
        return self.collector.results(self.exact, self.stream)

    def rows(self) -> list[list[tuple[Any, ...]]]:
        """For each query (sequence, window, count, slots)."""
        return [answers(results) for results in self.results()]


Q1, Q2 = program("A B+"), program("C B+")


def test_results_go_to_their_queries_in_the_order_of_writing() -> None:
    kernel = Kernel([Q1, Q2], NO_VALUES)
    for query, sequence, window, count in ((1, 0, 10, 5), (0, 0, 20, 6), (1, 1, 30, 7)):
        kernel.close(query, sequence, window, count)
    kernel.take()
    assert kernel.rows() == [[(0, 20, 6)], [(0, 10, 5), (1, 30, 7)]]


def test_several_takes_are_joined_and_empty_the_kernels_results() -> None:
    kernel = Kernel([Q1, Q2], NO_VALUES)
    for window in (1, 2):
        kernel.close(window=window, count=window)
        kernel.take()
        assert not kernel.arrays.progress[s.RESULTS :].any()
    assert kernel.rows() == [[(0, 1, 1), (0, 2, 2)], []]


def test_a_count_of_zero_is_no_result() -> None:
    kernel = Kernel([Q1], NO_VALUES)
    for window, count in enumerate((0, 3, 0)):
        kernel.close(window=window, count=count)
    kernel.take()
    assert kernel.rows() == [[(0, 1, 3)]]


def test_a_multiple_of_two_to_the_60_is_a_result() -> None:
    """Its lowest limb is 0."""
    kernel = Kernel([Q1], NO_VALUES)
    kernel.close(count=0)
    row = kernel.arrays.lanes[s.RESULT_TABLE]
    kernel.arrays.table.limbs[row, :2] = 0, 5
    kernel.arrays.table.length[row] = 2
    kernel.take()
    assert kernel.rows() == [[(0, 0, 5 * 2**60)]]


@pytest.mark.parametrize("exact", [True, False])
def test_no_results_have_columns_of_the_right_kind(exact: bool) -> None:
    kernel = Kernel([program("A B+", slots=(COUNT, SUM, LEAST))], DOUBLES, exact)
    kernel.take()
    (query_results,) = kernel.results()
    count, total, least = query_results.slots
    assert len(query_results.sequence) == len(query_results.window) == 0
    for numbers in (query_results.count, count):
        assert isinstance(numbers, Extended) == (not exact)
    assert isinstance(total, Extended)
    assert isinstance(least, np.ndarray)
    assert least.dtype == np.float64
    assert [len(present) for present in query_results.present] == [0, 0, 0]


def test_sums_stand_beside_the_count() -> None:
    """Slots: how many values there are, and their sum. The extreme is the flag of the sum."""
    kernel = Kernel([program("A B+", slots=(COUNT, SUM))], WHOLE)
    kernel.close(count=3, sums=(4, -70), extremes=(0,))
    kernel.close(window=1, count=2, sums=(0, 0), extremes=(None,))
    kernel.take()
    assert kernel.rows() == [[(0, 0, 3, 4, -70), (0, 1, 2, 0, None)]]


def test_slots_of_queries_with_other_widths_do_not_mix() -> None:
    kernel = Kernel([Q1, program("C B+", slots=(COUNT, SUM)), program("A B+", slots=(LEAST,))], WHOLE)
    kernel.close(query=2, count=1, extremes=(8,))
    kernel.close(query=1, count=2, sums=(3, 30), extremes=(0,))
    kernel.close(query=0, count=4)
    kernel.close(query=2, window=9, count=5, extremes=(6,))
    kernel.take()
    assert kernel.rows() == [[(0, 0, 4)], [(0, 0, 2, 3, 30)], [(0, 0, 1, 8), (0, 9, 5, 6)]]


def test_the_key_of_a_maximum_is_turned_back() -> None:
    kernel = Kernel([program("A B+", slots=(LEAST, GREATEST))], WHOLE)
    kernel.close(extremes=(3, ~8))
    kernel.close(window=1, extremes=(None, None))
    kernel.take()
    assert kernel.rows() == [[(0, 0, 1, 3, 8), (0, 1, 1, None, None)]]


def test_keys_of_doubles_become_doubles() -> None:
    least, greatest = (int(key) for key in ordered_keys(np.array([-1.5, 2.5])))
    kernel = Kernel([program("A B+", slots=(LEAST, GREATEST))], DOUBLES)
    kernel.close(extremes=(least, ~greatest))
    kernel.take()
    assert kernel.rows() == [[(0, 0, 1, -1.5, 2.5)]]


@pytest.mark.parametrize(
    ("nan", "above", "below", "expected"),
    [
        (None, None, None, 1.25),
        (0, None, None, math.nan),
        (None, 0, None, math.inf),
        (None, None, 0, -math.inf),
        (None, 0, 0, math.nan),
    ],
)
def test_flags_make_a_sum_of_doubles_not_finite(
    nan: int | None, above: int | None, below: int | None, expected: float
) -> None:
    kernel = Kernel([program("A B+", slots=(SUM,))], DOUBLES)
    kernel.close(reals=(1.25,), extremes=(0, nan, above, below))
    kernel.close(window=1, reals=(2.0,), extremes=(0, None, None, None))
    kernel.close(window=2, reals=(0.0,), extremes=(None, None, None, None))
    kernel.take()
    assert str([row[3] for row in kernel.rows()[0]]) == str([expected, 2.0, None])


def test_approximate_numbers_keep_their_exponents() -> None:
    kernel = Kernel([program("A B+", slots=(COUNT,))], WHOLE, exact=False)
    kernel.close(count=3, sums=(5,))
    row = kernel.arrays.lanes[s.RESULT_TABLE]
    kernel.arrays.table.limbs[row, 1] = 1500
    kernel.take()
    (query_results,) = kernel.results()
    assert isinstance(query_results.count, Extended)
    assert (query_results.count.mantissa.tolist(), query_results.count.exponent.tolist()) == ([3.0], [1500])
    (slot,) = query_results.slots
    assert isinstance(slot, Extended)
    assert slot.mantissa.tolist() == [5.0]
