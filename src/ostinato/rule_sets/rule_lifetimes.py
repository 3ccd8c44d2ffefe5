"""The keys that a step lays out -> their lifetimes. With `forget_keys_after`, rules see each lifetime as a key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ostinato.clause.stream.key_layout import KeyLayout
from ostinato.clause.stream.key_lifetimes import NEW, lifetimes
from ostinato.rows.batches import Mask
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.streams.bucket_state import Rows


class LaidOut(NamedTuple):
    """The keys of a step and their rows."""

    keys: Rows
    rows: KeyRows
    ended: Mask
    """Whether no row follows in a key."""
    of_key: Rows
    """The position of the key that the rows were laid out for."""
    forgotten_keys: int = 0
    """Stored keys that ended because they were silent for too long."""

    @property
    def has_ended(self) -> Mask:
        """For each key that the rows were laid out for, whether one of its lifetimes has ended."""
        return np.bincount(self.of_key[self.ended], minlength=int(self.of_key.max(initial=-1)) + 1) > 0


def in_lifetimes(
    keys: Rows, rows: KeyRows, stored: int, forget_us: int | None, known_until: int, *, finished: bool
) -> LaidOut:
    """`keys` are the numbers of the laid-out keys; those below `stored` are in the state. The stored rows of a key
    belong to one lifetime."""
    if forget_us is None:
        return LaidOut(keys, rows, np.full(len(keys), finished), np.arange(len(keys)))
    layout = KeyLayout(keys, np.empty(0, np.int64), rows.key_at)
    lives = lifetimes(layout, stored, rows.times, forget_us, known_until, finished=finished)
    of_key, is_old = np.searchsorted(rows.key_at, lives.key_at[:-1], side="right") - 1, lives.continues != NEW
    at_hand, missing = np.where(is_old, rows.stored[of_key], 0), np.where(is_old, rows.missing[of_key], 0)
    return LaidOut(
        np.where(is_old, lives.continues, stored),
        KeyRows(rows.columns, rows.times, lives.key_at, at_hand, missing, rows.settings),
        lives.ended,
        of_key,
        0 if finished else int((is_old & lives.ended).sum()),
    )
