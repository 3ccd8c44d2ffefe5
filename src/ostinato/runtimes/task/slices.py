"""A batch matched in slices by threads of this process; the same output rows as `Worker.run`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import QueryError
from ostinato.matching.engine import Searched
from ostinato.planning.slicing import slicing_of
from ostinato.runtimes.task.worker import Batch, OutputRows, Window, Worker
from ostinato.stopping import call_threads
from ostinato.techniques.parallel_runs.in_process import SlicedSearch
from ostinato.techniques.parallel_runs.slices import Slice, View, cut, rows_per_slice

Columns = dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class Parallel:
    """How many threads, and how many rows they take at a time."""

    workers: int = 1
    slice_rows: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("workers", self.workers), ("slice_rows", self.slice_rows)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise QueryError("INVALID_OPTION", f"{name} is a whole number, not {value!r}")
        if self.workers < 1:
            raise QueryError("NO_WORKERS", f"at least one worker is needed, not {self.workers}")


def run_in_slices(
    worker: Worker, batch_of: Callable[[Columns, int], Batch], columns: Columns, count: int, parallel: Parallel
) -> OutputRows:
    """`batch_of` evaluates what speaks of one row, for some of the rows."""
    slicing = slicing_of(worker.plan)
    owned = rows_per_slice(count, parallel.workers)
    if parallel.slice_rows is not None:
        owned = slicing.shared.owned(parallel.slice_rows)
    batch = _evaluated(batch_of, columns, count, len(worker.plan.row_conditions), parallel.workers)
    ordered = worker.order(batch)
    window = worker.window(batch.in_order(ordered), ordered._replace(rows=None))

    def search(view: View) -> Searched:
        return worker.search(window.part(view.first, view.end), view.spans)

    sliced = SlicedSearch(
        worker.task, slicing.shared, slicing.margins, ordered.key_at, _ascending_time(worker, window), search
    )
    return worker.output(sliced.matches(cut(count, owned), parallel.workers), window)


def _evaluated(
    batch_of: Callable[[Columns, int], Batch], columns: Columns, count: int, conditions: int, workers: int
) -> Batch:
    """The batch, evaluated by all workers: each takes a share of the rows as they arrived."""
    shares = cut(count, max(-(-count // workers), 1))
    if len(shares) < 2:
        return batch_of(columns, count)
    masks = [np.empty(count, np.bool_) for _ in range(conditions)]

    def evaluate(share: Slice) -> Batch:
        rows = share.end - share.first
        part = batch_of({name: array.slice(share.first, rows) for name, array in columns.items()}, rows)
        for mask, found in zip(masks, part.row_masks, strict=True):
            mask[share.first : share.end] = found
        return part

    with call_threads(workers) as pool:
        parts = list(pool.map(evaluate, shares))
    names = parts[0].arrays.keys() - columns
    computed = {name: pa.concat_arrays([part.arrays[name] for part in parts]) for name in names}
    return Batch(count, {**columns, **computed}, masks)


def _ascending_time(worker: Worker, window: Window) -> NDArray[np.int64]:
    """Times to look slices' ends up in; nothing where they don't ascend."""
    key = worker.bound.order_by[0] if worker.bound.order_by else None
    if worker.task.within_us is None or key is None or key.key.descending or not key.key.puts_nulls_first:
        return np.empty(0, np.int64)
    return window.columns.time_us(key.column)
