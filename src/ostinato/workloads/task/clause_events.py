"""The rows of a stream of clauses -> PlanEvents for the shared matcher.

Rows are sorted by partition, as for the clause's own engine, and then interleaved by ORDER BY over all partitions, as
in a stream. So shedding doesn't depend on the order of partitions. A batch may start with rows of earlier calls
(`History`). The matcher gets the earlier rows that it needs, and then the new ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.task.neighbour_conditions import NeighbourConditions
from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Column, Expr, Navigation
from ostinato.expressions.typing import LeafType
from ostinato.expressions.values.value_order import OrderKey, group_numbers, sortable
from ostinato.expressions.values.vectors import Vector
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.batches import Batch, Mask
from ostinato.rows.ordering import Ordered, order_rows
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.plan.clause_conditions import PLACE, RowTest
from ostinato.workloads.plan.row_graph import PartitionPosition
from ostinato.workloads.plan.typed_clauses import TypedStream

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class History:
    """The rows of a batch that came with earlier calls: its first rows, in the order of matching.

    Each partition has its last rows without a gap, so the new rows follow them. In front of all others are separate
    rows. The matcher may still refer to those, but no match will contain them.
    """

    apart: int
    """Number of separate rows."""
    place: Ints
    """[row] place in its partition, relative to the next row: below 0."""
    needed: Ints
    """Rows that the matcher must be given again, in its order."""

    @property
    def count(self) -> int:
        return len(self.place)


NO_HISTORY = History(0, np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class StreamRows:
    """Rows in the order of matching. `arrival[i]` is the index there of the i-th row that the matcher gets."""

    columns: SortedColumns
    partition: Ints
    """[row] number of its partition."""
    place: Ints
    """[row] place in its partition, from 0; below 0 for rows of earlier calls."""
    apart: int
    """Number of separate rows (`History`), which come last."""
    arrival: Ints
    events: PlanEvents


class ClauseEvents:
    """Reads the rows of one stream. It keeps no state between batches."""

    def __init__(self, typed: TypedStream) -> None:
        self.stream = typed.stream
        self.inputs = typed.inputs
        conditions = (test.neighbours for test in self.stream.tests)
        self.neighbours = NeighbourConditions(
            tuple(dict.fromkeys(condition for condition in conditions if condition is not None)),
            _leaf_type(self.inputs),
            self.inputs.settings,
        )

    def read(self, batch: Batch, conditions: dict[Expr, Mask], history: History | None = None) -> StreamRows:
        """`conditions` are the row conditions of the workload, by row of the batch. Without `history` the batch has
        whole partitions; with one, equal keys come in the order of their values, whatever else the batch holds."""
        carried = history is not None
        before = NO_HISTORY if history is None else history
        order = [
            OrderKey(batch.arrays[key.column], key.key.descending, key.key.puts_nulls_first)
            for key in self.stream.order_by
        ]
        ordered = self._ordered(batch, order, conditions, before.apart, sorts_keys=carried)
        partition, place = self._positions(batch, ordered, before)
        columns = SortedColumns(self.inputs, batch.arrays, ordered)
        sorted_rows = _SortedRows(self, columns, conditions, place)
        arrival = _arrival(ordered, order, before)

        def column(expr: Expr) -> Vector:
            return sorted_rows.vector(expr).expanded(columns.count).take(arrival)

        events = PlanEvents(
            sequence=partition[arrival],
            order=place[arrival],
            time=self._time(columns, arrival),
            place=place[arrival],
            link=place[arrival],
            conditions=tuple(sorted_rows.mask(test)[arrival] for test in self.stream.tests),
            column=column,
            first_new=len(before.needed),
        )
        return StreamRows(columns, partition, place, before.apart, arrival, events)

    def _positions(self, batch: Batch, ordered: Ordered, before: History) -> tuple[Ints, Ints]:
        """Returns the partition of each row, in order, and the row's number there."""
        length = np.diff(ordered.key_at)
        first = np.repeat(ordered.key_at[:-1], length)
        place = np.arange(batch.count, dtype=np.int64) - first
        if not before.count:
            return np.repeat(np.arange(len(length), dtype=np.int64), length), place
        rows = np.arange(batch.count) if ordered.rows is None else ordered.rows
        partition = group_numbers(batch.count, [batch.arrays[name] for name in self.stream.partition_by])[rows]
        came_before = rows < before.count
        place -= np.repeat(np.add.reduceat(came_before.astype(np.int64), ordered.key_at[:-1]), length)
        place[came_before] = before.place[rows[came_before]]
        return partition, place

    def _ordered(
        self, batch: Batch, order: list[OrderKey], conditions: dict[Expr, Mask], apart: int, *, sorts_keys: bool
    ) -> Ordered:
        """Puts the first `apart` rows last, as if each were alone in its partition."""

        def ties() -> list[pa.Array]:
            row_conditions = dict.fromkeys(test.row for test in self.stream.tests if test.row is not None)
            inputs = [batch.arrays[column.name].slice(apart) for column in self.inputs.plan.inputs]
            return [*inputs, *(pa.array(conditions[condition][apart:]) for condition in row_conditions)]

        count = batch.count - apart
        keys = [batch.arrays[name].slice(apart) for name in self.stream.partition_by]
        order = [key._replace(values=key.values.slice(apart)) for key in order]
        ordered = order_rows(count, keys, order, ties, sorts_keys=sorts_keys)
        if not apart:
            return ordered
        rows = np.arange(count, dtype=np.int64) if ordered.rows is None else ordered.rows
        separate = np.arange(apart, dtype=np.int64)
        return Ordered(np.concatenate((rows + apart, separate)), np.concatenate((ordered.key_at, count + 1 + separate)))

    def _time(self, columns: SortedColumns, arrival: Ints) -> Ints:
        """Times that never decrease. Without WITHIN they aren't used, and are row numbers."""
        if not self.stream.has_times:
            return np.arange(len(arrival), dtype=np.int64)
        key = self.stream.order_by[0]
        time = columns.time_us(key.column)[arrival]
        has_time = time != NO_TIME
        if key.key.descending:
            time = -time
        # Rows without a time are in no match with WITHIN. They only must not turn time back.
        time = np.where(has_time, time, time[has_time].min() if has_time.any() else 0)
        return np.maximum.accumulate(time)


class _SortedRows:
    """Tests and columns of the rows in the order of matching."""

    def __init__(self, reader: ClauseEvents, columns: SortedColumns, conditions: dict[Expr, Mask], place: Ints) -> None:
        self.stream = reader.stream
        self.columns = columns
        self.conditions = conditions
        self.key_at = columns.ordered.key_at
        self.place = place
        masks = reader.neighbours.masks(columns) if reader.neighbours.conditions else []
        self.neighbours = dict(zip(reader.neighbours.conditions, masks, strict=True))

    def mask(self, test: RowTest) -> Mask:
        """Where the test holds."""
        holds = np.ones(self.columns.count, np.bool_)
        if test.row is not None:
            rows = self.columns.ordered.rows
            holds &= self.conditions[test.row] if rows is None else self.conditions[test.row][rows]
        if test.neighbours is not None:
            holds &= self.neighbours[test.neighbours]
        if test.is_timed:
            holds &= ~self.columns.is_null(self.stream.order_by[0].column)
        if test.position is not PartitionPosition.ANYWHERE:
            holds &= (self.place == 0) == (test.position is PartitionPosition.FIRST)
        if test.at_end:
            is_last = np.zeros(len(holds), np.bool_)
            is_last[self.key_at[1:] - 1] = True
            holds &= is_last
        return ~holds if test.is_negated else holds

    def vector(self, expr: Expr) -> Vector:
        """A column that run conditions read."""
        if isinstance(expr, Column):
            if expr.name == PLACE:
                return Vector(t.INT64, self.place)
            if expr.name in self.stream.neighbours:
                return self.columns.shifted(self.stream.neighbours[expr.name])
        return self.columns.vector(expr)


def _arrival(ordered: Ordered, order: list[OrderKey], before: History) -> Ints:
    """The rows that the matcher needs again, then the new rows, interleaved by ORDER BY and then by partition."""
    count = int(ordered.key_at[-1])
    rows = np.arange(count, dtype=np.int64)
    columns = [column for key in order for column in sortable(key)]
    if len(ordered.key_at) > 2 and columns:
        if ordered.rows is not None:
            columns = [column[ordered.rows] for column in columns]
        rows = np.lexsort(columns[::-1]).astype(np.int64, copy=False)
    if not before.count:
        return rows
    sorted_index = np.empty(count, np.int64)
    sorted_index[slice(None) if ordered.rows is None else ordered.rows] = np.arange(count)
    is_new = np.ones(count, np.bool_)
    is_new[sorted_index[: before.count]] = False
    return np.concatenate((sorted_index[before.needed], rows[is_new[rows]]))


def _leaf_type(typed: TypedPlan) -> LeafType:
    def kind(node: Expr) -> pa.DataType | None:
        if not isinstance(node, Navigation):
            return None
        input_type = typed.input_types.get(node.operand)
        if input_type is not None:
            return input_type
        return evaluate(node.operand, lambda leaf: None, 1, typed.settings).type

    return kind
