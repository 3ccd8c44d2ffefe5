"""The matches that a window's search has found -> one match for each row: its own, or an empty one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching import search_arrays as s
from ostinato.clause.matching.match_engine import SearchResult, Task
from ostinato.clause.matching.search_failures import failure_of
from ostinato.clause.query.clause import SkipKind
from ostinato.rows.batches import Mask
from ostinato.rows.matches import Frames, Matches


class RowMatches(NamedTuple):
    """`matches` has an entry for each row in the order of matching; `frames` reads each as of its last row."""

    matches: Matches
    frames: Frames
    has_match: Mask
    """The rows that have a match, possibly an empty one. For the others the entry stands for no rows."""


class _Found(NamedTuple):
    """Matches without the rows that SEEK passes over; `row` is the row that gets the match."""

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    label: NDArray[np.int32]


def matches_of_rows(
    found: SearchResult, task: Task, key_at: NDArray[np.int64], hidden: int | None, frame_end: int | None
) -> RowMatches:
    """`hidden` is the label of the rows that SEEK passes over. Raises SKIP_TO_FIRST_ROW where they hid it."""
    count = int(key_at[-1])
    row, start, length, label = _without_hidden(found, task, hidden)
    everywhere = np.arange(count, dtype=np.int64)
    starts, lengths = everywhere.copy(), np.zeros(count, np.int64)
    starts[row], lengths[row] = start, length
    has_match = np.zeros(count, np.bool_)
    has_match[row] = True
    readable_end = np.repeat(key_at[1:], np.diff(key_at))
    if frame_end is not None:
        readable_end = np.minimum(readable_end, everywhere + frame_end + 1)
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
    return RowMatches(matches, Frames(everywhere, lengths - 1, everywhere), has_match)


def _without_hidden(found: SearchResult, task: Task, hidden: int | None) -> _Found:
    matches = found.matches
    if hidden is None:
        return _Found(matches.start, matches.start, matches.length, matches.label)
    is_hidden = matches.label == hidden
    match_of_label = np.repeat(np.arange(len(matches.start)), matches.length)
    before = np.bincount(match_of_label[is_hidden], minlength=len(matches.start))
    if task.skip.kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST):
        stays = np.flatnonzero((before > 0) & (found.ahead == before))
        if len(stays):
            raise failure_of(task, s.SKIP_TO_FIRST_ROW, int(matches.start[stays[0]]))
    return _Found(matches.start, matches.start + before, matches.length - before, matches.label[~is_hidden])
