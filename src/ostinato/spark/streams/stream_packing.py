"""Rows -> one row for each bucket, with the bucket's rows as Arrow bytes; and back.

Grouping by the user's keys would be slow. Packed rows also pass Spark's filter of late rows, so Ostinato can count them
(docs/decisions/010-stream-state-in-buckets.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.rows.column_names import PREFIX

BUCKET = f"{PREFIX}bucket"
ROWS = f"{PREFIX}rows"
PACKED = pa.schema([pa.field(BUCKET, pa.int32()), pa.field(ROWS, pa.binary())])

ROWS_PER_PACK = 1 << 17
BYTES_PER_PACK = 1 << 26
"""Rows are collected up to these limits before they are split into buckets. Higher limits give larger packs."""
ROWS_PER_RESULT = 1 << 16


@dataclass(frozen=True, slots=True)
class PackByBucket:
    """For mapInArrow: the bucket's number and the shipped columns in, PACKED out.

    `bits`: rows in which all these columns are 0 are left out. Spark must not filter them: it would do so before it
    reads their times, and the watermark would stand still.
    """

    shipped: pa.Schema
    bits: tuple[str, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(map(self._relevant, batches)):
            yield self._packed(table)

    def _relevant(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self.bits:
            return batch
        columns = [batch.column(self.shipped.get_field_index(name) + 1) for name in self.bits]
        matters = np.logical_or.reduce([column.to_numpy(zero_copy_only=False) != 0 for column in columns])
        return batch if matters.all() else batch.filter(pa.array(matters))

    def _packed(self, table: pa.Table) -> pa.RecordBatch:
        buckets = table.column(0).to_numpy()
        order = np.argsort(buckets, kind="stable")
        # A session may use large Arrow types. Stored rows must not depend on that, so they are cast.
        rows = table.select(range(1, table.num_columns)).rename_columns(self.shipped.names).cast(self.shipped)
        batch = one_batch(rows.take(pa.array(order)))
        numbers, starts = np.unique(buckets[order], return_index=True)
        ends = [*starts[1:], len(order)]
        packs = [pack_batch(batch.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)]
        return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int32()), pa.array(packs, pa.binary())], schema=PACKED)


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS_PER_PACK or size >= BYTES_PER_PACK:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)


@dataclass(frozen=True, slots=True)
class UnpackResults:
    """For mapInArrow: packs of output rows in, the rows out."""

    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for pack in batch.column(0):
                if pack.is_valid:
                    yield unpack_batch(pack.as_buffer(), self.output)


def pack_batch(batch: pa.RecordBatch) -> bytes:
    """The rows as bytes, without their schema."""
    return bytes(batch.serialize())


def unpack_batch(pack: bytes | pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(pa.py_buffer(pack), schema)


def unpack_table(packs: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """All rows of the packs."""
    return pa.Table.from_batches([unpack_batch(pack, schema) for pack in packs], schema)


def pack_results(rows: pa.Table) -> Iterator[bytes]:
    """Output rows in packs that fit into a row of Spark."""
    for batch in rows.combine_chunks().to_batches(max_chunksize=ROWS_PER_RESULT):
        yield pack_batch(batch)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The table as one batch, perhaps empty."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
