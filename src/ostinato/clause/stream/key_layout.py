"""Open rows and released rows of a bucket -> each key's rows side by side, in the order of matching.

Only keys to which something happens are laid out for matching; the rows of all others stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.matches import ranges
from ostinato.streams.bucket_state import Keys, Rows

Mask = NDArray[np.bool_]


class Layout(NamedTuple):
    """Rows of some keys in the order of matching: `rows` are places among open rows followed by released ones."""

    keys: Rows
    """The number of each key: of the remembered ones first, then new ones as they appeared."""
    rows: Rows
    key_at: Rows


def key_numbers(remembered: Sequence[pa.Array] | None, released: pa.RecordBatch | None, names: Sequence[str]) -> Rows:
    """The key of each released row: `remembered` holds the known keys; new ones get the next numbers."""
    if released is None:
        return np.empty(0, np.int64)
    columns = [released.column(name) for name in names]
    if remembered is None:
        return group_numbers(released.num_rows, columns)
    if not names:
        return np.zeros(released.num_rows, np.int64)
    known = len(remembered[0])
    columns = [pa.concat_arrays(pair) for pair in zip(remembered, columns, strict=True)]
    return group_numbers(known + released.num_rows, columns)[known:]


def lay_out(keys: Keys, due: Mask, released: Rows, key_of_released: Rows) -> Layout:
    """`released`: places among the released rows, in order within a key; `due`: remembered keys to look at anyway."""
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
    # A stable sort keeps the order within a key; those of a key mostly lie together already.
    by_key = released[np.argsort(key_of_released[released], kind="stable")]
    rows[ranges(begins + open_count, new_count)] = int(keys.rows.sum()) + by_key
    return Layout(number, rows, np.concatenate(([0], ends)).astype(np.int64))
