"""Stored rows and released rows of a bucket -> the rows of a step, key after key, as all rules see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.key_layout import key_numbers
from ostinato.expressions.values.value_order import OrderKey
from ostinato.rows.batches import Mask
from ostinato.rows.column_names import ORDINAL
from ostinato.rows.match_ids import tie_ordinals
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import order_rows
from ostinato.rule_sets.bucket_layout import RuleBucket, stored_columns
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.stored_keys import StoredKeys
from ostinato.streams.bucket_state import Rows
from ostinato.streams.intake import Gate
from ostinato.streams.record_batches import joined


class ReleasedRows(NamedTuple):
    """The released rows by key, then in the order that all rules share. Ordinals tell rows of one time apart."""

    rows: pa.RecordBatch | None
    number: Rows
    """The number of each key, ascending. New keys have numbers behind the stored ones."""
    key_at: Rows
    """Key `number[i]` has the rows `key_at[i]:key_at[i + 1]`."""


NO_ROWS = ReleasedRows(None, np.empty(0, np.int64), np.zeros(1, np.int64))


def released_rows(released: pa.RecordBatch | None, keys: StoredKeys, declared: Declaration) -> ReleasedRows:
    """The rows ordered by key, by time, then by all declared columns."""
    if released is None or not released.num_rows:
        return NO_ROWS
    of_row = key_numbers(keys.values if keys.count else None, released, declared.keys)
    order = [OrderKey(released.column(name)) for name in declared.time]
    ordered = order_rows(released.num_rows, (), order, lambda: released.columns).rows
    by_time = np.arange(released.num_rows) if ordered is None else ordered
    # A stable sort keeps the order within a key.
    position = by_time[np.argsort(of_row[by_time], kind="stable")]
    number, first = np.unique(of_row[position], return_index=True)
    key_at = np.append(first, released.num_rows)
    rows = released.take(pa.array(position))
    ordinals = tie_ordinals([rows.column(name) for name in declared.time], key_at)
    return ReleasedRows(rows.append_column(ORDINAL, pa.array(ordinals)), number, key_at)


def lay_out_rows(bucket: RuleBucket, keys: Rows, reads: Mask, released: ReleasedRows, declared: Declaration) -> KeyRows:
    """The rows of these keys, whose numbers ascend. `reads`: all stored rows of the key are laid out, else its recent
    ones."""
    stored = bucket.keys
    position = np.flatnonzero(keys < stored.count)
    number, reads = keys[position], reads[position]
    at_hand, first = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    at_hand[position] = np.where(reads, stored.rows[number], stored.recent_counts[number])
    recent_count = 0 if stored.recent is None else stored.recent.num_rows
    read_counts = stored.rows[number[reads]]
    first[position] = stored.recent_first[number]
    first[position[reads]] = recent_count + np.cumsum(read_counts) - read_counts
    new, first_new = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    of_released = np.searchsorted(keys, released.number)
    new[of_released] = np.diff(released.key_at)
    first_new[of_released] = recent_count + int(read_counts.sum()) + released.key_at[:-1]
    key_at = np.append(0, np.cumsum(at_hand + new))
    chosen = np.empty(int(key_at[-1]), np.int64)
    chosen[ranges(key_at[:-1], at_hand)] = ranges(first, at_hand)
    chosen[ranges(key_at[:-1] + at_hand, new)] = ranges(first_new, new)
    pool = joined([stored.recent, bucket.rows_of(number[reads], declared), released.rows])
    if pool is None:
        columns = {name: pa.array([], kind) for name, kind in stored_columns(declared).items()}
    else:
        laid_out = pool if _is_whole(chosen, pool.num_rows) else pool.take(pa.array(chosen))
        columns = dict(zip(laid_out.schema.names, laid_out.columns, strict=True))
    missing = np.zeros(len(keys), np.int64)
    missing[position] = stored.rows[number] - at_hand[position]
    times = Gate(declared.time[0]).times(pa.RecordBatch.from_pydict(columns))
    return KeyRows(columns, times, key_at, at_hand, missing, declared.settings)


def _is_whole(chosen: Rows, count: int) -> bool:
    return len(chosen) == count and bool((chosen == np.arange(count)).all())
