"""A worker's rows and conditions, prepared for probes: kinds of conditions, keys, bounds the clause doesn't have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.clause.matching.probing import worker_and_window

from ostinato.clause.matching.growths import ProbeMode, Probes, find, matches_at
from ostinato.clause.matching.spans import whole_keys
from ostinato.errors import MatchError

TABLE = pa.table(
    {
        "k": ["p"] * 6 + ["q"] * 3,
        "t": [None, 1, 2, 4, 5, 9, 1, 2, 3],
        "x": [5, 4, 3, 2, 1, 0, 7, 6, 5],
    }
)
FALL = "PARTITION BY k ORDER BY t MEASURES LAST(B.x) AS b MAXIMAL MATCHES PATTERN (A B+) DEFINE B AS x < PREV(x)"


def probes_of_keys(key_at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Probes:
    first, end = key_at[:-1], key_at[1:]
    return Probes(first, end, first, end, end, np.zeros(len(first), np.uint8))


@pytest.mark.parametrize(
    "condition",
    [
        "B AS x < PREV(x)",
        "B AS x < A.x",
        "B AS size(array_agg(x)) < 4",  # no kernel supports it
    ],
)
@pytest.mark.parametrize("pattern", ["A B+", "A B"])
def test_probes_of_whole_keys_find_the_matches_of_the_worker(pattern: str, condition: str) -> None:
    text = f"PARTITION BY k ORDER BY t MEASURES LAST(B.x) AS b MAXIMAL MATCHES PATTERN ({pattern}) DEFINE {condition}"
    worker, window = worker_and_window(text, TABLE)
    key_at = window.columns.ordered.key_at
    prepared = worker.prepared(window)
    probe_matches = find(prepared, probes_of_keys(key_at), ProbeMode.MAXIMAL)
    expected = worker.search(window, whole_keys(key_at)).matches
    matches = matches_at(prepared, probe_matches, np.arange(len(probe_matches.start)), expected.number)
    assert len(probe_matches.start) > 3
    for ours, theirs in zip(matches, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_additional_time_bound() -> None:
    """With a bound of three time units, no match is longer, and no match has rows without a time."""
    worker, window = worker_and_window(FALL, TABLE)
    bounded = worker.prepared(window, replace(worker.task, within_us=3))
    probe_matches = find(bounded, probes_of_keys(bounded.key_at), ProbeMode.MAXIMAL)
    assert list(zip(probe_matches.start.tolist(), probe_matches.length.tolist(), strict=True)) == [
        (1, 3),
        (2, 3),
        (3, 2),
        (6, 3),
        (7, 2),
    ]
    free = worker.prepared(window)
    assert find(free, probes_of_keys(free.key_at), ProbeMode.MAXIMAL).length.tolist() == [6, 5, 4, 3, 2, 3, 2]


def test_an_error_inside_a_probe_gets_its_key() -> None:
    text = "PARTITION BY k ORDER BY t MEASURES 1 AS o PATTERN (A B+) DEFINE B AS x > 10 / (A.x + B.x - 13)"
    worker, window = worker_and_window(text, TABLE)
    prepared = worker.prepared(window)
    with pytest.raises(MatchError) as caught:
        find(prepared, probes_of_keys(prepared.key_at), ProbeMode.GROWING)
    named = worker.with_key(caught.value, window)
    where = "in the partition k = 'q', from the row with t = 1"
    assert (named.code, named.message) == ("DIVIDE_BY_ZERO", f"division by zero in DEFINE, {where}")
