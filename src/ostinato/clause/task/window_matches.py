"""The matches of a window's search -> the match of each row, or no rows where it has none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching import search_arrays as s
from ostinato.clause.matching.match_engine import SearchResult, Task
from ostinato.clause.matching.search_failures import failure_of
from ostinato.clause.query.clause import SkipKind
from ostinato.clause.query.window_pattern import BEFORE_MATCH, WindowPattern
from ostinato.rows.batches import Mask
from ostinato.rows.matches import Frames, Matches


class RowMatches(NamedTuple):
    """`matches` has an entry for each row in the order of matching, empty where no match is stored.

    `frames` has for each row the entry that it reads, as of its last row. Rows may share an entry.
    """

    matches: Matches
    frames: Frames
    has_match: Mask
    """The rows that have a match, possibly an empty one."""


class _OrderedMatches(NamedTuple):
    """Matches in their order; `row` is the row that gets the match, `start` its first row."""

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    label: NDArray[np.int32]


def matches_of_rows(result: SearchResult, task: Task, key_at: NDArray[np.int64], window: WindowPattern) -> RowMatches:
    """Raises SKIP_TO_FIRST_ROW for a match that the search didn't see to begin at the target."""
    count = int(key_at[-1])
    row, start, length, label = _rows_with_matches(result, task, window)
    everywhere = np.arange(count, dtype=np.int64)
    starts, lengths = everywhere.copy(), np.zeros(count, np.int64)
    starts[row], lengths[row] = start, length
    has_match = np.zeros(count, np.bool_)
    has_match[row] = True
    readable_end = np.repeat(key_at[1:], np.diff(key_at))
    if window.frame_end is not None:
        readable_end = np.minimum(readable_end, everywhere + window.frame_end + 1)
    matches = Matches(
        start=starts,
        length=lengths,
        number=np.zeros(count, np.int64),
        path_at=np.cumsum(lengths) - lengths if len(label) else np.zeros(count, np.int64),
        label=label,
        excluded=np.zeros(len(label), np.bool_),
        key_first=everywhere,  # PREV can't leave the frame, which begins with the row
        key_end=readable_end,
    )
    entry = _next_match(has_match, key_at) if _shares_matches(task, window) else everywhere
    return RowMatches(matches, Frames(entry, lengths[entry] - 1, everywhere), has_match[entry])


def _shares_matches(task: Task, window: WindowPattern) -> bool:
    """Whether rows get the match of a later row: SEEK without a search of its own, where no row is skipped."""
    return window.seek and BEFORE_MATCH not in task.variables and task.skip.kind is SkipKind.TO_NEXT_ROW


def _rows_with_matches(result: SearchResult, task: Task, window: WindowPattern) -> _OrderedMatches:
    matches = result.matches
    if BEFORE_MATCH in task.variables:
        return _without_hidden(result, task)
    is_sought = window.seek and not _shares_matches(task, window)
    row = _where_searches_began(result) if is_sought else matches.start
    return _OrderedMatches(row, matches.start, matches.length, matches.label)


def _without_hidden(result: SearchResult, task: Task) -> _OrderedMatches:
    """The matches without the rows that SEEK passes over, which have a label of their own."""
    matches = result.matches
    is_hidden = matches.label == task.variables.index(BEFORE_MATCH)
    match_of_label = np.repeat(np.arange(len(matches.start)), matches.length)
    before = np.bincount(match_of_label[is_hidden], minlength=len(matches.start))
    if task.skip.kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST):
        stays = np.flatnonzero((before > 0) & (result.ahead == before))
        if len(stays):
            raise failure_of(task, s.SKIP_TO_FIRST_ROW, int(matches.start[stays[0]]))
    return _OrderedMatches(matches.start, matches.start + before, matches.length - before, matches.label[~is_hidden])


def _where_searches_began(result: SearchResult) -> NDArray[np.int64]:
    """For each match the row behind those that the match before has skipped, or the first row of the key."""
    start, first = result.matches.start, result.matches.key_first
    resumed = np.concatenate(([0], (start + result.ahead)[:-1])) if len(start) else start
    return np.maximum(resumed, first)


def _next_match(has_match: Mask, key_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the next row of its key that has a match, itself included; itself if there is none."""
    everywhere = np.arange(len(has_match), dtype=np.int64)
    candidates = np.where(has_match, everywhere, len(has_match))
    following = np.minimum.accumulate(candidates[::-1])[::-1]
    return np.where(following < np.repeat(key_at[1:], np.diff(key_at)), following, everywhere)
