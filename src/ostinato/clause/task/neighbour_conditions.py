"""Conditions over rows at fixed distances -> masks, all rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ostinato.clause.plan.navigations import references
from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import prepare
from ostinato.expressions.syntax import Expr, Navigation, Operator
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import LeafType
from ostinato.expressions.values.vectors import Vector
from ostinato.rows.batches import Mask
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

    def masks(self, columns: SortedColumns, may_grow: Mask | None = None) -> list[Mask]:
        """True where the condition is TRUE, or, in keys that rows may follow, where a row that it reads isn't here."""
        masks = self._masks(columns)
        if may_grow is None or not may_grow.any():
            return masks
        return [_known(mask, ahead, columns, may_grow) for mask, ahead in zip(masks, self._ahead, strict=True)]

    def _masks(self, columns: SortedColumns) -> list[Mask]:
        def leaf(node: Expr) -> Vector | None:
            return columns.shifted(node) if isinstance(node, Navigation) else None

        try:
            masks = {operand: ready.mask(leaf, columns.count) for operand, ready in self._operands.items()}
        except MatchError:  # one operand may guard another: AND evaluates the second only where the first is true
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
