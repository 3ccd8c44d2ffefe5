"""A path and the row behind it -> the values of expressions of DEFINE for that row.

Every expression is evaluated for this row only, and an operand of a navigation for the row that the navigation leads
to. So nothing fails here that the condition doesn't read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.task.measure_aggregates import aggregate_array
from ostinato.expressions.aggregate_types import aggregate_type
from ostinato.expressions.evaluate import evaluate, prepare
from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Column,
    Expr,
    MatchNumber,
    Navigation,
    RowClassifier,
    RowSet,
)
from ostinato.expressions.types import Settings
from ostinato.expressions.values.vectors import Vector, from_arrow
from ostinato.rows.batches import Mask
from ostinato.rows.match_navigation import NO_ROW, labels_at, target_rows
from ostinato.rows.matches import Frames, Matches


@dataclass(frozen=True, slots=True)
class KeyRows:
    """The rows of one key in the order of matching, and the query that reads them."""

    bound: BoundClause
    columns: Mapping[str, pa.Array]
    count: int
    settings: Settings
    wording: Callable[[str], str] | None = None
    """Changes the texts of conditions; None: they are shown as written."""


class PointValues:
    """The values for one row, tried under a variable behind the rows of a path."""

    def __init__(self, rows: KeyRows, start: int, labels: Sequence[str], number: int) -> None:
        """`labels` are those of the rows from `start` on, the tried row's last; `number` is that of the match."""
        self.rows = rows
        variables = rows.bound.variables
        self.matches = Matches(
            start=np.array([start]),
            length=np.array([len(labels)]),
            number=np.array([number]),
            path_at=np.zeros(1, np.int64),
            label=np.array([variables.index(label) for label in labels], np.int32),
            excluded=np.zeros(len(labels), np.bool_),
            key_first=np.array([0]),
            key_end=np.array([rows.count]),
        )
        self.frames = Frames(np.zeros(1, np.int64), np.array([len(labels) - 1]), np.array([start + len(labels) - 1]))
        self._known: dict[Expr, pa.Array] = {}

    def value(self, expr: Expr) -> object:
        """The value as Python has it. Raises MatchError where the expression fails."""
        return evaluate(expr, self._leaf, 1, self.rows.settings)[0].as_py()

    def _leaf(self, node: Expr) -> pa.Array | None:
        if not isinstance(node, Navigation | Aggregate | MatchNumber):
            return None
        if node not in self._known:
            if isinstance(node, Navigation):
                self._known[node] = self._navigated(node)
            elif isinstance(node, Aggregate):
                self._known[node] = self._aggregated(node)
            else:
                self._known[node] = pa.array(self.matches.number)
        return self._known[node]

    def _navigated(self, node: Navigation) -> pa.Array:
        target = target_rows(
            self.matches,
            self.frames,
            self._member(node.rows),
            from_first=node.anchor is Anchor.FIRST,
            skip=node.skip,
            shift=node.shift,
            final=False,
        )
        if target[0] != NO_ROW:
            return self._over_rows(node.operand, target)
        types = {name: column.type for name, column in self.rows.columns.items()}

        def leaf_type(leaf: Expr) -> pa.DataType | None:
            if isinstance(leaf, Column):
                return types[leaf.name]
            return pa.string() if isinstance(leaf, RowClassifier) else _number_type(leaf)

        return pa.nulls(1, prepare(node.operand, leaf_type, self.rows.settings).type)

    def _aggregated(self, node: Aggregate) -> pa.Array:
        rows = self.matches.rows()

        def vectors(exprs: Iterable[Expr]) -> list[Vector]:
            arrays = (self._over_rows(expr, rows) for expr in exprs)
            return [from_arrow(array, array.type) for array in arrays]

        args, order = vectors(node.args), vectors(item.expr for item in node.order_by)
        kind = aggregate_type(node.name, [arg.type for arg in args], node.span)
        member, ansi = self._member(node.rows), self.rows.settings.ansi
        return aggregate_array(node, kind, self.matches, self.frames, member, args, ansi=ansi, order=order)

    def _over_rows(self, operand: Expr, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
        """An expression over one row, at each of these rows."""
        positions = pa.array(rows)

        def leaf(node: Expr) -> pa.Array | None:
            if isinstance(node, Column):
                return self.rows.columns[node.name].take(positions)
            if isinstance(node, RowClassifier):
                match = np.zeros(len(rows), np.int64)
                labels = labels_at(self.matches, Frames(match, match, rows), rows)
                return pa.array(self.rows.bound.variables, pa.string()).take(pa.array(labels, mask=labels < 0))
            if isinstance(node, MatchNumber):
                return pa.array(np.repeat(self.matches.number, len(rows)))
            return None

        return evaluate(operand, leaf, len(rows), self.rows.settings)

    def _member(self, rows: RowSet) -> Mask | None:
        return None if rows is None else np.array([name in rows for name in self.rows.bound.variables], np.bool_)


def _number_type(node: Expr) -> pa.DataType | None:
    return pa.int64() if isinstance(node, MatchNumber) else None
