"""A clause that goes on where a row can't be evaluated (on_error="skip"): such rows leave with their error.

- A row for which an expression over this row alone fails isn't matched: the query goes on as if it weren't there.
- A condition over several rows that fails at a row counts as not TRUE there. The row stays.
- A measure that fails is NULL in the rows of its match.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.task.clause_worker import Worker
from ostinato.clause.task.evaluated_plan import EvaluatedPlan, check_no_error_column, measured_or_failed
from ostinato.clause.task.located_errors import with_expression
from ostinato.errors import MatchError
from ostinato.expressions.syntax import Column, walk
from ostinato.rows.batches import Batch, Mask, OutputRows, joined_rows
from ostinato.rows.column_names import DECIDED, FAILED_SLOTS, LATE, MATCHED, ROW_ERROR
from ostinato.rows.failing_rows import failing_rows
from ostinato.streams.stream_settings import ERROR_COLUMN


class Admission(NamedTuple):
    """The rows that can be evaluated, and the errors of all others by row number."""

    batch: Batch
    failed: dict[int, MatchError]


class SkippingPlan:
    """A plan whose row expressions and measures are evaluated here, row by row where they fail."""

    def __init__(self, evaluated: EvaluatedPlan) -> None:
        """Raises DUPLICATE_COLUMN if the output has a column `error` already."""
        check_no_error_column(evaluated.plan.bound)
        self.evaluated = evaluated
        self.bound = evaluated.plan.bound
        self.worker = Worker(evaluated.typed, skips_errors=True)

    def admit(self, columns: Mapping[str, pa.Array], count: int) -> Admission:
        """Evaluates the expressions over one row."""
        try:
            return Admission(self.evaluated.batch(dict(columns), count), {})
        except MatchError:
            pass

        def evaluate(begin: int, end: int) -> None:
            rows = {name: array.slice(begin, end - begin) for name, array in columns.items()}
            self.evaluated.batch(rows, end - begin)

        failed = failing_rows(count, evaluate)
        good = pa.array(np.delete(np.arange(count), list(failed)))
        rest = {name: array.take(good) for name, array in columns.items()}
        return Admission(self.evaluated.batch(rest, len(good)), failed)

    def run(self, columns: Mapping[str, pa.Array], count: int) -> OutputRows:
        """The output rows of whole keys, then the rows that failed."""
        batch, failed = self.admit(columns, count)
        ordered = self.worker.order(batch)
        window = self.worker.window(batch, ordered)
        rows = self.worker.output(self.worker.search(window, whole_keys(ordered.key_at)).matches, window)
        assert window.failures is not None
        unmatched = self.worker.failed_rows(batch.in_order(ordered).arrays, window.failures.by_row())
        return joined_rows([rows, unmatched, self.worker.failed_rows(columns, failed)])

    def measured(self, rows: OutputRows) -> OutputRows:
        """The output columns by their names, ROW_ERROR, and the columns that a stream adds. A measure is NULL in rows
        of no match, and where it fails."""
        inside = np.asarray(rows.arrays[MATCHED])
        if LATE in rows.arrays:
            inside &= ~np.asarray(rows.arrays[LATE])
        failed_slots = _failed_slots(rows)
        errors = rows.arrays[ROW_ERROR].to_pylist()
        arrays = {name: rows.arrays[name] for name in (*self.evaluated.plan.shown, *_OF_STREAMS) if name in rows.arrays}
        for measure, expr, ready in zip(
            self.bound.measures, self.evaluated.plan.outer, self.evaluated.outer, strict=True
        ):
            good = inside
            for slot in {node.name for node in walk(expr) if isinstance(node, Column)} & set(failed_slots):
                good = good & ~failed_slots[slot]
            arrays[measure.name], failed = measured_or_failed(ready, rows, good)
            for row, error in failed.items():
                where = f", in the measure '{measure.name}'"
                errors[row] = errors[row] or with_expression(error, self.bound.clause.text, where).one_line()
        return OutputRows(rows.count, {**arrays, ROW_ERROR: pa.array(errors, pa.string())})

    @property
    def measure_types(self) -> dict[str, pa.DataType]:
        """The types of the measures, by their names."""
        return {
            measure.name: ready.type for measure, ready in zip(self.bound.measures, self.evaluated.outer, strict=True)
        }

    def table(self, rows: OutputRows) -> pa.Table:
        """The output table, with the column `error`, of the rows of `measured`."""
        names = self.bound.output_names
        columns = [rows.arrays[name] for name in names]
        return pa.table([*columns, rows.arrays[ROW_ERROR]], names=[*names, ERROR_COLUMN])


_OF_STREAMS = (LATE, DECIDED)


def _failed_slots(rows: OutputRows) -> dict[str, Mask]:
    """For each slot that failed somewhere, the rows where it did."""
    column = rows.arrays[FAILED_SLOTS]
    failed: dict[str, Mask] = {}
    for row in np.flatnonzero(np.asarray(column.is_valid())).tolist():
        for slot in column[row].as_py():
            failed.setdefault(slot, np.zeros(rows.count, np.bool_))[row] = True
    return failed
