"""Rows in any order -> sequences. A sequence has the events that may be in one match, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.event_queries.task.sequences import SequenceKeys, Sequences, find_sequences


def sequences_of(
    time: list[Any], group: list[Any] | None = None, same: list[Any] | None = None, **options: Any
) -> Sequences:
    keys = SequenceKeys(
        [] if group is None else [pa.array(group)], [] if same is None else [pa.array(same)], pa.array(time)
    )
    return find_sequences(len(time), keys, **options)


def rows_by_sequence(sequences: Sequences) -> list[list[int]]:
    return [rows.tolist() for rows in np.split(sequences.rows, sequences.starts[1:-1])] if len(sequences.rows) else []


def test_one_sequence_in_order_of_time() -> None:
    sequences = sequences_of([30, 10, 20])
    assert rows_by_sequence(sequences) == [[1, 2, 0]]
    assert sequences.time.tolist() == [10, 20, 30]
    assert sequences.group.tolist() == [0]
    assert sequences.examples.tolist() == [1]


def test_a_row_without_a_time_is_in_no_sequence() -> None:
    sequences = sequences_of([30, None, 20], places=True)
    assert rows_by_sequence(sequences) == [[2, 0]]
    assert sequences.place.tolist() == [0, 1]


def test_groups_are_numbered_in_sort_order_with_null_first() -> None:
    sequences = sequences_of([1, 2, 3, 4], group=["b", None, "a", "b"])
    assert [sequences.group[i] for i in range(3)] == [2, 0, 1]
    assert rows_by_sequence(sequences) == [[0, 3], [1], [2]]
    assert sequences.examples.tolist() == [1, 2, 0]


def test_a_row_without_a_value_of_same_is_in_no_sequence_but_has_a_number() -> None:
    sequences = sequences_of([1, 2, 3, 4], group=["g"] * 4, same=["x", None, "y", "x"], places=True)
    assert rows_by_sequence(sequences) == [[0, 3], [2]]
    assert sequences.place.tolist() == [0, 3, 2]
    assert sequences.group.tolist() == [0, 0]


def test_rows_that_do_not_matter_have_numbers() -> None:
    sequences = sequences_of([3, 2, 1], matters=np.array([True, False, True]), places=True)
    assert rows_by_sequence(sequences) == [[2, 0]]
    assert sequences.place.tolist() == [0, 2]


def test_the_order_of_ties_decides_the_numbers_of_events() -> None:
    for order in ([0, 1, 2], [2, 0, 1]):
        letters = [["c", "a", "b"][i] for i in order]
        sequences = sequences_of([1, 1, 1], places=True, ties=lambda letters=letters: [pa.array(letters)])
        assert [letters[row] for row in sequences.rows] == ["a", "b", "c"]
        assert sequences.place.tolist() == [0, 1, 2]


def test_nan_equals_nan_and_both_zeros_are_equal() -> None:
    sequences = sequences_of([1, 2, 3, 4], same=[0.0, float("nan"), -0.0, float("nan")])
    assert rows_by_sequence(sequences) == [[0, 2], [1, 3]]


def test_no_rows_have_no_sequences() -> None:
    for sequences in (sequences_of([]), sequences_of([None], group=["a"])):
        assert sequences.count == 0
        assert rows_by_sequence(sequences) == []
        assert sequences.examples.tolist() == []


def test_dates_are_midnights() -> None:
    keys = SequenceKeys([], [], pa.array([1, 0], pa.int32()).cast(pa.date32()))
    assert find_sequences(2, keys).time.tolist() == [0, 86_400_000_000]
