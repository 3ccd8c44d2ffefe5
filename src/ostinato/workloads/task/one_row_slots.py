"""ONE ROW PER MATCH directly from the rows that the shared matcher visited, without labelling the skipped rows.

A match of three visited rows may span a thousand. Labelling all of them would cost more than matching. This works if
the output reads no skipped rows (`can_read`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.match_plan import MatchPlan, slot_name
from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.expressions.syntax import Aggregate, Anchor, Expr, MatchIdentity, MatchNumber, Navigation, RowClassifier
from ostinato.rows.batches import OutputRows
from ostinato.rows.match_navigation import NO_ROW
from ostinato.workloads.plan.clause_groups import ClauseProgram
from ostinato.workloads.plan.row_graph import NOTHING
from ostinato.workloads.task.clause_matches import MatchRows

Ints = NDArray[np.int64]


def can_read(clause: ClauseProgram, plan: MatchPlan) -> bool:
    """Whether the output reads visited rows only."""
    states = plan.nfa.states
    skipped = {states[step.gap].variable for step in clause.graph.steps if step.gap != NOTHING}
    return not plan.bound.shows_all_rows and all(_reads_visited(slot, skipped) for slot in plan.slots)


def _reads_visited(slot: Expr, skipped: set[str]) -> bool:
    match slot:
        case Navigation(operand=RowClassifier(), shift=shift) if shift:
            return False
        case Navigation(operand=RowClassifier(), rows=None, skip=skip):
            return skip == 0
        case Navigation(rows=rows):
            return rows is None or not rows & skipped
        case Aggregate() | MatchIdentity():
            return False
        case _:
            return True


class OneRowSlots:
    """Reads the slots of one clause."""

    def __init__(self, clause: ClauseProgram, plan: MatchPlan) -> None:
        self.plan = plan
        self.variables = [plan.nfa.states[node.state].variable for node in clause.graph.nodes]

    def output(self, visited: MatchRows, columns: SortedColumns) -> OutputRows:
        """One row for each match. The matches are in their final order."""
        positions = _MatchPositions(visited, columns.ordered.key_at)
        arrays = {name: columns.at_rows(name, positions.last) for name in self.plan.shown}
        for i, slot in enumerate(self.plan.slots):
            arrays[slot_name(i)] = self._array(slot, positions, columns)
        return OutputRows(len(positions.last), arrays)

    def _array(self, slot: Expr, positions: _MatchPositions, columns: SortedColumns) -> pa.Array:
        if isinstance(slot, MatchNumber):
            return pa.array(positions.number)
        assert isinstance(slot, Navigation)
        from_first = slot.anchor is Anchor.FIRST
        if isinstance(slot.operand, RowClassifier):
            index = self._index(slot, positions)
            labels = np.where(index >= 0, positions.visited.labels[index], NO_ROW)
            return pa.array(self.variables, pa.string()).take(pa.array(labels, mask=labels < 0))
        if slot.rows is None:
            rows = positions.in_range(from_first, slot.skip)
        else:
            index = self._index(slot, positions)
            rows = np.where(index >= 0, positions.visited.rows[index], NO_ROW)
        return columns.array(slot.operand, positions.moved(rows, slot.shift))

    def _index(self, slot: Navigation, positions: _MatchPositions) -> Ints:
        """Index in `visited` of the row that the slot reads, among the rows of its variables."""
        counts = np.array([slot.rows is None or name in slot.rows for name in self.variables], np.bool_)
        return positions.counted(counts, slot.anchor is Anchor.FIRST, slot.skip)


class _MatchPositions:
    """The rows of matches, by position."""

    def __init__(self, visited: MatchRows, key_at: Ints) -> None:
        self.visited = visited
        self.first, self.last = visited.rows[visited.offsets[:-1]], visited.rows[visited.offsets[1:] - 1]
        key = np.searchsorted(key_at, self.first, side="right") - 1
        self.key_first, self.key_end = key_at[key], key_at[key + 1]
        self.number = np.arange(len(key), dtype=np.int64) - np.searchsorted(key, key, side="left") + 1

    def in_range(self, from_first: bool, skip: int) -> Ints:
        """A row of the match, skipped ones included, counted from one of its ends."""
        rows = self.first + skip if from_first else self.last - skip
        return np.where((rows >= self.first) & (rows <= self.last), rows, NO_ROW)

    def counted(self, counts: NDArray[np.bool_], from_first: bool, skip: int) -> Ints:
        """Index in `visited` of a row among those whose labels count; NO_ROW where there are too few."""
        indexes = np.flatnonzero(counts[self.visited.labels])
        first = np.searchsorted(indexes, self.visited.offsets[:-1])
        end = np.searchsorted(indexes, self.visited.offsets[1:])
        wanted = first + skip if from_first else end - 1 - skip
        if not len(indexes):
            return np.full_like(first, NO_ROW)
        inside = (wanted >= first) & (wanted < end)
        return np.where(inside, indexes[np.where(inside, wanted, 0)], NO_ROW)

    def moved(self, rows: Ints, shift: int) -> Ints:
        if not shift:
            return rows
        moved = rows + shift
        return np.where((rows >= 0) & (moved >= self.key_first) & (moved < self.key_end), moved, NO_ROW)
