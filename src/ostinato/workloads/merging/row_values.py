"""Parts of a condition that look at one event only -> values computed once an event, not once a partial match.

`COS(d.x)` is the cosine of each event's x, looked up where d is. In: expressions over navigations. Out: the same with
such parts as one navigation to an expression over columns, and how those columns are computed.
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
"""Functions that never fail, so nothing fails for an event that no match asks about, and of which numpy and the kernels
give the same bits; of the others (tan, exp) the last one differs now and then."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """Expressions over one event, by what of the event's own columns and inputs they read."""

    reads: Mapping[Expr, Expr]
    settings: t.Settings

    def column(self, plain: Column, rows: int) -> Column:
        """`plain` gives the inputs for all rows; what comes back gives the computed values too."""

        def value(expr: Expr) -> Vector:
            read = self.reads.get(expr)
            if read is None:
                return plain(expr)
            known = {read: plain(read)}
            kinds = {read: known[read].type}
            return prepare(expr, kinds.get, self.settings).vector(known.get, rows)

        return value


def pulled(expr: Expr, reads: dict[Expr, Expr], row_type: RowType) -> Expr:
    """The expression with functions of one value of one event pulled below the navigation to it.

    `reads` is told of each: what it is called, and the input that it reads.
    """
    if isinstance(expr, Navigation | Aggregate):
        return expr
    inner = rebuild(expr, lambda part: pulled(part, reads, row_type))
    if not isinstance(inner, Call) or inner.name not in PULLED or len(inner.args) != 1:
        return inner
    (at,) = inner.args
    if not isinstance(at, Navigation) or any(isinstance(node, RowClassifier) for node in walk(at.operand)):
        return inner
    read = reads.get(at.operand, at.operand)
    if at.operand == IS_BOUND or not t.is_numeric(row_type(read)):
        return inner
    computed = replace(inner, args=(at.operand,))
    reads[computed] = read
    return replace(at, operand=computed)
