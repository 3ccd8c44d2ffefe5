"""Conditions over rows at fixed distances -> masks, all rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import prepare
from ostinato.expressions.syntax import Expr, Navigation, Operator
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import LeafType
from ostinato.expressions.values.vectors import Vector
from ostinato.rows.batches import Mask


class NeighbourConditions:
    """Evaluates each operand of AND once, even if several conditions share it."""

    def __init__(self, conditions: Sequence[Expr], leaf_type: LeafType, settings: Settings) -> None:
        self.conditions = conditions
        self._prepared = [prepare(condition, leaf_type, settings) for condition in conditions]
        operands = dict.fromkeys(operand for condition in conditions for operand in _operands(condition))
        self._operands = {operand: prepare(operand, leaf_type, settings) for operand in operands}

    def masks(self, columns: SortedColumns) -> list[Mask]:
        """True where the condition is TRUE."""

        def leaf(node: Expr) -> Vector | None:
            return columns.shifted(node) if isinstance(node, Navigation) else None

        try:
            masks = {operand: ready.mask(leaf, columns.count) for operand, ready in self._operands.items()}
        except MatchError:  # one operand may guard another: AND evaluates the second only where the first is true
            return [ready.mask(leaf, columns.count) for ready in self._prepared]
        return [_all(masks[operand] for operand in _operands(condition)) for condition in self.conditions]


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
