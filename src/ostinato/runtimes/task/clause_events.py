"""The rows of a stream of clauses -> PlanEvents for the shared matcher.

Rows are sorted by partition as the clause's own engine has them, and then interleaved by ORDER BY over all partitions,
as a stream would bring them: what is shed doesn't depend on which partition comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.events.ordering import Ordered, OrderKey, order_rows, sortable
from ostinato.matching.search import NO_TIME
from ostinato.matching.symbols import Mask
from ostinato.planning.clause_conditions import PLACE, RowTest
from ostinato.planning.row_graph import Place
from ostinato.planning.typed import TypedPlan
from ostinato.planning.typed_clauses import TypedStream
from ostinato.predicates import types as t
from ostinato.predicates.evaluate import evaluate
from ostinato.predicates.typing import LeafType
from ostinato.predicates.vectors import Vector
from ostinato.query.expressions import Column, Expr, Navigation
from ostinato.runtimes.task.columns import SortedColumns
from ostinato.runtimes.task.neighbours import NeighbourConditions
from ostinato.runtimes.task.worker import Batch
from ostinato.techniques.bounded_latency.plan_events import PlanEvents

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StreamRows:
    """Rows in the order of matching; `arrival[i]` is the place there of the i-th row that the matcher is given."""

    columns: SortedColumns
    arrival: Ints
    events: PlanEvents


class ClauseEvents:
    """Reads the rows of one stream; holds nothing between batches."""

    def __init__(self, typed: TypedStream) -> None:
        self.stream = typed.stream
        self.inputs = typed.inputs
        found = (test.neighbours for test in self.stream.tests)
        self.neighbours = NeighbourConditions(
            tuple(dict.fromkeys(condition for condition in found if condition is not None)),
            _leaf_type(self.inputs),
            self.inputs.settings,
        )

    def read(self, batch: Batch, conditions: dict[Expr, Mask]) -> StreamRows:
        """`conditions` are the row conditions of the workload, by row of the batch."""
        order = [
            OrderKey(batch.arrays[key.column], key.key.descending, key.key.puts_nulls_first)
            for key in self.stream.order_by
        ]
        ordered = self._ordered(batch, order, conditions)
        arrival = _arrival(ordered, order)
        columns = SortedColumns(self.inputs, batch.arrays, ordered)
        sorted_rows = _SortedRows(self, columns, conditions)
        place, length = sorted_rows.place, np.diff(ordered.key_at)
        sequence = np.repeat(np.arange(len(length), dtype=np.int64), length)

        def column(expr: Expr) -> Vector:
            return sorted_rows.vector(expr).expanded(columns.count).take(arrival)

        events = PlanEvents(
            sequence=sequence[arrival],
            order=place[arrival],
            time=self._time(columns, arrival),
            place=place[arrival],
            link=place[arrival],
            conditions=tuple(sorted_rows.mask(test)[arrival] for test in self.stream.tests),
            column=column,
        )
        return StreamRows(columns, arrival, events)

    def _ordered(self, batch: Batch, order: list[OrderKey], conditions: dict[Expr, Mask]) -> Ordered:
        def ties() -> list[pa.Array]:
            asked = dict.fromkeys(test.row for test in self.stream.tests if test.row is not None)
            shipped = [batch.arrays[item.name] for item in self.inputs.plan.inputs]
            return [*shipped, *(pa.array(conditions[condition]) for condition in asked)]

        keys = [batch.arrays[name] for name in self.stream.partition_by]
        return order_rows(batch.count, keys, order, ties)

    def _time(self, columns: SortedColumns, arrival: Ints) -> Ints:
        """Times that never fall; without WITHIN nobody measures them, and they count rows."""
        if not self.stream.has_times:
            return np.arange(len(arrival), dtype=np.int64)
        key = self.stream.order_by[0]
        time = columns.time_us(key.column)[arrival]
        known = time != NO_TIME
        if key.key.descending:
            time = -time
        # Rows without a time are in no match with WITHIN; they only mustn't turn time back.
        time = np.where(known, time, time[known].min() if known.any() else 0)
        return np.maximum.accumulate(time)


class _SortedRows:
    """What is asked of the rows in the order of matching."""

    def __init__(self, reader: ClauseEvents, columns: SortedColumns, conditions: dict[Expr, Mask]) -> None:
        self.stream = reader.stream
        self.columns = columns
        self.conditions = conditions
        key_at = columns.ordered.key_at
        self.key_at = key_at
        self.place = np.arange(columns.count, dtype=np.int64) - np.repeat(key_at[:-1], np.diff(key_at))
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
        if test.place is not Place.ANYWHERE:
            holds &= (self.place == 0) == (test.place is Place.FIRST)
        if test.at_end:
            is_last = np.zeros(len(holds), np.bool_)
            is_last[self.key_at[1:] - 1] = True
            holds &= is_last
        return ~holds if test.is_negated else holds

    def vector(self, expr: Expr) -> Vector:
        """What a run condition reads of each row."""
        if isinstance(expr, Column):
            if expr.name == PLACE:
                return Vector(t.INT64, self.place)
            if expr.name in self.stream.neighbours:
                return self.columns.shifted(self.stream.neighbours[expr.name])
        return self.columns.vector(expr)


def _arrival(ordered: Ordered, order: list[OrderKey]) -> Ints:
    """Sorted rows interleaved by ORDER BY; what that can't tell apart by partition."""
    count = int(ordered.key_at[-1])
    columns = [column for key in order for column in sortable(key)]
    if len(ordered.key_at) <= 2 or not columns:
        return np.arange(count, dtype=np.int64)
    if ordered.rows is not None:
        columns = [column[ordered.rows] for column in columns]
    return np.lexsort(columns[::-1]).astype(np.int64, copy=False)


def _leaf_type(typed: TypedPlan) -> LeafType:
    def kind(node: Expr) -> pa.DataType | None:
        if not isinstance(node, Navigation):
            return None
        known = typed.input_types.get(node.operand)
        return evaluate(node.operand, lambda part: None, 1, typed.settings).type if known is None else known

    return kind
