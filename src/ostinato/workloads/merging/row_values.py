"""Sub-expressions over one event -> columns that are computed once for each event, not once for each partial match.

`COS(d.x)` is computed for every event, and looked up at d. In: expressions over navigations. Out: the same expressions,
with each such sub-expression as one navigation to a computed column, and how to compute the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.evaluate import prepare
from ostinato.expressions.syntax import Aggregate, Call, Expr, Navigation, RowClassifier, rebuild, walk
from ostinato.expressions.values.vectors import Vector
from ostinato.workloads.merging.renamed_conditions import IS_BOUND

if TYPE_CHECKING:
    from ostinato.expressions.run_conditions.run_columns import Column  # loads kernels

RowType = Callable[[Expr], pa.DataType]
"""The type of an expression over one event."""
PULLED = ("sin", "cos", "sqrt")
"""Functions that never fail, so an event that no match reads can't cause an error. numpy and the kernels give the same
bits for them. For others (tan, exp) the last bit sometimes differs."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """Expressions over one event, each with the input that it reads."""

    reads: Mapping[Expr, Expr]
    settings: t.Settings

    def column(self, plain: Column, rows: int) -> Column:
        """`plain` gives the inputs for all rows. The result gives the computed columns too."""

        def value(expr: Expr) -> Vector:
            read = self.reads.get(expr)
            if read is None:
                return plain(expr)
            inputs = {read: plain(read)}
            types = {read: inputs[read].type}
            return prepare(expr, types.get, self.settings).vector(inputs.get, rows)

        return value


def pulled(expr: Expr, reads: dict[Expr, Expr], row_type: RowType) -> Expr:
    """The expression with functions of one value of one event moved below the navigation to that event.

    Adds each of them to `reads`, with the input that it reads.
    """
    if isinstance(expr, Navigation | Aggregate):
        return expr
    inner = rebuild(expr, lambda operand: pulled(operand, reads, row_type))
    if not isinstance(inner, Call) or inner.name not in PULLED or len(inner.args) != 1:
        return inner
    (argument,) = inner.args
    if not isinstance(argument, Navigation) or any(isinstance(node, RowClassifier) for node in walk(argument.operand)):
        return inner
    read = reads.get(argument.operand, argument.operand)
    if argument.operand == IS_BOUND or not t.is_numeric(row_type(read)):
        return inner
    computed = replace(inner, args=(argument.operand,))
    reads[computed] = read
    return replace(argument, operand=computed)
