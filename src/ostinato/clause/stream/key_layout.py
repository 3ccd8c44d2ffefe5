"""Open rows and released rows of a bucket -> each key's rows together, in the order of matching.

Only keys with new rows, or whose WITHIN has ended, are laid out. The rows of all other keys stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.batches import Mask
from ostinato.rows.matches import ranges
from ostinato.streams.bucket_state import RememberedKeys, Rows


class KeyLayout(NamedTuple):
    """Rows of some keys in the order of matching: `rows` are indexes into open rows followed by released rows."""

    keys: Rows
    """The number of each key. Remembered keys come first, then new ones in the order of arrival."""
    rows: Rows
    key_at: Rows


def key_numbers(remembered: Sequence[pa.Array] | None, released: pa.RecordBatch | None, names: Sequence[str]) -> Rows:
    """The number of each released row's key. `remembered` has the keys of the state; new keys get the next numbers."""
    if released is None:
        return np.empty(0, np.int64)
    columns = [released.column(name) for name in names]
    if remembered is None:
        return group_numbers(released.num_rows, columns)
    if not names:
        return np.zeros(released.num_rows, np.int64)
    count = len(remembered[0])
    columns = [pa.concat_arrays(pair) for pair in zip(remembered, columns, strict=True)]
    return group_numbers(count + released.num_rows, columns)[count:]


def lay_out(keys: RememberedKeys, due: Mask, released: Rows, key_of_released: Rows) -> KeyLayout:
    """`released`: indexes of the released rows, in order within a key; `due`: remembered keys to search in any case."""
    remembered = len(keys.rows)
    new = int(key_of_released.max(initial=remembered - 1)) + 1 - remembered
    arrived = np.bincount(key_of_released, minlength=remembered + new)
    at_hand = np.concatenate([keys.rows, np.zeros(new, np.int64)])
    wanted = arrived > 0
    wanted[:remembered] |= due
    number = np.flatnonzero(wanted)
    open_count, new_count = at_hand[number], arrived[number]
    ends = np.cumsum(open_count + new_count)
    begins = ends - open_count - new_count
    rows = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
    first = np.concatenate([keys.first, np.zeros(new, np.int64)])[number]
    rows[ranges(begins, open_count)] = ranges(first, open_count)
    # A stable sort keeps the order within a key. Rows of a key mostly lie together already.
    by_key = released[np.argsort(key_of_released[released], kind="stable")]
    rows[ranges(begins + open_count, new_count)] = int(keys.rows.sum()) + by_key
    return KeyLayout(number, rows, np.concatenate(([0], ends)).astype(np.int64))
