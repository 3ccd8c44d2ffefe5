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

    layout: KeyLayout
    rows: KeyRows
    ended: Mask
    """Whether no row follows in a key."""
    forgotten_keys: int = 0
    """Stored keys that ended because they were silent for too long."""


def in_lifetimes(
    layout: KeyLayout, rows: KeyRows, stored: Rows, forget_us: int | None, known_until: int, *, finished: bool
) -> LaidOut:
    """`stored` is the number of stored rows of each key of the state. They belong to one lifetime."""
    if forget_us is None:
        return LaidOut(layout, rows, np.full(len(layout.keys), finished))
    lives = lifetimes(layout, len(stored), rows.times, forget_us, known_until, finished=finished)
    is_old = lives.continues != NEW
    at_hand = np.zeros(len(is_old), np.int64)
    at_hand[is_old] = stored[lives.continues[is_old]]
    return LaidOut(
        KeyLayout(np.where(is_old, lives.continues, len(stored)), layout.rows, lives.key_at),
        KeyRows(rows.columns, rows.times, lives.key_at, at_hand, rows.settings),
        lives.ended,
        0 if finished else int((is_old & lives.ended).sum()),
    )
