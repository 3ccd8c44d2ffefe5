"""Rows in any order -> the order of matching: by partition key, then ORDER BY, then all other columns.

Rows of one key come together; the order of the keys doesn't matter. Rows that are equal by ORDER BY are ordered by all
other shipped columns, so that the result doesn't depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions.values.value_order import OrderKey, ascending_numbers, group_numbers, sortable
from ostinato.kernels.kernel_cache import kernel
from ostinato.kernels.stopping import check_stopped


class Ordered(NamedTuple):
    """`rows[i]` is the position in the input of the i-th row in order (None: the input is in order).

    Key k owns rows `key_at[k]:key_at[k + 1]` of that order.
    """

    rows: NDArray[np.int64] | None
    key_at: NDArray[np.int64]


def order_rows(
    count: int,
    keys: Sequence[pa.Array],
    order: Sequence[OrderKey],
    ties: Callable[[], Sequence[pa.Array]],
    *,
    sorts_keys: bool = False,
) -> Ordered:
    """`ties` returns the columns that order rows with equal `keys` and `order`; it is called only if there are any.

    With `sorts_keys` keys come in ascending order, NULL first; otherwise in any.
    """
    if count == 0:
        return Ordered(None, np.zeros(1, np.int64))
    groups = group_numbers(count, keys) if keys else None
    if groups is not None and sorts_keys:
        groups = ascending_numbers(groups, keys)
    check_stopped()
    columns = [column for key in order for column in sortable(key)]
    check_stopped()
    leading = columns if groups is None else [groups, *columns]
    rows, equal = _sorted_rows(count, groups, columns, leading)
    check_stopped()
    if order and equal.any():
        rows = _order_ties(count, equal, rows, ties())
    if groups is None:
        return Ordered(rows, np.array([0, count], np.int64))
    in_order = groups if rows is None else groups[rows]
    edges = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    return Ordered(rows, np.concatenate(([0], edges, [count])).astype(np.int64))


def _sorted_rows(
    count: int, groups: NDArray[np.int64] | None, columns: list[NDArray[np.int64]], leading: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """The stable order by group and columns (None: the rows have it), and whether each row equals the one before it."""
    equal = equal_to_previous(leading, count)
    if equal is not None:
        return None, equal
    if not columns:
        rows = np.arange(count, dtype=np.int64)
    elif len(columns) == 1:
        # Timsort: a shuffle delivers a few ordered runs, which it merges as fast as it reads them.
        rows = np.argsort(columns[0], kind="stable")
    else:
        rows = np.lexsort(columns[::-1])
    check_stopped()
    if groups is not None:
        rows = _by_group(groups, rows.astype(np.int64, copy=False))
    equal = np.ones(count - 1, np.bool_)
    for column in leading:
        values = column[rows]
        equal &= values[1:] == values[:-1]
    return rows, equal


def equal_to_previous(columns: Sequence[NDArray[np.int64]], count: int) -> NDArray[np.bool_] | None:
    """Whether each row equals the one before it; None unless the rows ascend. The first column counts most."""
    equal: NDArray[np.bool_] | None = None
    for column in columns:
        before, after = column[:-1], column[1:]
        falls = after < before
        if falls.any() if equal is None else (equal & falls).any():
            return None
        same = after == before
        equal = same if equal is None else equal & same
        if not equal.any():
            return equal
    return np.ones(max(count - 1, 0), np.bool_) if equal is None else equal


@kernel
def _by_group(groups, rows):  # type: ignore[no-untyped-def]
    """The same rows with those of a group together; the order within a group stays. Counting sort."""
    size = 0
    for group in groups:
        size = max(size, group + 1)
    next_position = np.zeros(size + 1, np.int64)
    for group in groups:
        next_position[group + 1] += 1
    for i in range(size):
        next_position[i + 1] += next_position[i]
    result = np.empty(len(rows), np.int64)
    for row in rows:
        group = groups[row]
        result[next_position[group]] = row
        next_position[group] += 1
    return result


def _order_ties(
    count: int, equal: NDArray[np.bool_], rows: NDArray[np.int64] | None, ties: Sequence[pa.Array]
) -> NDArray[np.int64] | None:
    """Orders runs of rows that are equal so far by the columns in `ties`; reads only those rows."""
    tied = np.zeros(count, np.bool_)
    tied[1:] |= equal
    tied[:-1] |= equal
    positions = np.flatnonzero(tied)
    run = np.cumsum(np.concatenate(([True], ~equal)))[positions]
    order = np.arange(count, dtype=np.int64) if rows is None else rows
    inside = order[positions]
    ranks = tie_columns(ties, inside)
    if equal_to_previous([run, *ranks], len(positions)) is not None:
        return rows
    result = order.copy()
    result[positions] = inside[np.lexsort([*ranks[::-1], run])]
    return result


def tie_columns(ties: Sequence[pa.Array], rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Integers that order rows which are equal otherwise; the first column counts most."""
    chosen = pa.array(rows)
    ordered = [tie for tie in ties if not pa.types.is_map(tie.type)]
    return [column for tie in ordered for column in sortable(OrderKey(tie.take(chosen)))]
