"""Results of sequences -> results of groups, and partial results of a group as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ostinato.event_queries.plan.event_program import NO_WINDOW, Numbers, QueryResults, SlotKind, joined_results
from ostinato.event_queries.task.group_partials import packed, unpacked
from ostinato.event_queries.task.group_results import conjunction, results_by_group
from ostinato.kernels.numbers.python_numbers import Extended

KINDS = (SlotKind.SUM, SlotKind.MIN, SlotKind.COUNT)


def integers(*numbers: int) -> Any:
    combined = np.empty(len(numbers), object)
    combined[:] = numbers
    return combined


def results(sequence: list[int], window: list[int], count: Numbers, *slots: tuple[Numbers, list[bool]]) -> QueryResults:
    return QueryResults(
        np.array(sequence),
        np.array(window),
        count,
        tuple(values for values, _ in slots),
        tuple(np.array(present) for _, present in slots),
    )


BY_SEQUENCE = results(
    [0, 1, 2, 2],
    [0, 0, 0, 5],
    integers(2**70, 1, 3, 4),
    (integers(10, 99, -3, 1), [True, False, True, True]),
    (np.array([4, 0, 2, 9]), [True, False, True, True]),
    (integers(5, 0, 1, 2), [True, True, True, True]),
)


def test_results_of_a_group_are_added_up() -> None:
    combined = results_by_group(BY_SEQUENCE, np.array([1, 0, 1]), KINDS)
    assert list(zip(combined.sequence.tolist(), combined.window.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 5)]
    assert combined.count.tolist() == [1, 2**70 + 3, 4]  # type: ignore[union-attr]
    sums, least, counts = combined.slots
    assert (sums.tolist()[1:], combined.present[0].tolist()) == ([7, 1], [False, True, True])  # type: ignore[union-attr]
    assert (least.tolist()[1:], combined.present[1].tolist()) == ([2, 9], [False, True, True])  # type: ignore[union-attr]
    assert counts.tolist() == [0, 6, 2]  # type: ignore[union-attr]


def test_groups_of_one_sequence_are_only_sorted() -> None:
    combined = results_by_group(BY_SEQUENCE, np.array([2, 0, 1]), KINDS)
    assert combined.sequence.tolist() == [0, 1, 1, 2]
    assert combined.count.tolist() == [1, 3, 4, 2**70]  # type: ignore[union-attr]


def test_approximate_numbers_with_large_exponents_are_added_up() -> None:
    approximate = Extended(np.array([1.0, 1.0, 0.0, 1.0]), np.array([2_000, 1_999, 0, 3]))
    combined = results_by_group(results([0, 1, 2, 2], [0, 0, 0, 5], approximate), np.array([0, 0, 0]), ())
    assert isinstance(combined.count, Extended)
    assert np.log2(combined.count.mantissa) + combined.count.exponent == pytest.approx([np.log2(1.5) + 2_000, 3])


def test_packed_results_are_restored() -> None:
    real = results([0], [NO_WINDOW], Extended(np.array([0.5]), np.array([5_000])), (np.array([2.5]), [True]))
    for before in (BY_SEQUENCE, real):
        after = unpacked(packed(before), len(before.slots))
        assert after.window.tolist() == before.window.tolist()
        for one, other in zip((after.count, *after.slots), (before.count, *before.slots), strict=True):
            if isinstance(one, Extended):
                assert isinstance(other, Extended)
                assert (one.mantissa.tolist(), one.exponent.tolist()) == (
                    other.mantissa.tolist(),
                    other.exponent.tolist(),
                )
            else:
                assert not isinstance(other, Extended)
                assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
        assert [mask.tolist() for mask in after.present] == [mask.tolist() for mask in before.present]


def test_packed_negative_numbers_are_restored() -> None:
    numbers = integers(-1, 0, 127, 128, -128, -129, -(2**200))
    before = results([0] * 7, [0] * 7, numbers)
    assert unpacked(packed(before), 0).count.tolist() == numbers.tolist()  # type: ignore[union-attr]


def test_results_of_several_tasks_are_combined() -> None:
    combined = results_by_group(joined_results([BY_SEQUENCE, BY_SEQUENCE]), np.zeros(3, np.int64), KINDS)
    assert combined.window.tolist() == [0, 5]
    assert combined.count.tolist() == [2 * (2**70 + 4), 8]  # type: ignore[union-attr]


def test_a_conjunction_counts_pairs_of_different_matches() -> None:
    """2 of the 4 and 5 matches belong to both patterns. Matches of different windows form no pairs."""
    one = results([0, 1], [0, 0], integers(4, 1))
    other = results([0], [0], integers(5))
    both = results([0], [0], integers(2))
    combined = conjunction([one, other, both])
    assert (combined.sequence.tolist(), combined.count.tolist()) == ([0], [17])  # type: ignore[union-attr]
    assert conjunction([one, other]).count.tolist() == [20]  # type: ignore[union-attr]
