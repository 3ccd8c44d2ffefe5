"""Expression and columns in, one column out; or for a condition the rows where it is TRUE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.nodes import Frame, Typed
from ostinato.expressions.syntax import Expr
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import LeafType, resolve
from ostinato.expressions.values.vectors import Vector, from_arrow, to_arrow

LeafValue = Any
"""The value that a caller supplies for a node: pa.Array, pa.ChunkedArray, pa.Scalar, numpy array, Vector or None.

A numpy array has no NULLs. It holds days if the declared type is DATE, microseconds for timestamps and durations. A
Scalar or a value of length one stands for all rows. None means that the evaluator computes the node."""
Leaf = Callable[[Expr], LeafValue]


@dataclass(frozen=True, slots=True)
class PreparedExpression:
    """An expression that was typed once and can be evaluated over many batches."""

    typed: Typed
    settings: Settings

    @property
    def type(self) -> pa.DataType:
        return self.typed.type

    def evaluate(self, leaf: Leaf, length: int) -> pa.Array:
        """The values over `length` rows as an Arrow array of `self.type`."""
        return to_arrow(self.vector(leaf, length).expanded(length))

    def mask(self, leaf: Leaf, length: int) -> npt.NDArray[np.bool_]:
        """True where the condition is TRUE; NULL counts as false."""
        vector = self.vector(leaf, length)
        values = vector.values if vector.valid is None else vector.values & vector.valid
        return np.array(np.broadcast_to(values, length)) if len(values) != length else np.asarray(values)

    def vector(self, leaf: Leaf, length: int) -> Vector:
        """The values without a conversion to Arrow; one value if it is the same for all rows."""

        def column(node: Expr) -> Vector:
            return as_vector(leaf(node), self.settings)

        if length == 0:  # over no rows, Spark evaluates nothing and raises no error
            return _empty(self.typed.type)
        return self.typed.run(Frame(length, column))


def prepare(expr: Expr, leaf_type: LeafType, settings: Settings = Settings()) -> PreparedExpression:
    """The expression, typed once for many batches; raises the errors of `type_of`."""
    return PreparedExpression(resolve(expr, leaf_type, settings), settings)


def evaluate(expr: Expr, leaf: Leaf, length: int, settings: Settings = Settings()) -> pa.Array:
    """The expression over `length` rows; `leaf` supplies the columns.

    >>> from ostinato.expressions.syntax import Column, Literal, Operator
    >>> doubled = Operator("*", (Column("x"), Literal("number", "2")))
    >>> evaluate(doubled, {Column("x"): pa.array([1, None], pa.int32())}.get, 2).to_pylist()
    [2, None]
    """
    return _prepared(expr, leaf, settings).evaluate(leaf, length)


def evaluate_mask(expr: Expr, leaf: Leaf, length: int, settings: Settings = Settings()) -> npt.NDArray[np.bool_]:
    """True where the condition is TRUE; NULL counts as false. Doesn't go through Arrow."""
    ready = _prepared(expr, leaf, settings)
    if ready.type not in (t.BOOL, t.NULL):
        raise QueryError("TYPE_MISMATCH", f"a condition is no {t.spark_name(ready.type)}", span=expr.span)
    return ready.mask(leaf, length)


def _prepared(expr: Expr, leaf: Leaf, settings: Settings) -> PreparedExpression:
    return prepare(expr, lambda node: _leaf_value_type(leaf(node)), settings)


def _leaf_value_type(value: LeafValue) -> pa.DataType | None:
    if value is None:
        return None
    return pa.from_numpy_dtype(value.dtype) if isinstance(value, np.ndarray) else value.type


def as_vector(value: LeafValue, settings: Settings) -> Vector:
    """The value that a caller supplied, as a Vector."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, np.ndarray):
        kind = pa.from_numpy_dtype(value.dtype)
        if (value.dtype.kind in "bif" and value.dtype.itemsize in (1, 4, 8)) or value.dtype == np.int16:
            return Vector(kind, value)
        return from_arrow(pa.array(value), t.normalise(kind, settings))
    if value is None:
        raise QueryError("UNKNOWN_COLUMN", "a column has a type but no values")
    return from_arrow(value, t.normalise(value.type, settings))


def _empty(kind: pa.DataType) -> Vector:
    return from_arrow(pa.array([], kind), kind)
