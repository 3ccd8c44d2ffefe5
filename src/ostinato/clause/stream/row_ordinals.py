"""Laid-out rows of some keys -> their ordinals, by which ids of matches tell rows apart that are equal in ORDER BY.

The state stores the ordinal of each open row in the column ORDINAL. A new row continues from the open row before it.
Rows of one time are released in one step, so that this only happens in `eager` streams. There, rows of one time may
come in any order: a row that comes before its predecessor, and all later rows of this time, count down from -1. So
ordinals differ in any case.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ostinato.clause.query.bound_clause import BoundKey
from ostinato.clause.stream.key_layout import KeyLayout
from ostinato.expressions.values.value_order import OrderKey, sortable
from ostinato.rows.batches import Mask
from ostinato.rows.column_names import ORDINAL
from ostinato.rows.match_ids import tie_ordinals
from ostinato.streams.bucket_state import Rows
from ostinato.streams.record_batches import joined


def with_ordinals(rows: pa.RecordBatch, key_at: Rows, order: Sequence[BoundKey]) -> pa.RecordBatch:
    """Released rows in the order of matching, with the column ORDINAL. No row of their times came before them."""
    ordinals = tie_ordinals([rows.column(key.column) for key in order], key_at)
    return rows.append_column(ORDINAL, pa.array(ordinals))


def pool_with_ordinals(
    open_rows: pa.RecordBatch | None, released: pa.RecordBatch | None, layout: KeyLayout, order: Sequence[BoundKey]
) -> pa.RecordBatch | None:
    """Open rows and released rows in one batch, with the column ORDINAL. Only laid-out rows have a new ordinal."""
    count = 0 if open_rows is None else open_rows.num_rows
    if released is not None:
        released = released.append_column(ORDINAL, pa.array(np.zeros(released.num_rows, np.int64)))
    pool = joined([open_rows, released])
    if pool is None:
        return None
    chosen = pa.array(layout.rows)
    stored = np.array(pool.column(ORDINAL))
    columns = [pool.column(key.column).take(chosen) for key in order]
    ordered_by = [
        numbers
        for key, values in zip(order, columns, strict=True)
        for numbers in sortable(OrderKey(values, key.key.descending, key.key.puts_nulls_first))
    ]
    times = sortable(OrderKey(columns[0]))
    stored[layout.rows] = _ordinals(
        tie_ordinals(columns, layout.key_at), stored[layout.rows], layout.rows < count, layout.key_at, ordered_by, times
    )
    position = pool.schema.get_field_index(ORDINAL)
    return pool.set_column(position, ORDINAL, pa.array(stored))


def _ordinals(
    equal_before: Rows, stored: Rows, is_open: Mask, key_at: Rows, order: Sequence[Rows], times: Sequence[Rows]
) -> Rows:
    row = np.arange(len(equal_before))
    first_equal = row - equal_before
    ordinals = equal_before + np.where(is_open[first_equal], stored[first_equal], 0)
    # The first new row of each key that has an open row before it.
    follows = np.flatnonzero(~is_open[1:] & is_open[:-1]) + 1
    new = np.setdiff1d(follows, key_at)
    comes_before, ties = np.zeros(len(new), np.bool_), np.ones(len(new), np.bool_)
    for numbers in order:
        comes_before |= ties & (numbers[new] < numbers[new - 1])
        ties &= numbers[new] == numbers[new - 1]
    same_time = np.logical_and.reduce([numbers[new] == numbers[new - 1] for numbers in times])
    for at in new[same_time & (comes_before | (stored[new - 1] < 0))]:
        end = key_at[np.searchsorted(key_at, at, side="right")]
        of_time = np.logical_and.reduce([numbers[at:end] == numbers[at] for numbers in times])
        count = int(np.argmin(of_time)) if not of_time.all() else int(end - at)
        ordinals[at : at + count] = min(int(stored[at - 1]), 0) - 1 - np.arange(count)
    return np.where(is_open, stored, ordinals)
