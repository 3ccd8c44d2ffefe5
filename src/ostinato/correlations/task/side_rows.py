"""Arrived rows of one side -> the same rows in matching order, with their times, ready to be searched."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.clause.matching.growths import (
    PreparedRows,
    ProbeMatches,
    ProbeMode,
    Probes,
    find,
    matches_at,
    quiet_before,
)
from ostinato.clause.matching.match_engine import Task
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.correlations.strategies.sides import LARGEST_TIME, Ints, RowTimes, SearchCost
from ostinato.correlations.task.correlation_task import SideTask
from ostinato.errors import MatchError
from ostinato.expressions.values.value_order import OrderKey
from ostinato.kernels.clock import Clock, ThreadClock, Work
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.batches import Batch, OutputRows, row_masks
from ostinato.rows.ordering import Ordered, order_rows
from ostinato.rows.times import microseconds_of

THREAD_CLOCK = ThreadClock()


class SideWorker:
    """One side's clause over the rows of any step. It holds no state."""

    def __init__(self, task: SideTask, clock: Clock = THREAD_CLOCK) -> None:
        self.task = task
        self.clock = clock
        self.worker = Worker(task.typed)

    def times_of(self, rows: pa.RecordBatch) -> tuple[Ints, Ints]:
        """Start and end of each row, or NO_TIME. Raises INTERVAL_ENDS_FIRST."""
        columns = self.task.time_columns
        column = rows.column(self.task.arriving(columns.start))
        start = microseconds_of(column)
        if pa.types.is_int64(columns.type):
            _check_size(column, columns.start)
        if not columns.has_intervals:
            return start, start
        end = microseconds_of(rows.column(self.task.arriving(columns.end)))
        timed = start != NO_TIME
        if (end[timed] < start[timed]).any():
            raise MatchError(
                "INTERVAL_ENDS_FIRST",
                f"an event ends ('{columns.end}') before it starts ('{columns.start}'), or has no end",
                hint="leave such rows out, or order by the start alone",
            )
        return start, np.where(timed, end, NO_TIME)

    def in_order(self, rows: pa.RecordBatch, key: Ints) -> NDArray[np.int64] | None:
        """The row indices in matching order, by key number; None: the rows are in order."""
        batch = self.batch(rows)
        bound, plan = self.task.typed.plan.bound, self.task.typed.plan
        order = [
            OrderKey(batch.arrays[item.column], item.key.descending, item.key.puts_nulls_first)
            for item in bound.order_by
        ]

        def ties() -> list[pa.Array]:
            return [*(batch.arrays[item.name] for item in plan.inputs), *(pa.array(mask) for mask in batch.row_masks)]

        return order_rows(rows.num_rows, [pa.array(key)], order, ties, sorts_keys=True).rows

    def batch(self, rows: pa.RecordBatch) -> Batch:
        """The rows with the plan's column names, and their conditions."""
        arriving = dict(zip(rows.schema.names, rows.columns, strict=True))
        arrays = {name: arriving[self.task.arriving(name)] for name in self.task.names}
        return Batch(rows.num_rows, arrays, row_masks(arriving, self.task.conditions))

    def side(self, rows: pa.RecordBatch, key_at: Ints, known_until: int, task: Task | None = None) -> WindowSide:
        """A side of ordered rows. Key k has the rows `key_at[k]:key_at[k + 1]`. `task` may bound matches further."""
        window = self.worker.window(self.batch(rows), Ordered(None, key_at))
        times = RowTimes(key_at, *self.times_of(rows))
        return WindowSide(self, rows, window, times, self.worker.task if task is None else task, known_until)


def _check_size(column: pa.Array, name: str) -> None:
    """Checks that a distance can be added to the numbers that order the rows. Dates and timestamps always allow it."""
    range_of = pc.min_max(column).as_py()
    if any(value is not None and abs(value) > LARGEST_TIME for value in range_of.values()):
        raise MatchError(
            "ARITHMETIC_OVERFLOW",
            f"the numbers of '{name}' are too large to tell how far rows are from one another",
            hint=f"order a correlation by numbers between {-LARGEST_TIME} and {LARGEST_TIME}",
        )


@dataclass(slots=True)
class WindowSide:
    """Ordered rows of one side: the `Side` of strategies."""

    owner: SideWorker
    rows: pa.RecordBatch
    window: Window
    times: RowTimes
    task: Task
    known_until: int
    decided_until: Ints | None = None
    """For each key, the first row whose conditions later rows may change; None: end of input."""
    cost: SearchCost = field(default_factory=SearchCost)
    _prepared: PreparedRows | None = None
    _quiet: Ints | None = None

    @property
    def prepared(self) -> PreparedRows:
        if self._prepared is None:  # not timed: all strategies need it
            self._prepared = self.owner.worker.prepared(self.window, self.task, self.decided_until)
        return self._prepared

    def find(self, probes: Probes, mode: ProbeMode) -> ProbeMatches:
        prepared = self.prepared
        rows = int((probes.stop - probes.start).sum())
        began_ns = self.owner.clock.now_ns()
        try:
            return find(prepared, probes, mode, self.known_until)
        except MatchError as error:
            raise self.owner.worker.with_key(error, self.window) from None
        finally:
            self._count(began_ns, rows)
            self.cost.rows += rows

    def quiet_before(self) -> Ints:
        if self._quiet is None:
            prepared = self.prepared
            began_ns = self.owner.clock.now_ns()
            self._quiet = quiet_before(prepared)
            self._count(began_ns, len(self._quiet))
        return self._quiet

    def _count(self, began_ns: int, rows: int) -> None:
        """Adds the time of work on `rows` rows."""
        self.cost.seconds += self.owner.clock.spent_ns(began_ns, Work(rows, 0, 0)) / 1e9

    def gathered(self, rows: Ints, key_at: Ints) -> WindowSide:
        """A side of these rows. Its key k has the rows `rows[key_at[k]:key_at[k + 1]]`."""
        side = self.owner.side(self.rows.take(pa.array(rows)), key_at, self.known_until, self.task)
        side.cost = self.cost
        return side

    def values(self, probe_matches: ProbeMatches, chosen: Ints, number: Ints | None = None) -> OutputRows:
        """The output rows of the chosen matches."""
        return self.owner.worker.output(matches_at(self.prepared, probe_matches, chosen, number), self.window)
