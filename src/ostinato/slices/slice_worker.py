"""The ordered rows of one slice -> its matches, and the rows that its neighbours need for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.matching.spans import Spans
from ostinato.clause.plan.slicing import slicing_of
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.errors import MatchError
from ostinato.rows.batches import Batch, OutputRows, batch_of
from ostinato.rows.column_names import ORDINAL
from ostinato.rows.match_ids import tie_ordinals
from ostinato.rows.matches import chosen
from ostinato.slices.cutting import one_span
from ostinato.slices.handover import NOWHERE, end_of_runs, meeting_row, quiet_rows, within_reach
from ostinato.slices.handover_kind import Handover, kind_of
from ostinato.slices.seams import KeySlice

_FIRST_LOOK = 4096
"""Number of rows that are searched for a handover first."""


class Takeover(NamedTuple):
    """See KeySlice."""

    row: int
    reach: int


@dataclass(frozen=True, slots=True)
class SliceEdge:
    """The rows of a key in one slice: the first (`head`) and last (`tail`) rows, which the neighbours need."""

    key_slice: KeySlice
    head: pa.Table
    tail: pa.Table


@dataclass(frozen=True, slots=True)
class SliceOutcome:
    """`front` has the rows of the first key. Their match numbers count from the takeover."""

    front: OutputRows
    rest: OutputRows
    edges: tuple[SliceEdge, ...]


class SliceWorker:
    """Matches a slice without reading the rows of its neighbours."""

    def __init__(self, typed: TypedPlan, conditions: Sequence[tuple[str, int]]) -> None:
        self.worker = Worker(typed)
        self.conditions = conditions
        margins = slicing_of(typed.plan).margins
        self.before, self.after = max(margins.before, 1), margins.after
        self.kind = kind_of(typed.plan.bound.clause)
        self._automaton = self.worker.task.automaton

    def run(self, table: pa.Table, number: int) -> SliceOutcome:
        """`number` is the index of the slice."""
        worker = self.worker
        batch = batch_of(table, self.conditions)
        ordered = worker.order(batch, sorts_keys=True)
        in_order = batch.in_order(ordered)
        if worker.plan.has_ids:
            in_order = _with_ordinals(in_order, worker, ordered.key_at)
        table = pa.table(in_order.arrays)
        window = worker.window(in_order, ordered._replace(rows=None))
        key_at = ordered.key_at
        takeover = self._takeover(window, int(key_at[1]), is_open=len(key_at) == 2)
        spans = self._spans(window, key_at, takeover)
        searched = worker.search(window, spans)
        # Before a quiet row all starts are decided. The engine for shifts only counts rows and would wait for more.
        hands_on = int(spans.stop[-1] if self.kind is Handover.QUIET else searched.next_start[-1])
        settled = np.zeros(len(table), np.bool_)
        settled[int(spans.start[0]) : hands_on] = True
        is_front = searched.matches.start < key_at[1]
        in_front = np.arange(len(table)) < key_at[1]
        return SliceOutcome(
            worker.output(chosen(searched.matches, is_front), window, settled & in_front),
            worker.output(chosen(searched.matches, ~is_front), window, settled & ~in_front),
            tuple(self._edges(table, number, key_at, takeover, hands_on, searched.matches.start)),
        )

    # --- taking over from the slices before ---

    def _takeover(self, window: Window, rows: int, *, is_open: bool) -> Takeover:
        """The takeover in the first key, which has `rows` rows here and may have begun in an earlier slice."""
        last = rows - self.after if is_open else rows
        if last <= self.before:
            return Takeover(NOWHERE, rows)
        look = _FIRST_LOOK
        while True:
            visible_rows = min(self.before + look, last)
            try:
                row = self._row(window, visible_rows, rows, closed=not is_open and visible_rows == rows)
            except MatchError:  # the true chain may never try this start
                return Takeover(NOWHERE, rows)
            reach = visible_rows
            if row != NOWHERE:
                reach = row if self.kind is Handover.QUIET else self._reach(window, row, visible_rows, rows)
            if reach < visible_rows or visible_rows == last:
                break
            look *= 4
        if row == NOWHERE:
            return Takeover(NOWHERE, rows)
        return Takeover(row, reach + 1 if reach < last else rows)

    def _row(self, window: Window, visible_rows: int, rows: int, *, closed: bool) -> int:
        """The row of the handover, judged by the first `visible_rows` rows."""
        if self.kind is Handover.ANY:
            return self.before
        if self.kind is Handover.QUIET:
            return self._quiet(window, self.before, visible_rows, rows)[0]
        runs_end = self._reach(window, self.before, visible_rows, rows)
        if runs_end >= visible_rows:
            return NOWHERE
        visible = window.slice(0, min(visible_rows + self.after, rows))
        spans = one_span(self.before, visible_rows, visible_rows, is_open=not closed)._replace(every_start=True)
        tried = self.worker.search(visible, spans)
        ahead = np.ones(int(tried.next_start[0]) - self.before, np.int64)
        ahead[tried.matches.start - self.before] = tried.ahead
        row = int(meeting_row(ahead, runs_end - self.before + 1))
        return NOWHERE if row == NOWHERE else row + self.before

    def _reach(self, window: Window, row: int, visible_rows: int, rows: int) -> int:
        """The first row that no run from before `row` can consume; `visible_rows` if all of them may be consumed."""
        visible = window.slice(0, min(visible_rows + self.after, rows))
        symbols = self.worker.symbols(visible)
        choice_at, choices = self._automaton.choice_at, self._automaton.choices
        runs_end = end_of_runs(choice_at, choices, symbols.allowed, symbols.of_row, row, visible_rows)
        return within_reach(self.worker.task, self.worker.times(visible).us, row, int(runs_end))

    def _quiet(self, window: Window, row: int, visible_rows: int, rows: int) -> tuple[int, int]:
        symbols = self.worker.symbols(window.slice(0, min(visible_rows + self.after, rows)))
        choice_at, choices = self._automaton.choice_at, self._automaton.choices
        first, last = quiet_rows(choice_at, choices, symbols.allowed, symbols.of_row, row, visible_rows)
        return int(first), int(last)

    # --- the search ---

    def _spans(self, window: Window, key_at: NDArray[np.int64], takeover: Takeover) -> Spans:
        start, end = key_at[:-1].copy(), key_at[1:].copy()
        is_open = np.zeros(len(start), np.uint8)
        end[-1] = max(end[-1] - self.after, start[-1])
        is_open[-1] = 1
        stop = end.copy()
        start[0] = stop[0] if takeover.row == NOWHERE else takeover.row
        if self.kind is Handover.QUIET:
            stop[-1] = self._last_quiet(window, int(start[-1]), int(end[-1]))
        return Spans(start, stop, end, is_open, np.zeros(len(start), np.int64))

    def _last_quiet(self, window: Window, row: int, end: int) -> int:
        """The last row of the last key that no run crosses. Matches before it can be finished here."""
        if row >= end:
            return row
        last = self._quiet(window, row + 1, end, window.columns.count)[1]
        return row if last == NOWHERE else last

    # --- rows for the neighbours ---

    def _edges(
        self,
        table: pa.Table,
        number: int,
        key_at: NDArray[np.int64],
        takeover: Takeover,
        hands_on: int,
        starts: NDArray[np.int64],
    ) -> list[SliceEdge]:
        front_rows, front_matches = int(key_at[1]), int((starts < key_at[1]).sum())
        if len(key_at) == 2:
            key_slice = KeySlice(
                number, front_rows, False, False, takeover.row, takeover.reach, hands_on, front_matches
            )
            return [self._edge(key_slice, table)]
        front = KeySlice(number, front_rows, False, True, takeover.row, takeover.reach, front_rows, front_matches)
        first = int(key_at[-2])
        back = KeySlice(number, len(table) - first, True, False, 0, 0, hands_on - first, int((starts >= first).sum()))
        return [self._edge(front, table.slice(0, front_rows)), self._edge(back, table.slice(first))]

    def _edge(self, key_slice: KeySlice, rows: pa.Table) -> SliceEdge:
        head_end, tail_first = key_slice.head_end(self.after), key_slice.tail_first(self.before)
        if head_end >= tail_first:
            return SliceEdge(key_slice, rows, rows.slice(0, 0))
        return SliceEdge(key_slice, rows.slice(0, head_end), rows.slice(tail_first))


def _with_ordinals(batch: Batch, worker: Worker, key_at: NDArray[np.int64]) -> Batch:
    """The batch with the ordinals of its rows, which a seam doesn't know. Equal rows are always in one slice."""
    order = [batch.arrays[key.column] for key in worker.bound.order_by]
    return replace(batch, arrays={**batch.arrays, ORDINAL: pa.array(tie_ordinals(order, key_at))})
