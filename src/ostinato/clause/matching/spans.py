"""The rows of each key that a search may use: all of them, or those that a slice or a stream has at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.constants import NO_TIME


class Spans(NamedTuple):
    """Per key. Rows before `start` and from `end` on can be read (PREV, NEXT), but are in no match that is found here.

    A key whose rows before `start` are not all at hand must have at least one of them: the first row at hand counts as
    the first of the partition.
    """

    start: NDArray[np.int64]
    """The first row that is tried as the start of a match."""
    stop: NDArray[np.int64]
    """The row before which starts are tried."""
    end: NDArray[np.int64]
    """The row before which rows are consumed."""
    is_open: NDArray[np.uint8]
    """Whether rows of the key may follow that are not at hand."""
    number: NDArray[np.int64]
    """How many matches of the key were numbered before."""
    known_until: int = NO_TIME
    """Rows that follow in an open key are later than this."""
    given: NDArray[np.int64] | None = None
    """INCREMENTAL MATCHES as a stream meets them: those that end before this row were given already."""
    every_start: bool = False
    """Whether starts that a match skips are tried all the same."""


def whole_keys(key_at: NDArray[np.int64]) -> Spans:
    """All rows of key k, `key_at[k]:key_at[k + 1]`, are at hand."""
    keys = len(key_at) - 1
    return Spans(key_at[:-1], key_at[1:], key_at[1:], np.zeros(keys, np.uint8), np.zeros(keys, np.int64))
