"""The row that a navigation leads to, and the output rows of matches: letters for the variables of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ostinato.kernels.kernel_cache import interpreted
from ostinato.rows import match_navigation
from ostinato.rows.match_navigation import NO_ROW, labels_at, target_rows
from ostinato.rows.matches import Frames, Matches, all_rows_frames, chosen, one_row_frames, unmatched_rows

pytestmark = pytest.mark.kernel


@pytest.fixture(params=["compiled", "python"], autouse=True)
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test runs with the compiled kernel, and with the Python function that it was compiled from."""
    if request.param == "python":
        monkeypatch.setattr(match_navigation, "_walk", interpreted(match_navigation._walk))
    yield


def matches_of(*words: str, rows: int) -> Matches:
    """A match for each word, in one partition: spaces before the variables of its rows. Small letters are excluded."""
    length = np.array([len(word.strip()) for word in words], np.int64)
    labels = "".join(word.strip() for word in words)
    return Matches(
        start=np.array([len(word) - len(word.lstrip()) for word in words], np.int64),
        length=length,
        number=np.arange(1, len(words) + 1),
        path_at=np.cumsum(length) - length,
        label=np.array([ord(letter.upper()) - ord("A") for letter in labels], np.int32),
        excluded=np.array([letter.islower() for letter in labels], np.bool_),
        key_first=np.zeros(len(words), np.int64),
        key_end=np.full(len(words), rows),
    )


FALL = matches_of("  ABBC", rows=8)
"""Rows 2 to 5 of 8: one A, two Bs, one C."""


def target(
    matches: Matches = FALL,
    variable: str = "",
    *,
    first: bool = False,
    skip: int = 0,
    shift: int = 0,
    each: bool = False,
    final: bool = False,
) -> list[int]:
    """The rows that FIRST or LAST of a variable (or of all) leads to, from the last row of a match or from each."""
    frames = all_rows_frames(matches, show_empty=True) if each else one_row_frames(matches)
    member = np.array([letter == variable for letter in "ABC"]) if variable else None
    rows = target_rows(matches, frames, member, from_first=first, skip=skip, shift=shift, final=final)
    result: list[int] = rows.tolist()
    return result


def test_first_and_last_row_of_a_variable() -> None:
    assert target(variable="B") == [4]
    assert target(variable="B", first=True) == [3]
    assert target() == [5]
    assert target(first=True) == [2]


def test_an_offset_counts_rows_of_the_variable() -> None:
    assert target(variable="B", skip=1) == [3]
    assert target(variable="B", first=True, skip=1) == [4]
    assert target(variable="B", skip=2) == [NO_ROW]
    assert target(first=True, skip=4) == [NO_ROW]


def test_prev_and_next_count_rows_of_the_partition() -> None:
    assert target(variable="A", shift=-2) == [0]
    assert target(variable="A", shift=-3) == [NO_ROW]
    assert target(shift=2) == [7]
    assert target(shift=3) == [NO_ROW]


def test_a_running_navigation_reads_rows_up_to_the_current_one() -> None:
    assert target(variable="B", each=True) == [NO_ROW, 3, 4, 4]
    assert target(variable="B", each=True, final=True) == [4, 4, 4, 4]
    assert target(each=True) == [2, 3, 4, 5]


def test_matches_may_overlap() -> None:
    assert target(matches_of("AB", " AB", "  A", rows=4), "A") == [0, 1, 2]


def test_an_empty_match_has_no_row() -> None:
    assert target(matches_of("   ", rows=4)) == [NO_ROW]


def test_the_label_of_a_row_is_known_inside_the_match_only() -> None:
    frames = Frames(np.zeros(4, np.int64), np.full(4, 3), np.full(4, 5))
    assert labels_at(FALL, frames, np.array([1, 2, 5, NO_ROW])).tolist() == [NO_ROW, 0, 2, NO_ROW]


# --- output rows ------------------------------------------------------------------------------------------------------


def test_one_row_per_match_shows_its_last_row() -> None:
    assert one_row_frames(matches_of("AB", "   ABC", rows=6)).row.tolist() == [1, 5]


def test_all_rows_without_excluded_ones() -> None:
    frames = all_rows_frames(matches_of("AbC", rows=3), show_empty=True)
    assert (frames.row.tolist(), frames.at.tolist()) == ([0, 2], [0, 2])


@pytest.mark.parametrize(("show_empty", "rows"), [(True, [0, 1, 3]), (False, [0, 1])])
def test_an_empty_match_is_shown_where_it_was_found(show_empty: bool, rows: list[int]) -> None:
    matches = matches_of("AB", "", rows=4)._replace(start=np.array([0, 3]))
    assert all_rows_frames(matches, show_empty=show_empty).row.tolist() == rows


def test_rows_in_no_match_are_unmatched() -> None:
    assert unmatched_rows(matches_of(" AB", "    C", rows=7), 7).tolist() == [0, 3, 5, 6]


def test_some_of_the_matches_by_mask_or_by_index() -> None:
    matches = matches_of("AB", "  C", "   AC", rows=5)
    by_mask = chosen(matches, np.array([True, False, True]))
    by_index = chosen(matches, np.array([2, 0]))
    assert (by_mask.start.tolist(), by_mask.label.tolist(), by_mask.path_at.tolist()) == ([0, 3], [0, 1, 0, 2], [0, 2])
    assert (by_index.start.tolist(), by_index.label.tolist(), by_index.number.tolist()) == (
        [3, 0],
        [0, 2, 0, 1],
        [3, 1],
    )
