"""Slots of measures (navigations, aggregates, match numbers) -> their values for all output rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.task.measure_aggregates import aggregate_array
from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Expr,
    MatchIdentity,
    MatchNumber,
    Navigation,
    RowClassifier,
    RowSet,
)
from ostinato.expressions.values.vectors import Vector, from_arrow
from ostinato.rows.column_names import FAILED_SLOTS, MATCHED, ROW_ERROR
from ostinato.rows.failing_rows import failing_rows
from ostinato.rows.match_ids import RowIdentities, as_ids, label_runs, match_digests, run_digests
from ostinato.rows.match_navigation import labels_at, target_rows
from ostinato.rows.matches import Frames, Matches, chosen


class SlotReader:
    """Reads slots from the columns of one batch."""

    def __init__(self, typed: TypedPlan, columns: SortedColumns) -> None:
        self.typed = typed
        self.columns = columns
        self.variables = typed.plan.bound.variables

    def array(self, slot: Expr, kind: pa.DataType, matches: Matches, frames: Frames) -> pa.Array:
        """The slot's value for each frame."""
        match slot:
            case MatchNumber():
                return pa.array(matches.number[frames.match])
            case MatchIdentity():
                return self._ids(slot, matches).take(pa.array(frames.match))
            case Navigation():
                rows = target_rows(
                    matches,
                    frames,
                    self._member(slot.rows),
                    from_first=slot.anchor is Anchor.FIRST,
                    skip=slot.skip,
                    shift=slot.shift,
                    final=slot.final,
                )
                if isinstance(slot.operand, RowClassifier):
                    return self._names(labels_at(matches, frames, rows))
                return self.columns.array(slot.operand, rows)
            case Aggregate():
                args = [self._argument(arg, matches) for arg in slot.args]
                order = [self._argument(item.expr, matches) for item in slot.order_by]
                member, ansi = self._member(slot.rows), self.typed.settings.ansi
                return aggregate_array(slot, kind, matches, frames, member, args, ansi=ansi, order=order)
        raise AssertionError(slot)

    def _ids(self, slot: MatchIdentity, matches: Matches) -> pa.Array:
        """The id of each match."""
        keys = [self.columns.at_rows(name, matches.start) for name in self.typed.plan.bound.partition_by]
        runs = run_digests(slot.rule, keys, self._row_identities(matches.start))
        if slot.kind == "run":
            return as_ids(runs)
        last = matches.start + np.maximum(matches.length - 1, 0)
        return as_ids(match_digests(runs, label_runs(matches, self.variables), self._row_identities(last)))

    def _row_identities(self, rows: NDArray[np.int64]) -> RowIdentities:
        order = [self.columns.at_rows(key.column, rows) for key in self.typed.plan.bound.order_by]
        return RowIdentities(order, self.columns.ordinals[rows])

    def array_or_errors(
        self, slot: Expr, kind: pa.DataType, matches: Matches, frames: Frames
    ) -> tuple[pa.Array, dict[int, MatchError]]:
        """The slot's value for each frame, NULL for frames for which it can't be computed, and the errors of these."""
        try:
            return self.array(slot, kind, matches, frames), {}
        except MatchError:
            count = len(frames.match)

        def values(chosen: NDArray[np.int64]) -> pa.Array:
            return self.array(slot, kind, *_only(matches, Frames._make(column[chosen] for column in frames)))

        frame = np.arange(count)
        failed = failing_rows(count, lambda begin, end: values(frame[begin:end]))
        is_good = np.ones(count, np.bool_)
        is_good[list(failed)] = False
        positions = pa.array(np.cumsum(is_good) - 1, mask=~is_good)
        return values(frame[is_good]).take(positions), failed

    def _member(self, rows: RowSet) -> NDArray[np.bool_] | None:
        return None if rows is None else np.array([name in rows for name in self.variables], np.bool_)

    def _names(self, labels: NDArray[np.int64]) -> pa.Array:
        return pa.array(self.variables, pa.string()).take(pa.array(labels, mask=labels < 0))

    def _argument(self, arg: Expr, matches: Matches) -> Vector:
        """An aggregate's argument for every matched row."""
        rows = matches.rows()

        def leaf(node: Expr) -> Any:
            if isinstance(node, RowClassifier):
                return self._names(matches.label.astype(np.int64))
            if isinstance(node, MatchNumber):
                return np.repeat(matches.number, matches.length)
            if node in self.typed.input_types:
                values = self.columns.vector(node).expanded(self.columns.count)
                return values.take(rows.astype(np.intp)).expanded(len(rows))  # a single row stands for all
            return None

        vector = leaf(arg)
        if isinstance(vector, Vector):
            return vector
        array = evaluate(arg, leaf, len(rows), self.typed.settings)
        return from_arrow(array, array.type)


def _only(matches: Matches, frames: Frames) -> tuple[Matches, Frames]:
    """The matches that have one of these frames, and the frames with their new numbers."""
    numbers, match = np.unique(frames.match, return_inverse=True)
    return chosen(matches, numbers), frames._replace(match=match.astype(np.int64))


class SlotErrors:
    """The errors of slots, by output row."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._slots: dict[int, list[str]] = {}

    def note(self, slot: str, failed: Mapping[int, MatchError]) -> None:
        for row, error in failed.items():
            self._texts.setdefault(row, error.one_line())
            self._slots.setdefault(row, []).append(slot)

    def columns(self, count: int) -> dict[str, pa.Array]:
        """MATCHED, ROW_ERROR and FAILED_SLOTS for so many rows of matches."""
        if not self._texts:
            texts, slots = pa.nulls(count, pa.string()), pa.nulls(count, _SLOTS)
        else:
            texts = pa.array([self._texts.get(row) for row in range(count)], pa.string())
            slots = pa.array([self._slots.get(row) for row in range(count)], _SLOTS)
        return {ROW_ERROR: texts, FAILED_SLOTS: slots, MATCHED: pa.array(np.ones(count, np.bool_))}


_SLOTS = pa.list_(pa.string())
