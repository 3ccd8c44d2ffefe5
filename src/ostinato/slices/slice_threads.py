"""Matches a batch in slices with threads of this process. The output rows are those of `Worker.run`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.calls.options import whole_number
from ostinato.clause.matching.match_engine import SearchResult
from ostinato.clause.plan.slicing import Slicing, slicing_of
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.kernels.stopping import call_threads
from ostinato.rows.batches import Batch, OutputRows
from ostinato.slices.cutting import Slice, View, cut, good_slices
from ostinato.slices.in_process import SlicedSearch, may_be_wasted

Columns = dict[str, pa.Array]
MOST_WORKERS = 1024
"""Largest number of threads in one process."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """The number of threads, and the rows of a slice."""

    workers: int = 1
    slice_rows: int | None = None

    def __post_init__(self) -> None:
        whole_number("workers", self.workers, most=MOST_WORKERS, code_below="NO_WORKERS")
        if self.slice_rows is not None:
            whole_number("slice_rows", self.slice_rows, code_below="SLICE_TOO_SMALL")


def run_in_slices(
    worker: Worker, batch_of: Callable[[Columns, int], Batch], columns: Columns, count: int, parallel: Parallel
) -> OutputRows:
    """`batch_of` evaluates single-row expressions for some of the rows."""
    slicing = slicing_of(worker.plan)
    slices = _slices(worker, slicing, count, parallel)
    if parallel.slice_rows is None and len(slices) < 2:
        return worker.run(batch_of(columns, count))
    batch = _evaluated(batch_of, columns, count, len(worker.plan.row_conditions), parallel.workers)
    ordered = worker.order(batch)
    window = worker.window(batch.in_order(ordered), ordered._replace(rows=None))

    def search(view: View) -> SearchResult:
        return worker.search(window.slice(view.first, view.end), view.spans)

    sliced = SlicedSearch(
        worker.task,
        slicing.shared,
        slicing.margins,
        ordered.key_at,
        _ascending_time(worker, window),
        search,
        may_give_up=parallel.slice_rows is None,
    )
    return worker.output(sliced.matches(slices, parallel.workers), window)


def _slices(worker: Worker, slicing: Slicing, count: int, parallel: Parallel) -> list[Slice]:
    """Slices of the given size, or of a good size for the pattern."""
    if parallel.slice_rows is not None:
        return cut(count, slicing.shared.owned(parallel.slice_rows))
    before, after = slicing.margins
    shared = max(before, 1) + (slicing.shared.rows or 0) + after
    return good_slices(count, parallel.workers, shared, may_be_wasted=may_be_wasted(worker.task, slicing.shared))


def _evaluated(
    batch_of: Callable[[Columns, int], Batch], columns: Columns, count: int, conditions: int, workers: int
) -> Batch:
    """Evaluates the batch with all workers. Each takes an equal range of rows."""
    shares = cut(count, max(-(-count // workers), 1))
    if len(shares) < 2:
        return batch_of(columns, count)
    masks = [np.empty(count, np.bool_) for _ in range(conditions)]

    def evaluate(share: Slice) -> Batch:
        rows = share.end - share.first
        share_batch = batch_of({name: array.slice(share.first, rows) for name, array in columns.items()}, rows)
        for mask, share_mask in zip(masks, share_batch.row_masks, strict=True):
            mask[share.first : share.end] = share_mask
        return share_batch

    with call_threads(workers) as pool:
        batches = list(pool.map(evaluate, shares))
    names = batches[0].arrays.keys() - columns
    computed = {name: pa.concat_arrays([share_batch.arrays[name] for share_batch in batches]) for name in names}
    return Batch(count, {**columns, **computed}, masks)


def _ascending_time(worker: Worker, window: Window) -> NDArray[np.int64]:
    """Times to look up the ends of slices; empty if they don't ascend."""
    key = worker.bound.order_by[0] if worker.bound.order_by else None
    if worker.task.within_us is None or key is None or key.key.descending or not key.key.puts_nulls_first:
        return np.empty(0, np.int64)
    return window.columns.time_us(key.column)
