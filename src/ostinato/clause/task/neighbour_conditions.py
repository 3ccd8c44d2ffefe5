"""Conditions over rows at fixed distances -> masks, all rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.plan.navigations import references
from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import PreparedExpression, prepare
from ostinato.expressions.syntax import Expr, Navigation, Operator
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import LeafType
from ostinato.expressions.values.vectors import Vector
from ostinato.rows.batches import Mask
from ostinato.rows.failing_rows import failing_rows
from ostinato.rows.matches import ranges


class Edges(NamedTuple):
    """The keys that have rows outside of a window. Where a condition reads such a row, it can't fail."""

    before: Mask
    """Keys whose earlier rows may have been dropped. No attempt gets to a condition that reads one."""
    after: Mask
    """Keys that rows may follow. A condition that reads one is evaluated again."""


class _Condition(NamedTuple):
    ready: PreparedExpression
    behind: int
    """The number of rows before its row that it reads."""
    ahead: int
    """The number of rows after its row that it reads."""


class NeighbourConditions:
    """Evaluates each operand of AND once, even if several conditions share it."""

    def __init__(self, conditions: Sequence[Expr], leaf_type: LeafType, settings: Settings) -> None:
        self.conditions = conditions
        self._prepared = [_prepared(condition, leaf_type, settings) for condition in conditions]
        operands = dict.fromkeys(operand for condition in conditions for operand in _operands(condition))
        self._operands = {operand: prepare(operand, leaf_type, settings) for operand in operands}

    def masks(
        self,
        columns: SortedColumns,
        may_grow: Mask | None = None,
        failures: RowFailures | None = None,
        edges: Edges | None = None,
    ) -> list[Mask]:
        """True where the condition is TRUE, or, in keys that rows may follow, where a row that it reads isn't here.

        With `failures`, a row at which it fails is noted there and counts as not TRUE. With `edges`, a row at which it
        reads rows outside of the window counts as not TRUE if the condition fails anywhere.
        """
        masks = self._masks(columns, failures, edges)
        if may_grow is None or not may_grow.any():
            return masks
        return [_known(mask, each.ahead, columns, may_grow) for mask, each in zip(masks, self._prepared, strict=True)]

    def _masks(self, columns: SortedColumns, failures: RowFailures | None, edges: Edges | None) -> list[Mask]:
        def leaf(node: Expr) -> Vector | None:
            return columns.shifted(node) if isinstance(node, Navigation) else None

        def mask_of(condition: _Condition) -> Mask:
            try:
                return condition.ready.mask(leaf, columns.count)
            except MatchError:
                if failures is None and edges is None:
                    raise
                return _mask_where_readable(condition, columns, failures, edges)

        try:
            masks = {operand: ready.mask(leaf, columns.count) for operand, ready in self._operands.items()}
        except MatchError:  # one operand may guard another: AND evaluates the second only where the first is true
            return [mask_of(condition) for condition in self._prepared]
        return [_all(masks[operand] for operand in _operands(condition)) for condition in self.conditions]


def _prepared(condition: Expr, leaf_type: LeafType, settings: Settings) -> _Condition:
    shifts = [0, *(node.shift for node in references(condition) if isinstance(node, Navigation))]
    return _Condition(prepare(condition, leaf_type, settings), -min(shifts), max(shifts))


def _known(mask: Mask, ahead: int, columns: SortedColumns, may_grow: Mask) -> Mask:
    """The mask, but true on the last `ahead` rows of the keys that may grow."""
    if not ahead:
        return mask
    result = mask.copy()
    result[_last_rows(columns, ahead, may_grow)] = True
    return result


def _first_rows(columns: SortedColumns, count: int, keys: Mask) -> NDArray[np.int64]:
    first, end = columns.ordered.key_at[:-1][keys], columns.ordered.key_at[1:][keys]
    return ranges(first, np.minimum(end - first, count))


def _last_rows(columns: SortedColumns, count: int, keys: Mask) -> NDArray[np.int64]:
    first, end = columns.ordered.key_at[:-1][keys], columns.ordered.key_at[1:][keys]
    count_of = np.minimum(end - first, count)
    return ranges(end - count_of, count_of)


def _mask_where_readable(
    condition: _Condition, columns: SortedColumns, failures: RowFailures | None, edges: Edges | None
) -> Mask:
    """The mask at the rows whose neighbours are all in the window, if it has `edges`."""

    def evaluated(rows: NDArray[np.int64]) -> Mask:
        def leaf(node: Expr) -> Vector | None:
            return columns.shifted(node).expanded(columns.count).take(rows) if isinstance(node, Navigation) else None

        return condition.ready.mask(leaf, len(rows))

    is_readable = np.ones(columns.count, np.bool_)
    if edges is not None:
        is_readable[_first_rows(columns, condition.behind, edges.before)] = False
        is_readable[_last_rows(columns, condition.ahead, edges.after)] = False
    rows = np.flatnonzero(is_readable)
    if failures is not None:
        failed = failing_rows(len(rows), lambda begin, end: evaluated(rows[begin:end]))
        for at, error in failed.items():
            failures.note_neighbours(int(rows[at]), condition.ahead, error)
        rows = np.delete(rows, list(failed))
    mask = np.zeros(columns.count, np.bool_)
    mask[rows] = evaluated(rows)
    return mask


def _operands(condition: Expr) -> tuple[Expr, ...]:
    return condition.args if isinstance(condition, Operator) and condition.op == "and" else (condition,)


def _all(masks: Iterable[Mask]) -> Mask:
    first, *rest = masks
    if not rest:
        return first
    result = first & rest[0]
    for mask in rest[1:]:
        result &= mask
    return result
