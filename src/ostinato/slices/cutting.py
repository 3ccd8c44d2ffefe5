"""The ordered rows of all keys -> slices. A slice owns the matches that start in it, of all keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.spans import Spans
from ostinato.clause.plan.slicing import Margins

SMALLEST_SLICE = 1 << 15
"""Smaller slices don't pay: starting a worker takes about a millisecond."""
SLICES_PER_WORKER = 4
"""With several slices for each worker, workers end at about the same time although slices differ."""
SLICES_PER_WORKER_IF_WASTED = 8
"""The same if slices may be wasted. Smaller slices make a wasted one cheaper."""
ROWS_PER_REPEATED_ROW = 32
"""At most one in this many rows of a slice may be searched twice: by its worker, and again when chains are joined. With
more repeated rows, slices cost more than they gain."""


class Slice(NamedTuple):
    """A slice owns the rows `first:end`."""

    first: int
    end: int


class View(NamedTuple):
    """Rows `first:end` of all rows, and the spans to search, counted from `first`."""

    first: int
    end: int
    spans: Spans


def cut(rows: int, owned: int) -> list[Slice]:
    """Slices of `owned` rows each. The last may have fewer.

    >>> cut(5, 2)
    [Slice(first=0, end=2), Slice(first=2, end=4), Slice(first=4, end=5)]
    """
    return [Slice(first, min(first + owned, rows)) for first in range(0, rows, owned)]


def good_slices(rows: int, workers: int, shared: int, *, may_be_wasted: bool) -> list[Slice]:
    """Slices of a good size. `shared`: rows that a slice shares with the next. One slice if cutting doesn't pay.

    Slices that may be wasted have to be small, because others run at the same time.
    """
    smallest = max(SMALLEST_SLICE, ROWS_PER_REPEATED_ROW * shared)
    slices = workers * (SLICES_PER_WORKER_IF_WASTED if may_be_wasted else SLICES_PER_WORKER)
    if may_be_wasted and rows < smallest * slices:
        return cut(rows, max(rows, 1))
    return cut(rows, max(smallest, -(-rows // slices)))


def one_span(start: int, stop: int, end: int, *, is_open: bool, number: int = 0) -> Spans:
    """The spans of a search over one key. `number`: number of matches of the key so far."""
    return Spans(
        np.array([start]), np.array([stop]), np.array([end]), np.array([is_open], np.uint8), np.array([number])
    )


def view_of(start: int, stop: int, reach: int, key_at: NDArray[np.int64], margins: Margins) -> View:
    """The rows that a search of the starts `start:stop` needs if matches end before row `reach`.

    It includes at least one row before `start`, if the key has any: otherwise `start` would look like the key's first.
    """
    first_key = int(np.searchsorted(key_at, start, side="right")) - 1
    last_key = int(np.searchsorted(key_at, stop - 1, side="right")) - 1
    end_of_last = int(key_at[last_key + 1])
    first = max(int(key_at[first_key]), start - max(margins.before, 1))
    reach = min(max(reach, stop), end_of_last)
    end = min(reach + margins.after, end_of_last)
    key_first, key_end = key_at[first_key : last_key + 1] - first, key_at[first_key + 1 : last_key + 2] - first
    ends = np.minimum(key_end, reach - first)
    spans = Spans(
        start=np.maximum(key_first, start - first),
        stop=np.minimum(key_end, stop - first),
        end=ends,
        is_open=(ends < key_end).astype(np.uint8),
        number=np.zeros(len(key_end), np.int64),
    )
    return View(first, end, spans)
