"""Chains of starts: the starts where they meet, and joined chains. A letter is a row of a match, by its label."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.rows.matches import Matches
from ostinato.slices.chains import EMPTY_CHAIN, MatchChain, joined, numbered, one_for_each_last_row

LABELS = "ABC"


def chain(
    *matches: tuple[int, str], next_start: int = 0, ahead: list[int] | None = None, labelled: bool = True
) -> MatchChain:
    """Matches by their first row and the labels of their rows; each skips past its last row unless told otherwise."""
    length = np.array([len(rows) for _, rows in matches], np.int64)
    label = np.array([LABELS.index(letter) for _, rows in matches for letter in rows], np.int32)
    return MatchChain(
        start=np.array([start for start, _ in matches], np.int64),
        length=length,
        ahead=np.maximum(length, 1) if ahead is None else np.array(ahead, np.int64),
        path_at=np.cumsum(length) - length if labelled else np.zeros(len(matches), np.int64),
        label=label if labelled else label[:0],
        excluded=np.zeros(len(label) if labelled else 0, np.bool_),
        next_start=next_start,
    )


def words(matches: MatchChain | Matches) -> list[tuple[int, str]]:
    """The arguments with which `chain` makes this chain."""
    return [
        (int(start), "".join(LABELS[label] for label in matches.label[at : at + length]))
        for start, length, at in zip(matches.start, matches.length, matches.path_at, strict=True)
    ]


def rows_tried(result: MatchChain, rows: int) -> list[int]:
    return [row for row in range(rows) if result.tries(row)]


def test_rows_of_a_match_are_not_tried() -> None:
    assert rows_tried(chain((2, "ABB"), (7, "AB")), 10) == [0, 1, 2, 5, 6, 7, 9]


def test_a_row_that_a_match_skips_to_is_tried() -> None:
    assert rows_tried(chain((2, "ABB"), ahead=[2]), 6) == [0, 1, 2, 4, 5]


def test_without_matches_every_row_is_tried() -> None:
    assert rows_tried(EMPTY_CHAIN, 4) == [0, 1, 2, 3]


def test_an_empty_match_skips_nothing() -> None:
    assert rows_tried(chain((0, ""), (1, "AB"), (3, "")), 5) == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("row", "left"),
    [
        (0, [(2, "ABB"), (6, ""), (7, "AC")]),
        (2, [(2, "ABB"), (6, ""), (7, "AC")]),
        (5, [(6, ""), (7, "AC")]),
        (7, [(7, "AC")]),
        (9, []),
    ],
)
def test_the_rest_of_a_chain_from_a_row_on(row: int, left: list[tuple[int, str]]) -> None:
    result = chain((2, "ABB"), (6, ""), (7, "AC"), next_start=9).since(row)
    assert words(result) == left
    assert result.next_start == 9
    assert result.path_at.tolist() == (np.cumsum(result.length) - result.length).tolist()
    assert len(result.label) == len(result.excluded) == result.length.sum()


def test_successive_chains_are_joined() -> None:
    result = joined(
        [EMPTY_CHAIN, chain((0, "AB"), next_start=2), chain(next_start=4), chain((4, ""), (5, "ACC"), next_start=8)]
    )
    assert words(result) == [(0, "AB"), (4, ""), (5, "ACC")]
    assert result.next_start == 8
    assert rows_tried(result, 9) == [0, 2, 3, 4, 5, 8]


def test_a_chain_that_is_cut_and_joined_is_unchanged() -> None:
    uncut = chain((0, "AB"), (2, ""), (3, "ACC"), (8, "A"), next_start=9)
    for row in range(10):
        first = chain(*(result for result in words(uncut) if result[0] < row), next_start=row)
        rejoined = joined([first, uncut.since(row)])
        assert words(rejoined) == words(uncut)
        assert rejoined.path_at.tolist() == uncut.path_at.tolist()


def test_chains_without_labels_are_joined() -> None:
    result = joined([chain((0, "AB"), labelled=False), chain((2, "ABC"), (5, "A"), labelled=False).since(5)])
    assert result.start.tolist() == [0, 5]
    assert result.length.tolist() == [2, 1]
    assert len(result.label) == 0
    assert result.path_at.tolist() == [0, 0]


def test_match_numbers_restart_in_every_key() -> None:
    result = numbered(chain((0, "A"), (2, "AB"), (5, "A"), (6, "A"), (11, "A")), np.array([0, 5, 10, 12]))
    assert result.number.tolist() == [1, 2, 1, 2, 1]
    assert words(result) == [(0, "A"), (2, "AB"), (5, "A"), (6, "A"), (11, "A")]


def test_incremental_matches_keep_the_longest_for_each_last_row() -> None:
    matches = chain((0, "AB"), (0, "ABB"), (1, "B"), (1, "BB"), (3, "C"), ahead=[1] * 5)
    result = one_for_each_last_row(matches)
    assert words(result) == [(0, "AB"), (0, "ABB"), (3, "C")]
    assert result.path_at.tolist() == [0, 2, 5]


# --- joined by a search ---


def test_an_error_at_a_start_that_is_never_tried_is_not_raised() -> None:
    """A slice that begins at row 1 divides by zero. The match of rows 0 to 2 skips that row."""
    clause = "ORDER BY n MEASURES FIRST(n) AS f, LAST(n) AS l PATTERN (A B+) DEFINE B AS kind = 'T' AND 1 / A.x > 0"
    table = pa.table({"n": range(6), "kind": list("STTSTT"), "x": [1, 0, 0, 1, 0, 0]})
    expected = [{"f": 0, "l": 2}, {"f": 3, "l": 5}]
    assert ost.match(clause, table).to_pylist() == expected
    assert ost.match(clause, table, workers=2, slice_rows=1).to_pylist() == expected
    assert ost.match(clause, table, workers=2, slice_rows=4).to_pylist() == expected
    with pytest.raises(ost.MatchError) as caught:  # row 1 alone is a true start
        ost.match(clause, table.slice(1), workers=2, slice_rows=2)
    assert caught.value.code == "DIVIDE_BY_ZERO"


@pytest.mark.parametrize("slice_rows", [1, 2, 3, 7, 100])
def test_a_match_longer_than_many_slices(slice_rows: int) -> None:
    """The chains of all slices inside the match are dropped."""
    letters = "X" + "A" * 40 + "X" + "A" * 3
    clause = "ORDER BY n MEASURES MATCH_NUMBER() AS m, FIRST(n) AS f, LAST(n) AS l PATTERN (A+) DEFINE A AS kind = 'A'"
    table = pa.table({"n": range(len(letters)), "kind": list(letters)})
    result = ost.match(clause, table, workers=3, slice_rows=slice_rows).to_pylist()
    assert result == [{"m": 1, "f": 1, "l": 40}, {"m": 2, "f": 42, "l": 44}]
