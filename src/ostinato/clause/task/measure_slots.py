"""Slots of measures (navigations, aggregates, match numbers) -> their values for all output rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.task.measure_aggregates import aggregate_array
from ostinato.clause.task.sorted_columns import SortedColumns
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
from ostinato.rows.match_ids import RowIdentities, as_ids, label_runs, match_digests, run_digests
from ostinato.rows.match_navigation import labels_at, target_rows
from ostinato.rows.matches import Frames, Matches


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
                ansi = self.typed.settings.ansi
                return aggregate_array(slot, kind, matches, frames, self._member(slot.rows), args, ansi=ansi)
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
