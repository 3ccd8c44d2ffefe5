"""A condition over a few rows of the run -> its value for many current rows at once.

`contains(B.text, A.text)` reads the current row and a row of A. While the search tries row after row against the same
row of A, only the current row changes. So one call of the evaluator answers for a block of rows, and the next trials
look their answer up. A block is twice as long as the rows that were tried before. Conditions with aggregates or
CLASSIFIER() are left to `predicted_conditions.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.clause.task.trials import Trial
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import PreparedExpression
from ostinato.expressions.syntax import Anchor, Column, Expr, Navigation, RowClassifier, walk
from ostinato.rows.batches import Mask
from ostinato.rows.match_navigation import NO_ROW

CURRENT = -2
"""Stands for the current row among the rows that a condition reads."""
_SMALLEST_BLOCK, _LARGEST_BLOCK = 8, 4096
_MOST_BLOCKS = 1024


@dataclass(slots=True)
class _Block:
    """The answers for the current rows from `first` on. Trials of the rows `lowest` to `highest` asked for blocks."""

    first: int
    answers: Mask
    lowest: int
    highest: int


class BlockCondition:
    """One condition. `slots` are its navigations by the name of the column that stands for them."""

    def __init__(
        self,
        ready: PreparedExpression,
        slots: Mapping[str, Navigation],
        variables: Sequence[str],
        columns: SortedColumns,
    ) -> None:
        self.ready = ready
        self.slots = slots
        self.columns = columns
        self.members = {
            name: None if slot.rows is None else np.array([each in slot.rows for each in variables], np.bool_)
            for name, slot in slots.items()
        }
        self.blocks: dict[tuple[int, ...], _Block] = {}

    def holds(self, trial: Trial) -> bool:
        """Whether the condition is TRUE. Raises its error for this row only."""
        rows = [self._row_of(name, slot, trial) for name, slot in self.slots.items()]
        read = (trial.key_first, trial.key_end, *rows)
        block = self.blocks.get(read)
        if block is not None and 0 <= trial.row - block.first < len(block.answers):
            return bool(block.answers[trial.row - block.first])
        lowest, highest = (trial.row, trial.row) if block is None else (block.lowest, block.highest)
        is_back = trial.row < lowest  # a greedy search comes back from the last row
        lowest, highest = min(lowest, trial.row), max(highest, trial.row)
        size = min(max(_SMALLEST_BLOCK, 2 * (highest - lowest)), _LARGEST_BLOCK)
        first, end = trial.row, min(trial.row + size, trial.key_end)
        if is_back:
            first, end = max(trial.row + 1 - size, trial.key_first, 1 + max(rows, default=NO_ROW)), trial.row + 1
        try:
            block = _Block(first, self._answers(trial, rows, first, end), lowest, highest)
        except MatchError:  # perhaps of a row that is never tried
            return bool(self._answers(trial, rows, trial.row, trial.row + 1)[0])
        if len(self.blocks) >= _MOST_BLOCKS:
            self.blocks.clear()
        self.blocks[read] = block
        return bool(block.answers[trial.row - first])

    def _row_of(self, name: str, slot: Navigation, trial: Trial) -> int:
        """The row that the navigation counts its shift from: NO_ROW if there is none."""
        depth, member = len(trial.labels) - 1, self.members[name]
        if member is None:
            at = slot.skip if slot.anchor is Anchor.FIRST else depth - slot.skip
            if not 0 <= at <= depth:
                return NO_ROW
        elif slot.anchor is Anchor.LAST and slot.skip == 0 and member[trial.labels[depth]]:
            at = depth
        else:
            places = np.flatnonzero(member[trial.labels])
            index = slot.skip if slot.anchor is Anchor.FIRST else len(places) - 1 - slot.skip
            if not 0 <= index < len(places):
                return NO_ROW
            at = int(places[index])
        return CURRENT if at == depth else trial.row - depth + at

    def _answers(self, trial: Trial, rows: Sequence[int], first: int, end: int) -> Mask:
        """The answers for the current rows `first:end`."""
        current, count = np.arange(first, end), end - first

        def values(name: str, base: int) -> pa.Array:
            slot = self.slots[name]
            targets = (current if base == CURRENT else np.full(count, base)) + slot.shift
            inside = (targets >= trial.key_first) & (targets < trial.key_end) & (base != NO_ROW)
            return self.columns.array(slot.operand, np.where(inside, targets, NO_ROW))

        inputs = {name: values(name, base) for name, base in zip(self.slots, rows, strict=True)}
        return self.ready.mask(lambda node: inputs.get(node.name) if isinstance(node, Column) else None, count)


def block_condition(
    condition: Expr,
    ready: PreparedExpression,
    slot_by_name: Mapping[str, Expr],
    variables: Sequence[str],
    columns: SortedColumns,
) -> BlockCondition | None:
    """None for a condition that reads more than single rows."""
    navigations: dict[str, Navigation] = {}
    for node in walk(condition):
        slot = slot_by_name.get(node.name) if isinstance(node, Column) else None
        if not isinstance(node, Column) or slot is None:
            continue
        if not isinstance(slot, Navigation) or any(isinstance(each, RowClassifier) for each in walk(slot.operand)):
            return None
        navigations[node.name] = slot
    return BlockCondition(ready, navigations, variables, columns)
