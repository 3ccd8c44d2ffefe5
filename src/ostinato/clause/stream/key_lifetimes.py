"""Rows of keys in order + their times -> the lifetimes of the keys.

With `forget_keys_after`, a silence that is longer ends the lifetime of a key: its rows are matched as at the end of
input, and later rows as those of a new key. The rows alone decide where a lifetime ends, not the steps in which they
arrive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.stream.key_layout import KeyLayout
from ostinato.rows.batches import Mask
from ostinato.streams.bucket_state import RememberedKeys, Rows

NEW = -1


class Lifetimes(NamedTuple):
    """The rows of lifetime i are `key_at[i]:key_at[i + 1]`."""

    key_at: Rows
    continues: Rows
    """The number of the remembered key whose lifetime it is, or NEW."""
    ended: Mask
    """Whether no row follows in the lifetime."""

    def keys(self, remembered: RememberedKeys) -> RememberedKeys:
        """Each lifetime as remembered; new ones have nothing behind them."""
        keys = RememberedKeys.new(len(self.ended))
        is_old = self.continues != NEW
        for column, stored in zip(keys, remembered, strict=True):
            column[is_old] = stored[self.continues[is_old]]
        return keys


def whole_lifetimes(layout: KeyLayout, remembered: int, *, finished: bool) -> Lifetimes:
    """One lifetime for each key: no key is forgotten. The first `remembered` keys are those of the state."""
    continues = np.where(layout.keys < remembered, layout.keys, NEW)
    return Lifetimes(layout.key_at, continues, np.full(len(layout.keys), finished))


def lifetimes(
    layout: KeyLayout, remembered: int, times: NDArray[np.int64], forget_us: int, known_until: int, *, finished: bool
) -> Lifetimes:
    """The lifetimes of keys that are forgotten after `forget_us`. Rows to come are later than `known_until`."""
    begins = np.union1d(layout.key_at[:-1], np.flatnonzero(np.diff(times) > forget_us) + 1)
    key_at = np.append(begins, layout.key_at[-1])
    key = np.searchsorted(layout.key_at, begins, side="right") - 1
    is_first = begins == layout.key_at[key]
    is_last = np.append(is_first[1:], True)
    is_silent = times[key_at[1:] - 1] + forget_us <= known_until
    continues = np.where(is_first & (layout.keys[key] < remembered), layout.keys[key], NEW)
    return Lifetimes(key_at, continues, finished | ~is_last | is_silent)
