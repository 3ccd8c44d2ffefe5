"""Columns of values -> numbers that are equal, and ordered, as Spark compares the values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class OrderKey(NamedTuple):
    """A column to order by."""

    values: pa.Array
    descending: bool = False
    nulls_first: bool = True


def group_numbers(count: int, keys: Sequence[pa.Array]) -> NDArray[np.int64]:
    """A number for each row, equal where the keys are equal. NULL is a key; NaN equals NaN, -0.0 equals 0.0."""
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


def ascending_numbers(groups: NDArray[np.int64], keys: Sequence[pa.Array]) -> NDArray[np.int64]:
    """The groups, renumbered in the order of their keys."""
    _, examples, dense = np.unique(groups, return_index=True, return_inverse=True)
    columns = [column for key in keys for column in sortable(OrderKey(key.take(pa.array(examples))))]
    rank = np.empty(len(examples), np.int64)
    rank[np.lexsort(columns[::-1])] = np.arange(len(examples))
    return rank[dense]


def _codes(values: pa.Array) -> NDArray[np.int64]:
    """A number for each distinct value, in the order of first appearance."""
    if pa.types.is_nested(values.type):
        codes: dict[tuple[object, ...], int] = {}
        return np.array([codes.setdefault(comparable(value), len(codes)) for value in python_values(values)], np.int64)
    if pa.types.is_decimal(values.type) or pa.types.is_duration(values.type):
        values = values.cast(pa.string() if pa.types.is_decimal(values.type) else pa.int64())
    encoded = values.dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0)
    return _indices(encoded)


def _dense(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return _indices(pa.array(numbers).dictionary_encode())


def _indices(encoded: pa.DictionaryArray) -> NDArray[np.int64]:
    """For each row, the index of its dictionary entry."""
    indices: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def sortable(key: OrderKey) -> list[NDArray[np.int64]]:
    """Integers that sort as the column does; with NULLs two columns, the first of which puts them first or last."""
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
    """The bits of floats as integers that sort in the same order. NaN is greatest, -0.0 equals 0.0."""
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _nested_ranks(values: pa.Array) -> NDArray[np.int64]:
    """Arrays and structs compare element by element, NULL first. Maps have no order in Spark, here any fixed order."""
    items = [comparable(value) for value in python_values(values)]
    ordered = {item: rank for rank, item in enumerate(sorted(set(items)))}
    return np.array([ordered[item] for item in items], np.int64)


def python_values(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    """As `to_pylist`, but structs are tuples: two fields may have the same name."""
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
    if values.null_count == 0:
        return rows
    return [row if ok else None for row, ok in zip(rows, values.is_valid().to_pylist(), strict=True)]


def comparable(value: object) -> tuple[object, ...]:
    """A tuple that compares and hashes as Spark compares the value: NULL first, NaN last and equal to itself."""
    if value is None:
        return (0,)
    if isinstance(value, dict):  # a struct inside a map
        return (1, *(comparable(item) for item in value.values()))
    if isinstance(value, list | tuple):
        return (1, *(comparable(item) for item in value))
    if isinstance(value, float):
        return (2, 0.0) if value != value else (1, value)
    return (1, value)
