"""Ranges of time that a correlation needs again -> their rows, from a table in memory. Spark reads them from files."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa

from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.correlations.task.side_rows import SideWorker
from ostinato.correlations.task.wanted_schema import FROM, ROWS_BEFORE, TO, wanted_key
from ostinato.expressions.values.value_order import group_numbers
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.record_batches import as_batch


class ArchiveReader(Protocol):
    """Reads rows that the recent buffer has dropped."""

    def read(self, wanted: pa.Table) -> pa.Table:
        """For each key of `wanted` its rows from `from_us` to before `to_us`, and `rows_before` rows before them."""
        ...


class TableReader:
    """Reads from rows in memory, ordered once."""

    def __init__(self, task: CorrelationTask, rows: pa.Table) -> None:
        self.keys = [task.archive.arriving(name) for _, name in task.keys]
        side, batch = SideWorker(task.archive), as_batch(rows)
        batch = batch.filter(pa.array(side.times_of(batch)[0] != NO_TIME))
        number = group_numbers(batch.num_rows, [batch.column(name) for name in self.keys])
        order = side.in_order(batch, number)
        self.rows = batch if order is None else batch.take(pa.array(order))
        self.times = side.times_of(self.rows)[0]
        numbers = number if order is None else number[order]
        first = np.flatnonzero(np.diff(numbers, prepend=-1))
        self.examples = self.rows.take(pa.array(first))
        self.key_at = np.append(first, self.rows.num_rows)

    def read(self, wanted: pa.Table) -> pa.Table:
        keys = [
            pa.concat_arrays([self.examples.column(name), _one(wanted, wanted_key(i))])
            for i, name in enumerate(self.keys)
        ]
        count = self.examples.num_rows
        number = group_numbers(count + wanted.num_rows, keys)
        index_of_key = {code: i for i, code in enumerate(number[:count])}
        ranges = [np.empty(0, np.int64)]
        for i, row in enumerate(wanted.to_pylist()):
            key = index_of_key.get(number[count + i])
            if key is not None:
                begin, end = int(self.key_at[key]), int(self.key_at[key + 1])
                low, high = begin + np.searchsorted(self.times[begin:end], [row[FROM], row[TO]])
                ranges.append(np.arange(max(begin, low - row[ROWS_BEFORE]), high))
        return pa.Table.from_batches([self.rows.take(pa.array(np.concatenate(ranges)))])


def _one(table: pa.Table, name: str) -> pa.Array:
    return as_batch(table.select([name])).column(0)
