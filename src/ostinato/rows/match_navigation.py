"""Frames -> the row that a navigation leads to, for all frames at once; NO_ROW where there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import kernel
from ostinato.rows.matches import Frames, Matches

NO_ROW = -1


def target_rows(
    matches: Matches,
    frames: Frames,
    member: NDArray[np.bool_] | None,
    *,
    from_first: bool,
    skip: int,
    shift: int,
    final: bool,
) -> NDArray[np.int64]:
    """From the first or last row whose label is a `member` (None: any row), over `skip` such rows, then by `shift`."""
    match = frames.match
    last = matches.length[match] - 1 if final else frames.at
    if member is None:
        at = np.full(len(match), skip, np.int64) if from_first else last - skip
        rows = np.where((at >= 0) & (at <= last), matches.start[match] + at, NO_ROW)
    else:
        rows = np.empty(len(match), np.int64)
        longest = int(matches.length.max(initial=0))
        _walk(
            matches.start,
            matches.path_at,
            matches.label,
            member,
            match,
            last,
            from_first,
            skip,
            np.empty(longest, np.int64),
            rows,
        )
    if shift:
        moved = rows + shift
        inside = (rows >= 0) & (moved >= matches.key_first[match]) & (moved < matches.key_end[match])
        rows = np.where(inside, moved, NO_ROW)
    return rows


@kernel
def _walk(start, path_at, label, member, match, last, from_first, skip, counted, rows):  # type: ignore[no-untyped-def]
    """Walks each match once; `counted` has its rows that count, up to the current frame."""
    current = -1
    count = 0
    reached = 0
    for frame in range(len(match)):
        if match[frame] != current:
            current = match[frame]
            count = 0
            reached = 0
        at = path_at[current]
        while reached <= last[frame]:
            if member[label[at + reached]]:
                counted[count] = start[current] + reached
                count += 1
            reached += 1
        index = skip if from_first else count - 1 - skip
        rows[frame] = counted[index] if 0 <= index < count else NO_ROW


def labels_at(matches: Matches, frames: Frames, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The label of a row in the frame's match; NO_ROW outside the match."""
    offset = rows - matches.start[frames.match]
    inside = (rows >= 0) & (offset >= 0) & (offset < matches.length[frames.match])
    entry = np.where(inside, matches.path_at[frames.match] + offset, 0)
    if len(matches.label) == 0:
        return np.full(len(rows), NO_ROW, np.int64)
    return np.where(inside, matches.label[entry], NO_ROW).astype(np.int64)
