"""TypedPlan + all rows of some keys -> output rows. No Spark and no parsing here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.matching.growths import PreparedRows, prepare
from ostinato.clause.matching.interpreted_search import search_interpreted
from ostinato.clause.matching.match_engine import (
    ALWAYS,
    RowTimes,
    RunConditions,
    SearchResult,
    SortedRows,
    Task,
    match_by_search,
    match_by_shifts,
)
from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.matching.search import no_update, search_in_python
from ostinato.clause.matching.spans import Spans, whole_keys
from ostinato.clause.matching.symbols import RowSymbols, symbols_of
from ostinato.clause.plan.match_plan import NONE, slot_name
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.query.clause import Output
from ostinato.clause.task.calendar_reach import reach_us
from ostinato.clause.task.general_conditions import GeneralConditionCheck
from ostinato.clause.task.located_errors import located, shown_value
from ostinato.clause.task.measure_slots import SlotErrors, SlotReader
from ostinato.clause.task.neighbour_conditions import Edges, NeighbourConditions
from ostinato.clause.task.sorted_columns import SortedColumns
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.run_conditions.run_columns import tie_to_columns
from ostinato.expressions.run_conditions.run_registers import ConditionArrays
from ostinato.expressions.syntax import Expr, Navigation
from ostinato.expressions.values.value_order import OrderKey
from ostinato.kernels.kernel_cache import interpreted
from ostinato.kernels.stopping import check_stopped
from ostinato.rows.batches import Batch, Mask, OutputRows
from ostinato.rows.column_names import MATCHED, ROW_ERROR
from ostinato.rows.matches import Frames, Matches, all_rows_frames, one_row_frames, unmatched_rows
from ostinato.rows.ordering import Ordered, order_rows


@dataclass(frozen=True, slots=True)
class Window:
    """Rows in the order of matching, and a mask for each row condition."""

    columns: SortedColumns
    row_masks: Sequence[Mask]
    may_grow: Mask | None = None
    """Keys that rows may follow: a condition whose NEXT reads such a row counts as true. None: NEXT is NULL there."""
    edges: Edges | None = None
    """The keys that have rows outside of the window. None: there are no other rows."""
    failures: RowFailures | None = None
    """Takes the rows at which conditions fail, where these don't stop the query."""

    def slice(self, first: int, end: int) -> Window:
        """Rows `first:end`; the rows must have arrived in order."""
        columns = self.columns
        assert columns.ordered.rows is None
        key_at = columns.ordered.key_at
        inside = key_at[(key_at > first) & (key_at < end)]
        ordered = Ordered(None, np.concatenate(([first], inside, [end])) - first)
        arrays = {name: array.slice(first, end - first) for name, array in columns.arrays.items()}
        return Window(SortedColumns(columns.typed, arrays, ordered), [mask[first:end] for mask in self.row_masks])


class Worker:
    """Runs one plan over any number of batches. Keeps no state between them."""

    def __init__(self, typed: TypedPlan, *, skips_errors: bool = False) -> None:
        """`skips_errors`: a row that can't be evaluated gets an error in the column ROW_ERROR, and stops nothing."""
        self.typed = typed
        self.skips_errors = skips_errors
        self.plan = typed.plan
        self.bound = typed.plan.bound
        self.task = _task(typed)
        self._neighbours = NeighbourConditions(self.plan.neighbour_conditions, self._neighbour_type, typed.settings)

    def _neighbour_type(self, node: Expr) -> pa.DataType | None:
        if not isinstance(node, Navigation):
            return None
        kind = self.typed.input_types.get(node.operand)
        return evaluate(node.operand, lambda _: None, 1, self.typed.settings).type if kind is None else kind

    def run(self, batch: Batch) -> OutputRows:
        """The output rows of all keys of the batch."""
        ordered = self.order(batch)
        window = self.window(batch, ordered)
        return self.output(self.search(window, whole_keys(ordered.key_at)).matches, window)

    def window(self, batch: Batch, ordered: Ordered) -> Window:
        """The rows in the order of matching."""
        masks = batch.row_masks
        if ordered.rows is not None:
            masks = [mask[ordered.rows] for mask in masks]
        failures = RowFailures() if self.skips_errors else None
        return Window(SortedColumns(self.typed, batch.arrays, ordered), masks, failures=failures)

    def search(self, window: Window, spans: Spans) -> SearchResult:
        """The matches in the rows that the spans name."""
        try:
            return self._search(window, spans)
        except MatchError as error:
            raise self._located(error, window) from None

    def _located(self, error: MatchError, window: Window) -> MatchError:
        """The error with the row of a condition over neighbours that fails, or with the key of its start row."""
        if error.row is not None or window.columns.ordered.rows is not None:
            return self.with_key(error, window)
        failures = RowFailures()
        self._neighbours.masks(window.columns, window.may_grow, failures, window.edges)
        for row, failure in failures.by_row().items():
            return located(failure, self.bound, window.columns.arrays, row)
        return error

    # --- order ---

    def order(self, batch: Batch, *, sorts_keys: bool = False) -> Ordered:
        """The order of the rows: by key, then by ORDER BY. Keys come in any order unless `sorts_keys`."""
        keys = [batch.arrays[name] for name in self.bound.partition_by]
        order = [
            OrderKey(batch.arrays[key.column], key.key.descending, key.key.puts_nulls_first)
            for key in self.bound.order_by
        ]

        def ties() -> list[pa.Array]:
            inputs = [batch.arrays[item.name] for item in self.plan.inputs]
            return [*inputs, *(pa.array(mask) for mask in batch.row_masks)]

        return order_rows(batch.count, keys, order, ties, sorts_keys=sorts_keys)

    # --- matching ---

    def symbols(self, window: Window) -> RowSymbols:
        """The symbol of each row: which of its conditions hold."""
        try:
            combined, of_state = self._combined(window, self.task)
        except MatchError as error:
            raise self._located(error, window) from None
        return symbols_of(combined, of_state, window.columns.count)

    def times(self, window: Window) -> RowTimes:
        """The times of the rows, where WITHIN needs them."""
        return self._times(window.columns, self.task)

    def prepared(
        self, window: Window, task: Task | None = None, decided_until: NDArray[np.int64] | None = None
    ) -> PreparedRows:
        """The rows and conditions, for probes. `task` may differ from `self.task` in its bounds.

        `decided_until`: for each key the row from which on later rows may change conditions.
        """
        columns, task = window.columns, self.task if task is None else task
        combined, of_state = self._combined(window, task)
        key_at = columns.ordered.key_at
        times, run_conditions = self._times(columns, task), self._run_conditions(columns)
        return prepare(task, key_at, times, combined, of_state, run_conditions, decided_until=decided_until)

    def _search(self, window: Window, spans: Spans) -> SearchResult:
        columns = window.columns
        check_stopped()
        combined, of_state = self._combined(window, self.task)
        check_stopped()
        rows = SortedRows(columns.ordered.key_at, self._times(columns, self.task), spans)
        if self.plan.sequence is not None:
            return match_by_shifts(self.task, rows, [None if at == ALWAYS else combined[at] for at in of_state])
        return match_by_search(self.task, rows, combined, of_state, self._run_conditions(columns, window.failures))

    def _run_conditions(self, columns: SortedColumns, failures: RowFailures | None = None) -> RunConditions | None:
        """The conditions over the run, bound to the columns."""
        general = self.general_check(columns, failures)
        if general is not None:
            return RunConditions(search_in_python(interpreted(no_update), general.check))
        program, conditions = self.typed.run, self.condition_arrays(columns)
        if program is None or conditions is None:
            return None
        counts = (len(program.registers), len(program.accumulators))
        return RunConditions(search_interpreted, conditions, counts, failures)

    def general_check(
        self, columns: SortedColumns, failures: RowFailures | None = None
    ) -> GeneralConditionCheck | None:
        """The conditions over the run, if the kernel doesn't know them all."""
        if self.typed.general is None:
            return None
        return GeneralConditionCheck(
            self.typed.general,
            self._run_of_state,
            self.task.automaton.label,
            SlotReader(self.typed, columns),
            self.typed.settings,
            failures,
        )

    def condition_arrays(self, columns: SortedColumns) -> ConditionArrays | None:
        """The conditions over the run as the kernel reads them, if it knows them all."""
        program = self.typed.run
        if program is None:
            return None
        label_of_state = self.task.automaton.label
        return tie_to_columns(program, self._run_of_state, label_of_state, columns.count, columns.vector)

    @property
    def _run_of_state(self) -> list[int]:
        """By state: the number of its condition over the run, or NONE."""
        return [condition.run for condition in self.plan.state_conditions]

    def _combined(self, window: Window, task: Task) -> tuple[list[Mask], list[int]]:
        """The masks that states need, each once, and for each state the index of its mask, or ALWAYS."""
        row_masks = window.row_masks
        neighbours = self._neighbours.masks(window.columns, window.may_grow, window.failures, window.edges)
        timed = self._has_time(window.columns, task)
        masks: list[Mask] = []
        number: dict[tuple[int, int], int] = {(NONE, NONE): ALWAYS}
        if timed is not None:
            number.clear()
        of_state = []
        for condition in self.plan.state_conditions:
            key = (condition.row, condition.neighbours)
            if key not in number:
                operands = [row_masks[key[0]]] if key[0] != NONE else []
                operands += [neighbours[key[1]]] if key[1] != NONE else []
                operands += [timed] if timed is not None else []
                number[key] = len(masks)
                masks.append(operands[0] if len(operands) == 1 else np.logical_and.reduce(operands))
            of_state.append(number[key])
        return masks, of_state

    def _has_time(self, columns: SortedColumns, task: Task) -> Mask | None:
        """The rows that have a time; with WITHIN, others are in no match. None: all rows may be."""
        if task.within_us is None:
            return None
        nulls = columns.is_null(self.bound.order_by[0].column)
        return ~nulls if nulls.any() else None

    def _times(self, columns: SortedColumns, task: Task) -> RowTimes:
        if task.within_us is None:
            return RowTimes(np.empty(0, np.int64))
        first = self.bound.order_by[0]
        times_us = columns.time_us(first.column)
        if task.within_months is None:
            return RowTimes(times_us)
        times = columns.at_rows(first.column, np.arange(columns.count))
        reach = reach_us(times, task.within_months, self.typed.settings, descending=first.key.descending)
        return RowTimes(times_us, np.minimum(reach, task.within_us))

    def with_key(self, error: MatchError, window: Window) -> MatchError:
        """The error with the key in which it happened, and the time of the row at which the match starts."""
        if error.row is None:
            return error
        row = np.array([error.row])

        def shown(names: Iterable[str]) -> str:
            return ", ".join(f"{name} = {shown_value(window.columns.at_rows(name, row)[0].as_py())}" for name in names)

        where = f", in the partition {shown(self.bound.partition_by)}" if self.bound.partition_by else ""
        start = f", from the row with {shown(key.column for key in self.bound.order_by)}" if self.bound.order_by else ""
        return MatchError(error.code, f"{error.message}{where}{start}", hint=error.hint)

    # --- output ---

    def output(self, matches: Matches, window: Window, settled: Mask | None = None) -> OutputRows:
        """The output rows of these matches. Only unmatched rows that are `settled` are shown (None: all are)."""
        columns, output = window.columns, self.bound.clause.output
        if output is Output.ONE_ROW:
            frames = one_row_frames(matches)
        else:
            frames = all_rows_frames(matches, show_empty=output is not Output.ALL_ROWS_OMIT_EMPTY)
        result = self._shown(frames, columns)
        slots = SlotReader(self.typed, columns)
        errors = SlotErrors()
        for i, (slot, kind) in enumerate(zip(self.plan.slots, self.typed.slot_types, strict=True)):
            check_stopped()
            if self.skips_errors:
                result[slot_name(i)], failed = slots.array_or_errors(slot, kind, matches, frames)
                errors.note(slot_name(i), failed)
            else:
                result[slot_name(i)] = slots.array(slot, kind, matches, frames)
        if self.skips_errors:
            result |= errors.columns(len(frames.match))
        if output is Output.ALL_ROWS_WITH_UNMATCHED:
            rest = unmatched_rows(matches, columns.count)
            return self._with_unmatched(
                result, matches, frames, columns, rest if settled is None else rest[settled[rest]]
            )
        return OutputRows(len(frames.match), result)

    def without_match(self, columns: Mapping[str, pa.Array], count: int) -> OutputRows:
        """Output rows that belong to no match: the shown columns of the rows, and NULL for values of a match."""
        arrays = {name: columns[name] for name in self.plan.shown}
        for i, kind in enumerate(self.typed.slot_types):
            arrays[slot_name(i)] = pa.nulls(count, kind)
        if self.skips_errors:
            arrays |= SlotErrors().columns(count)
        if self.skips_errors or self.bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED:
            arrays[MATCHED] = pa.array(np.zeros(count, np.bool_))
        return OutputRows(count, arrays)

    def failed_rows(self, columns: Mapping[str, pa.Array], errors: Mapping[int, MatchError]) -> OutputRows:
        """The rows with these numbers as output rows that carry their errors; `columns` has their keys and times."""
        rows = pa.array(list(errors), pa.int64())
        output = self.without_match({name: columns[name].take(rows) for name in self.plan.shown}, len(errors))
        texts = [located(error, self.bound, columns, row).one_line() for row, error in errors.items()]
        return OutputRows(output.count, {**output.arrays, ROW_ERROR: pa.array(texts, pa.string())})

    def _shown(self, frames: Frames, columns: SortedColumns) -> dict[str, pa.Array]:
        # The row of an empty match shows only the key and order columns.
        beside_keys = np.where(frames.at < 0, -1, frames.row)
        keys = {*self.bound.partition_by, *(key.column for key in self.bound.order_by)}
        return {name: columns.at_rows(name, frames.row if name in keys else beside_keys) for name in self.plan.shown}

    def _with_unmatched(
        self,
        matched: dict[str, pa.Array],
        matches: Matches,
        frames: Frames,
        columns: SortedColumns,
        rest: NDArray[np.int64],
    ) -> OutputRows:
        """Rows of matches and unmatched rows, ordered by the start of the match or the row itself."""
        first_rows = np.concatenate([matches.start[frames.match], rest])
        order = pa.array(np.argsort(first_rows, kind="stable"))
        result = {}
        for name, array in matched.items():
            more = columns.at_rows(name, rest) if name in self.plan.shown else pa.nulls(len(rest), array.type)
            result[name] = pa.concat_arrays([array, more]).take(order)
        flags = np.concatenate([np.ones(len(frames.match), np.bool_), np.zeros(len(rest), np.bool_)])
        result[MATCHED] = pa.array(flags).take(order)
        return OutputRows(len(flags), result)


def _task(typed: TypedPlan) -> Task:
    plan, clause = typed.plan, typed.plan.bound.clause
    target = clause.skip.target
    return Task(
        nfa=plan.nfa,
        variables=plan.bound.variables,
        mode=clause.mode,
        skip=clause.skip,
        skip_rows=frozenset() if target is None else plan.bound.rows_of(target),
        max_length=clause.max_length,
        within_us=clause.within_us,
        show_timeouts=clause.show_timeouts,
        max_partial_matches=typed.limits.max_partial_matches,
        needs_path=plan.needs_path,
        in_frame=plan.window is not None,
        within_months=clause.within_months,
    )
