"""Matches as arrays, and frames: for each output row its match, and the row of the match where it is computed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Matches(NamedTuple):
    """Match m covers `length[m]` rows from `start[m]`; `label[path_at[m] + j]` is the variable of its j-th row.

    Rows are numbered in the order of matching. Without labels (`path_at` all zero) only the range is known.
    """

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    number: NDArray[np.int64]
    path_at: NDArray[np.int64]
    label: NDArray[np.int32]
    excluded: NDArray[np.bool_]
    key_first: NDArray[np.int64]
    """The first row of the match's partition."""
    key_end: NDArray[np.int64]

    def rows(self) -> NDArray[np.int64]:
        """The row of every entry of `label`."""
        return ranges(self.start, self.length)


class Frames(NamedTuple):
    """One frame per output row: match `match[f]` as of its `at[f]`-th row; `at` is -1 for an empty match.

    Sorted by match, then by row. `row` is the row shown: for an empty match the one it was found at.
    """

    match: NDArray[np.int64]
    at: NDArray[np.int64]
    row: NDArray[np.int64]


def ranges(start: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """start[0], start[0] + 1, ..., then from start[1], and so on.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    total = int(length.sum())
    ends = np.cumsum(length)
    result: NDArray[np.int64] = np.arange(total, dtype=np.int64) + np.repeat(start - (ends - length), length)
    return result


def chosen(matches: Matches, which: NDArray[np.bool_] | NDArray[np.int64]) -> Matches:
    """The matches that the mask names, or those at the indexes, in that order."""
    length = matches.length[which]
    has_path = len(matches.label) > 0
    path = ranges(matches.path_at[which], length) if has_path else np.empty(0, np.int64)
    return Matches(
        start=matches.start[which],
        length=length,
        number=matches.number[which],
        path_at=np.cumsum(length) - length if has_path else np.zeros(len(length), np.int64),
        label=matches.label[path],
        excluded=matches.excluded[path],
        key_first=matches.key_first[which],
        key_end=matches.key_end[which],
    )


def one_row_frames(matches: Matches) -> Frames:
    """ONE ROW PER MATCH: each match as of its last row."""
    at = matches.length - 1
    return Frames(np.arange(len(at), dtype=np.int64), at, matches.start + np.maximum(at, 0))


def all_rows_frames(matches: Matches, *, show_empty: bool) -> Frames:
    """ALL ROWS PER MATCH: each match as of each of its rows that isn't excluded; empty matches as one row."""
    shown_length = np.where(matches.length == 0, 1 if show_empty else 0, matches.length)
    match = np.repeat(np.arange(len(shown_length), dtype=np.int64), shown_length)
    at = ranges(np.zeros(len(shown_length), np.int64), shown_length)
    empty = matches.length[match] == 0
    row = matches.start[match] + at
    at = np.where(empty, -1, at)
    if matches.excluded.any():
        entry = np.where(empty, 0, matches.path_at[match] + at)
        shown = empty | ~matches.excluded[entry]
        match, at, row = match[shown], at[shown], row[shown]
    return Frames(match, at, row)


def unmatched_rows(matches: Matches, count: int) -> NDArray[np.int64]:
    """The rows that are in no match and at which no empty match was found."""
    change = np.zeros(count + 1, np.int64)
    np.add.at(change, matches.start, 1)
    np.add.at(change, matches.start + np.maximum(matches.length, 1), -1)
    return np.flatnonzero(np.cumsum(change[:-1]) == 0)
