"""Vector: one column inside the evaluator. A numpy array for values of fixed size, Arrow for text and nested values.

Dates are days, timestamps and durations microseconds, decimals their unscaled integers (int64 up to 18 digits, Python
integers beyond), year-month intervals months. A Vector of one value is a constant: numpy broadcasts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import MatchError, QueryError
from ostinato.expressions import types as t
from ostinato.expressions.values.value_order import python_values
from ostinato.kernels.numbers.number_columns import decimal_array

Bools = npt.NDArray[np.bool_]
Values = Any
"""A numpy array or a pa.Array: `types.storage_dtype` decides."""


@dataclass(frozen=True, slots=True)
class Vector:
    """Values of one type. `valid` is False where a value is NULL, or None if no value is NULL."""

    type: pa.DataType
    values: Values
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: npt.NDArray[np.intp]) -> Vector:
        """The values at these rows. A constant stays a constant."""
        if len(self) == 1:
            return self
        if isinstance(self.values, np.ndarray):
            return Vector(self.type, self.values[rows], None if self.valid is None else self.valid[rows])
        return of_arrow(self.type, self.values.take(pa.array(rows)))

    def nulls(self) -> Bools:
        """True where the value is NULL."""
        return np.zeros(len(self), bool) if self.valid is None else ~self.valid

    def expanded(self, length: int) -> Vector:
        """Constants repeated to the length."""
        if len(self) == length and (self.valid is None or len(self.valid) == length):
            return self
        if isinstance(self.values, np.ndarray):
            valid = None if self.valid is None else np.broadcast_to(self.valid, length)
            return Vector(self.type, np.broadcast_to(self.values, length), valid)
        return of_arrow(self.type, self.values.take(pa.array(np.zeros(length, np.int64))))

    def to_list(self) -> list[Any]:
        """The values as Python objects; NULL is None. For kernels that work row by row."""
        if isinstance(self.values, np.ndarray) and self.type != t.MONTHS and not t.is_decimal(self.type):
            plain = self.values.tolist()
            if self.valid is None:
                return list(plain)
            return [value if ok else None for value, ok in zip(plain, self.valid.tolist(), strict=True)]
        return python_values(to_arrow(self))


def both_valid(*vectors: Vector) -> Bools | None:
    """Valid where all vectors are; None if none of them has a NULL."""
    validities = [vector.valid for vector in vectors if vector.valid is not None]
    if not validities:
        return None
    result = validities[0]
    for other in validities[1:]:
        result = result & other
    return result


def broadcast_length(vectors: Sequence[Vector]) -> int:
    """The common length of the vectors that aren't constants, or 1."""
    return next((len(vector) for vector in vectors if len(vector) != 1), 1)


def nulls_of(kind: pa.DataType, length: int = 1) -> Vector:
    dtype = t.storage_dtype(kind)
    if dtype is None:
        return Vector(kind, pa.nulls(length, kind), np.zeros(length, bool))
    return Vector(kind, np.zeros(length, dtype), np.zeros(length, bool))


def of_arrow(kind: pa.DataType, array: pa.Array) -> Vector:
    """A Vector around an Arrow array of its type."""
    if array.null_count == 0:
        return Vector(kind, array)
    return Vector(kind, array, array.is_valid().to_numpy(zero_copy_only=False))


def of_list(kind: pa.DataType, values: Sequence[Any]) -> Vector:
    """A Vector from Python objects; None is NULL."""
    try:
        return from_arrow(pa.array(values, kind), kind)
    except pa.ArrowCapacityError:
        raise MatchError("TEXT_TOO_LONG", "the texts of one batch of rows have more than 2 GB together") from None


def from_arrow(array: pa.Array | pa.ChunkedArray | pa.Scalar, kind: pa.DataType) -> Vector:
    """An Arrow column as a Vector of the normalised type; not copied if it has no NULL."""
    if isinstance(array, pa.Scalar):
        array = pa.repeat(array, 1)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    if array.type != kind:
        array = _as_type(array, kind)
    if kind == t.NULL:
        return Vector(kind, np.zeros(len(array), bool), np.zeros(len(array), bool))
    dtype = t.storage_dtype(kind)
    if dtype is None:
        return of_arrow(kind, array)
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    if t.is_decimal(kind):
        return Vector(kind, _unscaled(array, dtype), valid)
    if kind == t.MONTHS:
        return Vector(kind, _months(array), valid)
    if kind == t.BOOL:
        if array.null_count:
            array = pc.fill_null(array, False)
        return Vector(kind, array.to_numpy(zero_copy_only=False), valid)
    values = np.frombuffer(array.buffers()[1] or b"", dtype)[array.offset : array.offset + len(array)]
    return Vector(kind, values, valid)


def _as_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type) and array.type.unit != "us":
        return array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(kind)
    return array.cast(kind)


def _months(array: pa.Array) -> npt.NDArray[np.int64]:
    """The months of year-month intervals. Intervals with days or nanoseconds, as Arrow has them, are refused."""
    items = [pa.MonthDayNano([0, 0, 0]) if item is None else item for item in array.to_pylist()]
    mixed = next((item for item in items if item.days or item.nanoseconds), None)
    if mixed is not None:
        raise QueryError(
            "UNSUPPORTED_TYPE",
            f"an interval has {mixed.months} months, {mixed.days} days and {mixed.nanoseconds} nanoseconds",
            hint="intervals are whole months (Arrow's month_day_nano with months only) or a length of time (duration)",
        )
    return np.array([item.months for item in items], np.int64)


def _unscaled(array: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    words = np.frombuffer(array.buffers()[1] or b"", np.uint64)[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = words[0::2], words[1::2].view(np.int64)
    if dtype == np.int64:
        return low.view(np.int64).copy() if array.null_count == 0 else np.where(array.is_valid(), low.view(np.int64), 0)
    joined = (high.astype(object) << 64) | low.astype(object)
    return np.where(array.is_valid(), joined, 0) if array.null_count else joined


def to_arrow(vector: Vector) -> pa.Array:
    """The Vector as an Arrow array of its type."""
    kind, values, valid = vector.type, vector.values, vector.valid
    if not isinstance(values, np.ndarray):
        return values
    if kind == t.NULL:
        return pa.nulls(len(values))
    if t.is_decimal(kind):
        return decimal_array(values, valid, kind)
    if kind == t.MONTHS:
        return pa.array([pa.MonthDayNano([int(count), 0, 0]) for count in values], kind, mask=_mask(valid))
    bitmap, null_count = None, 0
    if valid is not None:
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
        null_count = len(valid) - int(np.count_nonzero(valid))
    data = np.packbits(values, bitorder="little") if kind == t.BOOL else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(data)], null_count)


def _mask(valid: Bools | None) -> Bools | None:
    return None if valid is None else ~valid
