"""A column -> the bytes that each of its values takes in the state."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.expressions import types as t

_OFFSET_BYTES = 4


def row_bytes(column: pa.Array) -> NDArray[np.float64]:
    """About as many as Arrow needs. The bytes of a value depend on nothing else in the column: bits that mark NULLs,
    which a column has only if it holds a NULL, don't count.

    >>> row_bytes(pa.array(["a", None, "abc"])).tolist(), row_bytes(pa.array([[1, 2], []])).tolist()
    ([5.0, 4.0, 7.0], [20.0, 4.0])
    """
    kind, sizes = column.type, np.zeros(len(column))
    if t.is_struct(kind):
        fields = (row_bytes(column.field(index)) for index in range(kind.num_fields))
        sizes = np.sum([sizes, *fields], axis=0)
    elif t.is_nested(kind):
        items = row_bytes(column.keys) + row_bytes(column.items) if t.is_map(kind) else row_bytes(column.values)
        edges, until = np.asarray(column.offsets), np.append(0, np.cumsum(items))
        sizes = until[edges[1:]] - until[edges[:-1]] + _OFFSET_BYTES
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        sizes = np.asarray(pc.fill_null(pc.binary_length(column), 0), np.float64) + _OFFSET_BYTES
    elif not pa.types.is_null(kind):
        sizes += kind.bit_width / 8
    return sizes


def bytes_until(columns: Iterable[pa.Array], count: int) -> NDArray[np.float64]:
    """For each row, and for the end, the bytes of all rows before it."""
    return np.append(0, np.cumsum(np.sum([np.zeros(count), *map(row_bytes, columns)], axis=0)))
