"""Tests kernels of correlations that have no other tests, compiled and as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostinato.correlations.strategies import contained, sides, step_matches
from ostinato.correlations.strategies import result_order as ordering
from ostinato.correlations.strategies.result_order import ResultTimes
from ostinato.correlations.strategies.sides import Ints, RowTimes
from ostinato.correlations.strategies.step_matches import LiveMatches
from ostinato.kernels.kernel_arrays import for_kernels
from ostinato.kernels.kernel_cache import interpreted
from ostinato.kernels.stopping import new_stop_flag

pytestmark = pytest.mark.kernel
Kernel = Callable[..., Any]


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


def both(kernel: Kernel) -> list[Kernel]:
    return [kernel, interpreted(kernel)]


@pytest.mark.parametrize("kernel", both(sides._first_at_least))
def test_first_at_least(kernel: Kernel) -> None:
    rng = np.random.default_rng(7)
    values = np.concatenate([np.sort(rng.integers(0, 9, 6)), np.sort(rng.integers(0, 9, 4))])
    group_at, group, limit = ints(0, 6, 6, 10), rng.integers(0, 3, 50), rng.integers(-1, 11, 50)
    indexes = np.empty(50, np.int64)
    kernel(group_at, values, group, limit, indexes)
    for i in range(50):
        values_of_group = values[group_at[group[i]] : group_at[group[i] + 1]]
        assert indexes[i] == group_at[group[i]] + np.searchsorted(values_of_group, limit[i])


@pytest.mark.parametrize("kernel", both(step_matches._latest_ends))
def test_latest_ends(kernel: Kernel) -> None:
    latest = np.empty(3, np.int64)
    kernel(ints(5, 9, 3, 4), ints(0, 2, 3), ints(3, 2, 1), latest)
    assert latest.tolist() == [9, 4, 4]


@pytest.mark.parametrize("kernel", both(ordering._merge))
def test_results_are_merged_in_order(kernel: Kernel) -> None:
    rng = np.random.default_rng(7)

    def results(count: int) -> ResultTimes:
        columns = rng.integers(0, 4, (3, count))
        return ResultTimes(*map(for_kernels, columns[:, np.lexsort(columns[::-1])]))

    for counts in ((0, 3), (3, 0), (20, 30)):
        one, other = (results(count) for count in counts)
        order = np.empty(sum(counts), np.int64)
        kernel(one, other, order)
        rows = list(zip(*(np.concatenate(pair) for pair in zip(one, other, strict=True)), strict=True))
        assert [rows[index] for index in order] == sorted(rows)


@pytest.mark.parametrize("kernel", both(contained._fill))
@pytest.mark.parametrize(("by_rows", "size"), [(False, 5), (True, 2)])
def test_the_past_of_a_live_match_has_only_rows_that_ended_before(kernel: Kernel, by_rows: bool, size: int) -> None:
    # Rows 0 to 4 start at 0, 2, 4, 5, 6. Row 1 ends at 20, after the live match.
    times = RowTimes(ints(0, 5), ints(0, 2, 4, 5, 6), ints(1, 20, 4, 7, 6))
    live = LiveMatches(ints(0), ints(7), ints(8), ints(0), ints(0))
    count, first, position = ints(0), ints(0), ints(0)
    kernel(times, live, by_rows, size, 1, count, first, position, ints(), ints(), new_stop_flag())
    rows = np.empty(int(count[0]), np.int64)
    kernel(times, live, by_rows, size, 1, count, first, position, ints(0, int(count[0])), rows, new_stop_flag())
    expected = ([2, 3, 4], 1, 1) if by_rows else ([0, 2, 3, 4], 1, 0)
    assert (rows.tolist(), int(first[0]), int(position[0])) == expected
