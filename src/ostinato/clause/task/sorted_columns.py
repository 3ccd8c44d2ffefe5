"""Shipped columns -> the columns in the order of matching: found by expression, sorted once, shifted on demand."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Expr, Literal, Navigation
from ostinato.expressions.values.vectors import Vector, from_arrow
from ostinato.rows.column_names import ORDINAL
from ostinato.rows.match_ids import tie_ordinals
from ostinato.rows.ordering import Ordered
from ostinato.rows.times import microseconds_of

Scalar = TypeVar("Scalar", bound=np.generic)


class SortedColumns:
    """Values of `plan.inputs` for the rows in order."""

    def __init__(self, typed: TypedPlan, arrays: Mapping[str, pa.Array], ordered: Ordered) -> None:
        self.typed = typed
        self.arrays = arrays
        self.ordered = ordered
        self.count = int(ordered.key_at[-1])
        self._vectors: dict[Expr, Vector] = {}
        self._shifted: dict[Navigation, Vector] = {}
        self._edges: dict[int, NDArray[np.bool_]] = {}

    def vector(self, expr: Expr) -> Vector:
        """An expression over one row, for all rows."""
        if expr not in self._vectors:
            self._vectors[expr] = self._sorted(expr)
        return self._vectors[expr]

    def _sorted(self, expr: Expr) -> Vector:
        if isinstance(expr, Literal):
            value = evaluate(expr, lambda node: None, 1, self.typed.settings)
            return from_arrow(value, value.type)
        array = self.arrays[self.typed.plan.input_name(expr)]
        vector = from_arrow(array, self.typed.input_types[expr])
        return vector if self.ordered.rows is None else vector.take(self.ordered.rows)

    def array(self, expr: Expr, rows: NDArray[np.int64]) -> pa.Array:
        """The expression at these rows as it came in, NULL where the row is negative."""
        if isinstance(expr, Literal):
            value = evaluate(expr, lambda node: None, 1, self.typed.settings)
            return value.take(pa.array(np.zeros(len(rows), np.int64), mask=rows < 0))
        return self.at_rows(self.typed.plan.input_name(expr), rows)

    def at_rows(self, name: str, rows: NDArray[np.int64]) -> pa.Array:
        """A shipped column at these rows, NULL where the row is negative."""
        positions = rows if self.ordered.rows is None else self.ordered.rows[rows]
        missing = rows < 0
        return self.arrays[name].take(pa.array(positions, mask=missing) if missing.any() else pa.array(positions))

    def shifted(self, navigation: Navigation) -> Vector:
        """The operand at a fixed distance from each row; NULL beyond the partition."""
        if navigation.shift == 0:
            return self.vector(navigation.operand)
        if navigation not in self._shifted:
            self._shifted[navigation] = self._moved(navigation)
        return self._shifted[navigation]

    def _moved(self, navigation: Navigation) -> Vector:
        vector, shift = self.vector(navigation.operand).expanded(self.count), navigation.shift
        inside = self._inside(shift)
        valid = inside if vector.valid is None else inside & _moved(vector.valid, shift)
        if isinstance(vector.values, np.ndarray):
            return Vector(vector.type, _moved(vector.values, shift), valid)
        positions = pa.array(np.arange(self.count) + shift, mask=~inside)
        return from_arrow(vector.values.take(positions), vector.type)

    def _inside(self, shift: int) -> NDArray[np.bool_]:
        """For each row, whether the row at this distance belongs to the same key."""
        if shift not in self._edges:
            first, end = self.ordered.key_at[:-1], self.ordered.key_at[1:]
            inside = np.ones(self.count, np.bool_)
            if abs(shift) <= 64:
                for distance in range(abs(shift)):
                    rows = first + distance if shift < 0 else end - 1 - distance
                    inside[rows[(rows >= first) & (rows < end)]] = False
            else:
                length = end - first
                target = np.arange(self.count) + shift
                inside = (target >= np.repeat(first, length)) & (target < np.repeat(end, length))
            self._edges[shift] = inside
        return self._edges[shift]

    @functools.cached_property
    def ordinals(self) -> NDArray[np.int64]:
        """The ordinals of the rows, by which ids tell rows apart that are equal in ORDER BY."""
        everywhere = np.arange(self.count)
        if ORDINAL in self.arrays:
            return np.asarray(self.at_rows(ORDINAL, everywhere))
        order = [self.at_rows(key.column, everywhere) for key in self.typed.plan.bound.order_by]
        return tie_ordinals(order, self.ordered.key_at)

    def time_us(self, name: str) -> NDArray[np.int64]:
        """A date or timestamp column in microseconds; NO_TIME where it is NULL."""
        values = microseconds_of(self.arrays[name])
        return values if self.ordered.rows is None else values[self.ordered.rows]

    def is_null(self, name: str) -> NDArray[np.bool_]:
        nulls = np.asarray(self.arrays[name].is_null())
        return nulls if self.ordered.rows is None else nulls[self.ordered.rows]


def _moved(values: NDArray[Scalar], shift: int) -> NDArray[Scalar]:
    """values[i + shift] at index i; values beyond the ends are arbitrary."""
    result = np.empty_like(values)
    distance = min(abs(shift), len(values))
    if shift < 0:
        result[distance:] = values[: len(values) - distance]
        result[:distance] = values[:1]
    else:
        result[: len(values) - distance] = values[distance:]
        result[len(values) - distance :] = values[:1]
    return result
