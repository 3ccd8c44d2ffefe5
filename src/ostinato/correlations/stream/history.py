"""The history of a bucket: rows that the recent buffer may drop, as segments behind the state that are seldom read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ostinato.correlations.strategies.sides import Ints, first_at_least
from ostinato.correlations.task.archive_reader import TableReader
from ostinato.correlations.task.correlation_state import CorrelationState
from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.correlations.task.side_rows import SideWorker
from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.matches import ranges
from ostinato.streams.bucket_state import read_rows
from ostinato.streams.stored_state import Section


def wanted_rows(task: CorrelationTask, segments: Sequence[bytes], wanted: pa.Table) -> pa.Table | None:
    """The rows of the history that a step wants; None if there are no rows at all."""
    rows = read_rows(segments, Section.OPEN_ROWS)
    return None if rows is None else TableReader(task, pa.Table.from_batches([rows])).read(wanted)


def needed_rows(
    task: CorrelationTask, side: SideWorker, state: CorrelationState, rows: pa.RecordBatch, known_until: int
) -> pa.RecordBatch:
    """The rows that a later step may want: those of a later region, those in memory, and the rows before these."""
    count = len(state.marks.base)
    key = _keys_of(task, state, rows)
    rows, key = rows.filter(pa.array(key >= 0)), key[key >= 0]
    order = side.in_order(rows, key)
    if order is not None:
        rows, key = rows.take(pa.array(order)), key[order]
    key_at = np.searchsorted(key, np.arange(count + 1))
    first = first_at_least(
        key_at, side.times_of(rows)[0], np.arange(count), _needed_from(task, side, state, known_until)
    )
    before = task.archive.rows_before + (int(task.region.size) if task.region.kind == "rows" else 0)
    first = np.maximum(first - before, key_at[:-1])
    return rows.take(pa.array(ranges(first, key_at[1:] - first)))


def _keys_of(task: CorrelationTask, state: CorrelationState, rows: pa.RecordBatch) -> Ints:
    """For each row the number of its key in the state, or -1."""
    if not task.keys:
        return np.full(rows.num_rows, len(state.marks.base) - 1, np.int64)
    if state.keys is None:
        return np.full(rows.num_rows, -1, np.int64)
    count = state.keys.num_rows
    names = [task.archive.arriving(name) for _, name in task.keys]
    columns = [
        pa.concat_arrays([of_key, rows.column(name)]) for of_key, name in zip(state.keys.columns, names, strict=True)
    ]
    number = group_numbers(count + rows.num_rows, columns)
    key_of_number = np.full(int(number.max(initial=0)) + 1, -1, np.int64)
    key_of_number[number[:count]] = np.arange(count)
    keys: Ints = key_of_number[number[count:]]
    return keys


def _needed_from(task: CorrelationTask, side: SideWorker, state: CorrelationState, known_until: int) -> Ints:
    """For each key a time before which only the nearest rows may be wanted."""
    marks = state.marks
    end = np.cumsum(marks.live_rows)
    times = np.empty(0, np.int64) if state.live is None else side.times_of(state.live)[0]
    needed, next_end = (np.full(len(end), known_until + 1) for _ in range(2))
    has_rows, is_open = marks.archive_rows > 0, marks.live_start < marks.live_rows
    needed[has_rows] = times[(end - marks.archive_rows)[has_rows]]
    next_end[is_open] = times[(end - marks.live_rows + marks.live_start)[is_open]]
    by_rows = task.region.kind == "rows"
    reach = next_end if by_rows else next_end - int(task.region.size)
    result: Ints = np.where(marks.missing.is_some | by_rows, np.minimum(needed, reach), needed)
    return result
