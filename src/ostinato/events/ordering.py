"""Rows in any order -> the order in which they are matched: by partition key, then ORDER BY, then ties.

Keys only have to come together; which comes first doesn't matter. Rows that ORDER BY can't tell apart are ordered by
all other columns that were shipped, so that the result doesn't depend on how the rows arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.kernel_cache import kernel
from ostinato.stopping import check_stopped


class OrderKey(NamedTuple):
    """A column to order by."""

    values: pa.Array
    descending: bool = False
    nulls_first: bool = True


class Ordered(NamedTuple):
    """`rows[i]` is the place in the input of the i-th row in order (None: they were in order already).

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
    """`ties` gives the columns that decide between rows that are equal in `keys` and `order`; asked only if needed.

    With `sorts_keys` keys come in ascending order, NULL first; otherwise in any.
    """
    if count == 0:
        return Ordered(None, np.zeros(1, np.int64))
    groups = group_numbers(count, keys) if keys else None
    if groups is not None and sorts_keys:
        groups = _ascending(groups, keys)
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


def group_numbers(count: int, keys: Sequence[pa.Array]) -> NDArray[np.int64]:
    """Equal keys get equal numbers; NULL is a key like any other, NaN equals NaN, -0.0 equals 0.0."""
    numbers = np.zeros(count, np.int64)
    for key in keys:
        if pa.types.is_floating(key.type):
            plain = pc.add(key, pa.scalar(0, key.type))  # -0.0 + 0.0 is 0.0
            key = pc.if_else(pc.is_nan(key), pa.scalar(float("nan"), key.type), plain)  # NaN has many bit patterns
        codes = _codes(key)
        numbers = numbers * (int(codes.max(initial=0)) + 1) + codes
        if len(keys) > 1:
            numbers = _dense(numbers)
    return numbers


def _ascending(groups: NDArray[np.int64], keys: Sequence[pa.Array]) -> NDArray[np.int64]:
    """The groups numbered anew, by their keys."""
    _, examples, dense = np.unique(groups, return_index=True, return_inverse=True)
    columns = [column for key in keys for column in sortable(OrderKey(key.take(pa.array(examples))))]
    rank = np.empty(len(examples), np.int64)
    rank[np.lexsort(columns[::-1])] = np.arange(len(examples))
    return rank[dense]


def _codes(values: pa.Array) -> NDArray[np.int64]:
    """A number for each distinct value, in the order of first appearance."""
    if pa.types.is_nested(values.type):
        seen: dict[tuple[object, ...], int] = {}
        return np.array([seen.setdefault(_comparable(value), len(seen)) for value in python_values(values)], np.int64)
    if pa.types.is_decimal(values.type) or pa.types.is_duration(values.type):
        values = values.cast(pa.string() if pa.types.is_decimal(values.type) else pa.int64())
    encoded = values.dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0)
    return _places(encoded)


def _dense(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return _places(pa.array(numbers).dictionary_encode())


def _places(encoded: pa.DictionaryArray) -> NDArray[np.int64]:
    """For each row, which entry of the dictionary it has."""
    places: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return places


def sortable(key: OrderKey) -> list[NDArray[np.int64]]:
    """Integers that sort as the column does; two columns of them where NULLs have to be put first or last."""
    values = key.values.combine_chunks() if isinstance(key.values, pa.ChunkedArray) else key.values
    numbers = _ranked(values)
    if key.descending:
        numbers = ~numbers
    if values.null_count == 0:
        return [numbers]
    null = np.asarray(values.is_null())
    numbers = np.where(null, 0, numbers)
    flags = (~null if key.nulls_first else null).astype(np.int64)
    return [flags, numbers]


def _ranked(values: pa.Array) -> NDArray[np.int64]:
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return np.asarray(values.cast(pa.int64()).fill_null(0))
    if pa.types.is_date32(kind):
        return np.asarray(values.cast(pa.int32()).cast(pa.int64()).fill_null(0))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return np.asarray(values.cast(pa.int64()).fill_null(0))
    if pa.types.is_floating(kind):
        return _float_ranks(np.asarray(values.cast(pa.float64()).fill_null(0.0)))
    if pa.types.is_null(kind):
        return np.zeros(len(values), np.int64)
    if pa.types.is_nested(kind):
        return _nested_ranks(values)
    distinct = values.unique().drop_null()
    ordered = distinct.take(pc.sort_indices(distinct))
    return np.asarray(pc.fill_null(pc.index_in(values, ordered), 0)).astype(np.int64)


def _float_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bits of a float, arranged so that integers sort the same way; NaN is greatest, -0.0 is 0.0."""
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _nested_ranks(values: pa.Array) -> NDArray[np.int64]:
    """Arrays and structs compare element by element, NULL first; maps aren't ordered, any fixed order will do."""
    items = [_comparable(value) for value in python_values(values)]
    ordered = {item: rank for rank, item in enumerate(sorted(set(items)))}
    return np.array([ordered[item] for item in items], np.int64)


def python_values(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    """As `to_pylist`, with structs as tuples: their fields may have the same name twice."""
    if isinstance(values, pa.ChunkedArray):
        return [value for chunk in values.chunks for value in python_values(chunk)]
    if pa.types.is_struct(values.type):
        columns = [python_values(values.field(i)) for i in range(values.type.num_fields)]
        rows: list[Any] = list(zip(*columns, strict=True)) if columns else [()] * len(values)
    elif pa.types.is_list(values.type):
        ends = values.offsets.to_pylist()
        items = python_values(values.values.slice(ends[0], ends[-1] - ends[0]))
        rows = [items[start - ends[0] : end - ends[0]] for start, end in pairwise(ends)]
    else:
        return list(values.to_pylist())
    return (
        rows
        if values.null_count == 0
        else [row if ok else None for row, ok in zip(rows, values.is_valid().to_pylist(), strict=True)]
    )


def _comparable(value: object) -> tuple[object, ...]:
    """A tuple that compares and hashes as Spark compares the value: NaN equals NaN, -0.0 equals 0.0, at any depth."""
    if value is None:
        return (0,)
    if isinstance(value, dict):  # a struct inside a map
        return (1, *(_comparable(item) for item in value.values()))
    if isinstance(value, list | tuple):
        return (1, *(_comparable(item) for item in value))
    if isinstance(value, float):
        return (2, 0.0) if value != value else (1, value)
    return (1, value)


def _sorted_rows(
    count: int, groups: NDArray[np.int64] | None, columns: list[NDArray[np.int64]], leading: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """The stable order by group and columns (None: the rows are in it), and which rows equal the one before them."""
    found = equal_to_previous(leading, count)
    if found is not None:
        return None, found
    if not columns:
        rows = np.arange(count, dtype=np.int64)
    elif len(columns) == 1:
        # Timsort: what a shuffle delivers is a few ordered runs, which it merges at the speed of reading.
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
    """Which rows equal the one before, if rows rise from one to the next (the first column counts most); else None."""
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
    place = np.zeros(size + 1, np.int64)
    for group in groups:
        place[group + 1] += 1
    for i in range(size):
        place[i + 1] += place[i]
    result = np.empty(len(rows), np.int64)
    for row in rows:
        group = groups[row]
        result[place[group]] = row
        place[group] += 1
    return result


def _order_ties(
    count: int, equal: NDArray[np.bool_], rows: NDArray[np.int64] | None, ties: Sequence[pa.Array]
) -> NDArray[np.int64] | None:
    """Orders runs of rows that are equal so far by the columns in `ties`; only those rows are looked at."""
    tied = np.zeros(count, np.bool_)
    tied[1:] |= equal
    tied[:-1] |= equal
    places = np.flatnonzero(tied)
    run = np.cumsum(np.concatenate(([True], ~equal)))[places]
    order = np.arange(count, dtype=np.int64) if rows is None else rows
    inside = order[places]
    ranks = tie_columns(ties, inside)
    if equal_to_previous([run, *ranks], len(places)) is not None:
        return rows
    result = order.copy()
    result[places] = inside[np.lexsort([*ranks[::-1], run])]
    return result


def tie_columns(ties: Sequence[pa.Array], rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Integers by which some rows are ordered where nothing else tells them apart; the first column counts most."""
    chosen = pa.array(rows)
    ordered = [tie for tie in ties if not pa.types.is_map(tie.type)]
    return [column for tie in ordered for column in sortable(OrderKey(tie.take(chosen)))]
