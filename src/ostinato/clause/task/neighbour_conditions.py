"""Conditions over rows at fixed distances -> masks, all rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


class NeighbourConditions:
    """Evaluates each operand of AND once, even if several conditions share it."""

    def __init__(self, conditions: Sequence[Expr], leaf_type: LeafType, settings: Settings) -> None:
        self.conditions = conditions
        self._prepared = [prepare(condition, leaf_type, settings) for condition in conditions]
        operands = dict.fromkeys(operand for condition in conditions for operand in _operands(condition))
        self._operands = {operand: prepare(operand, leaf_type, settings) for operand in operands}
        self._ahead = [
            max((node.shift for node in references(each) if isinstance(node, Navigation)), default=0)
            for each in conditions
        ]

    def masks(
        self, columns: SortedColumns, may_grow: Mask | None = None, failures: RowFailures | None = None
    ) -> list[Mask]:
        """True where the condition is TRUE, or, in keys that rows may follow, where a row that it reads isn't here.

        With `failures`, a row at which it fails is noted there and counts as not TRUE.
        """
        masks = self._masks(columns, may_grow, failures)
        if may_grow is None or not may_grow.any():
            return masks
        return [_known(mask, ahead, columns, may_grow) for mask, ahead in zip(masks, self._ahead, strict=True)]

    def _masks(self, columns: SortedColumns, may_grow: Mask | None, failures: RowFailures | None) -> list[Mask]:
        def leaf(node: Expr) -> Vector | None:
            return columns.shifted(node) if isinstance(node, Navigation) else None

        try:
            masks = {operand: ready.mask(leaf, columns.count) for operand, ready in self._operands.items()}
        except MatchError:  # one operand may guard another: AND evaluates the second only where the first is true
            if failures is not None:
                return [
                    _mask_without_failures(ready, max(ahead, 0), columns, may_grow, failures)
                    for ready, ahead in zip(self._prepared, self._ahead, strict=True)
                ]
            return [ready.mask(leaf, columns.count) for ready in self._prepared]
        return [_all(masks[operand] for operand in _operands(condition)) for condition in self.conditions]


def _known(mask: Mask, ahead: int, columns: SortedColumns, may_grow: Mask) -> Mask:
    """The mask, but true on the last `ahead` rows of the keys that may grow."""
    if ahead <= 0:
        return mask
    first, end = columns.ordered.key_at[:-1][may_grow], columns.ordered.key_at[1:][may_grow]
    begin = np.maximum(first, end - ahead)
    result = mask.copy()
    result[ranges(begin, end - begin)] = True
    return result


def _mask_without_failures(
    ready: PreparedExpression, ahead: int, columns: SortedColumns, may_grow: Mask | None, failures: RowFailures
) -> Mask:
    def evaluated(rows: NDArray[np.int64]) -> Mask:
        def leaf(node: Expr) -> Vector | None:
            return columns.shifted(node).expanded(columns.count).take(rows) if isinstance(node, Navigation) else None

        return ready.mask(leaf, len(rows))

    row = np.arange(columns.count)
    failed = failing_rows(columns.count, lambda begin, end: evaluated(row[begin:end]))
    nothing = np.zeros(columns.count, np.bool_)
    is_unknown = nothing if may_grow is None else _known(nothing, ahead, columns, may_grow)
    for number, error in failed.items():
        if not is_unknown[number]:
            failures.note_neighbours(number, ahead, error)
    good = np.delete(row, list(failed))
    mask = nothing.copy()
    mask[good] = evaluated(good)
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
