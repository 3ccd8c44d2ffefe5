"""Arrow batches of whole keys -> Arrow batches of output rows: runs a worker over a stream of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.task.clause_worker import Worker
from ostinato.clause.task.window_worker import WindowWorker
from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.batches import OutputRows, batch_of, batches_of, failure, one_array

ROWS_PER_STEP = 1 << 18
"""Sorted input is matched in steps of about this many rows; a key is never cut."""


def match_batches(
    typed: TypedPlan,
    batches: Iterator[pa.RecordBatch],
    names: Sequence[str],
    conditions: Sequence[tuple[str, int]],
    output: pa.Schema,
    *,
    sorted_by_key: bool,
    rows_per_step: int = ROWS_PER_STEP,
) -> Iterator[pa.RecordBatch]:
    """`names` are those of the arriving columns; `conditions` has the column and the bit of each row condition.

    An error of ours ends the output as a row that carries it in the column ERROR.
    """

    def run() -> Callable[[pa.Table], OutputRows]:
        worker = Worker(typed) if typed.plan.window is None else WindowWorker(typed)
        return lambda table: worker.run(batch_of(table, conditions))

    keys = typed.plan.bound.partition_by
    return run_in_steps(run, keys, batches, names, output, sorted_by_key=sorted_by_key, rows_per_step=rows_per_step)


def run_in_steps(
    prepared: Callable[[], Callable[[pa.Table], OutputRows]],
    keys: Sequence[str],
    batches: Iterator[pa.RecordBatch],
    names: Sequence[str],
    output: pa.Schema,
    *,
    sorted_by_key: bool,
    rows_per_step: int = ROWS_PER_STEP,
) -> Iterator[pa.RecordBatch]:
    """The output rows of whole keys. `prepared` makes the function that gives them. Errors as in `match_batches`."""
    try:
        run = prepared()
        named = (batch.rename_columns(list(names)) for batch in batches)
        for table in _steps(named, keys, sorted_by_key, rows_per_step):
            yield from batches_of(run(table), output)
    except Exception as error:
        yield failure(ours_or_raise(error), output)


def _steps(
    batches: Iterator[pa.RecordBatch], keys: Sequence[str], sorted_by_key: bool, rows_per_step: int
) -> Iterator[pa.Table]:
    """Tables of whole keys. Unsorted input is one table; sorted input is cut between keys."""
    waiting: list[pa.RecordBatch] = []
    rows, enough = 0, rows_per_step
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if sorted_by_key and rows >= enough:
            table = pa.Table.from_batches(waiting)
            last = _start_of_last_key(table, keys)
            if last > 0:
                yield table.slice(0, last)
                table = table.slice(last)
            waiting, rows = table.to_batches(), table.num_rows
            enough = max(rows_per_step, 2 * rows)  # a large key: look again when it has doubled
    if waiting:
        yield pa.Table.from_batches(waiting)


def _start_of_last_key(table: pa.Table, keys: Sequence[str]) -> int:
    numbers = group_numbers(table.num_rows, [one_array(table.column(name)) for name in keys])
    others = np.flatnonzero(numbers != numbers[-1])
    return int(others[-1]) + 1 if len(others) else 0
