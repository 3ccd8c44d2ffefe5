"""The rows of each key that a search may use: all of them, or those that a slice or a stream has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.constants import NO_TIME


class Spans(NamedTuple):
    """One entry per key. PREV and NEXT can read rows outside `start:end`, but no match contains them.

    The first row in memory counts as the first row of the partition. So if a key has rows before `start`, at least one
    of them must be in memory.
    """

    start: NDArray[np.int64]
    """The first row that is tried as the start of a match."""
    stop: NDArray[np.int64]
    """Starts before this row are tried."""
    end: NDArray[np.int64]
    """Rows before this one are consumed."""
    is_open: NDArray[np.uint8]
    """Whether rows of the key may follow that aren't here."""
    number: NDArray[np.int64]
    """The number of the key's last match before."""
    known_until: int = NO_TIME
    """Rows that follow in an open key are later than this."""
    reported_until: NDArray[np.int64] | None = None
    """INCREMENTAL MATCHES of a stream: those that end before this row have been reported."""
    every_start: bool = False
    """Whether starts that a match skips are tried too."""


def keys_of(key_at: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The key of each row, where key k has the rows `key_at[k]:key_at[k + 1]`."""
    return np.searchsorted(key_at, rows, side="right") - 1


def whole_keys(key_at: NDArray[np.int64]) -> Spans:
    """Spans over all rows, those of key k at `key_at[k]:key_at[k + 1]`."""
    keys = len(key_at) - 1
    return Spans(key_at[:-1], key_at[1:], key_at[1:], np.zeros(keys, np.uint8), np.zeros(keys, np.int64))
