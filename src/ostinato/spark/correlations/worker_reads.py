"""The worker that wants older rows reads them, from an archive on a disk that all workers share.

This saves the second pass that a read by Spark needs. Our evaluator of Spark's expressions computes the inputs and
conditions of these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ostinato.correlations.task.wanted_schema import FROM, ROWS_BEFORE, TO
from ostinato.expressions.evaluate import evaluate, evaluate_mask
from ostinato.expressions.syntax import Expr
from ostinato.expressions.types import Settings
from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_names import PREFIX

BATCH_ID, BUCKET_ID = "batch_id", "bucket"
"""The names of the archive's sub-folders. Archived columns can't have these names."""
CLOCK = f"{PREFIX}clock"
"""The column with a row's time as an integer."""
_WANTED_ROW = f"{PREFIX}wanted_row"
"""For each row read, the row of `wanted` that has its key."""

Shipped = Expr | tuple[Expr, ...]
"""The content of a shipped column: an expression, or conditions that are packed into bits."""


@dataclass(frozen=True, slots=True)
class WorkerReads:
    """Reads archive rows for buckets. Plain values: it is sent to workers."""

    path: str
    before_batch: int
    stored: pa.Schema
    """The columns of the files."""
    keys: tuple[str, ...]
    columns: Mapping[str, Shipped]
    """The columns of the rows for buckets, by their names at workers."""
    schema: pa.Schema
    settings: Settings

    def read(self, bucket: int, wanted: pa.Table) -> pa.Table:
        """The wanted rows in the form for buckets. Some older rows of the same keys may be among them."""
        first, last = pc.min(wanted.column(FROM)).as_py(), pc.max(wanted.column(TO)).as_py()
        near = max(2 * first - last, -(1 << 63))  # looks twice as far back first
        rows = self._of_keys(self._rows(bucket, near, last), wanted)
        if self._lacks_rows(rows, wanted):
            rows = self._of_keys(self._rows(bucket, None, last), wanted)
        return self._arriving(rows)

    def _rows(self, bucket: int, first: int | None, last: int) -> pa.Table:
        folders = ds.partitioning(pa.schema([(BATCH_ID, pa.int64()), (BUCKET_ID, pa.int32())]), flavor="hive")
        try:
            files = ds.dataset(self.path, schema=self.stored, format="parquet", partitioning=folders)
        except FileNotFoundError:  # no batch has been written yet
            return self.stored.empty_table()
        is_wanted = (
            (ds.field(BATCH_ID) < self.before_batch) & (ds.field(BUCKET_ID) == bucket) & (ds.field(CLOCK) < last)
        )
        return files.to_table(filter=is_wanted if first is None else is_wanted & (ds.field(CLOCK) >= first))

    def _of_keys(self, rows: pa.Table, wanted: pa.Table) -> pa.Table:
        """The rows of the wanted keys before the end of their ranges, with the wanted ranges."""
        named = wanted.rename_columns([*self.keys, FROM, TO, ROWS_BEFORE])
        # Arrow's join would treat -0.0 and 0.0 as different keys, and doesn't support structs and arrays.
        count = named.num_rows
        keys = pa.concat_tables([named.select(self.keys), rows.select(self.keys)]).combine_chunks()
        numbers = group_numbers(count + rows.num_rows, keys.columns)
        wanted_row = np.full(int(numbers.max(initial=0)) + 1, -1)
        wanted_row[numbers[:count]] = np.arange(count)
        range_of_row = wanted_row[numbers[count:]]
        both = rows.append_column(_WANTED_ROW, pa.array(range_of_row)).filter(pa.array(range_of_row >= 0))
        for name in (FROM, TO, ROWS_BEFORE):
            both = both.append_column(name, named.column(name).take(both.column(_WANTED_ROW)))
        return both.filter(pc.less(both.column(CLOCK), both.column(TO)))

    def _lacks_rows(self, rows: pa.Table, wanted: pa.Table) -> bool:
        if not wanted.num_rows or pc.max(wanted.column(ROWS_BEFORE)).as_py() == 0:
            return False
        before = rows.filter(pc.less(rows.column(CLOCK), rows.column(FROM)))
        counted = before.group_by(_WANTED_ROW).aggregate([(ROWS_BEFORE, "max"), ([], "count_all")])
        enough = pc.greater_equal(counted.column("count_all"), counted.column(f"{ROWS_BEFORE}_max"))
        return int(pc.sum(enough).as_py() or 0) < int(wanted.num_rows)

    def _arriving(self, rows: pa.Table) -> pa.Table:
        leaf = by_column_name({name: rows.column(name).combine_chunks() for name in rows.column_names})
        columns = [self._column(shipped, leaf, rows.num_rows) for shipped in self.columns.values()]
        return pa.Table.from_arrays(columns, names=list(self.columns)).cast(self.schema)

    def _column(self, shipped: Shipped, leaf: Any, count: int) -> pa.Array:
        if not isinstance(shipped, tuple):
            return evaluate(shipped, leaf, count, self.settings)
        bits = np.zeros(count, np.int64)
        for i, condition in enumerate(shipped):
            bits |= evaluate_mask(condition, leaf, count, self.settings).astype(np.int64) << np.int64(i)
        return pa.array(bits)
