"""Rows that go into and come out of an engine: batches with masks, output rows, and rows that carry an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError, OstinatoError, carried
from ostinato.rows.column_names import ERROR

if TYPE_CHECKING:
    from ostinato.rows.ordering import Ordered  # loads kernels, which packing rows doesn't need

Mask = NDArray[np.bool_]


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one chunk."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if not column.num_chunks:
        return pa.array([], column.type)
    try:
        return pa.concat_arrays(column.chunks)
    except pa.ArrowInvalid as error:  # Arrow counts the bytes of texts in 32 bits
        raise MatchError(
            "TASK_TOO_LARGE",
            f"a column of one task holds too much text: {error}",
            hint="leave the column out of the query, or spread the keys over more partitions",
        ) from None


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of whole keys in any order: shipped columns by name, and a mask for each of the plan's row conditions."""

    count: int
    arrays: Mapping[str, pa.Array]
    row_masks: Sequence[Mask]

    def in_order(self, ordered: Ordered) -> Batch:
        """The same rows in the order of matching."""
        if ordered.rows is None:
            return self
        positions = pa.array(ordered.rows)
        arrays = {name: array.take(positions) for name, array in self.arrays.items()}
        return Batch(self.count, arrays, [mask[ordered.rows] for mask in self.row_masks])


@dataclass(frozen=True, slots=True)
class OutputRows:
    """Shown input columns, slots, and MATCHED where unmatched rows are shown."""

    count: int
    arrays: dict[str, pa.Array]


def joined_rows(outputs: Sequence[OutputRows]) -> OutputRows:
    """All rows in one; a column that some of them lack is NULL there."""
    types = {name: array.type for output in outputs for name, array in output.arrays.items()}
    arrays = {
        name: pa.concat_arrays([output.arrays.get(name, pa.nulls(output.count, kind)) for output in outputs])
        for name, kind in types.items()
    }
    return OutputRows(sum(output.count for output in outputs), arrays)


ROWS_PER_BATCH = 1 << 16


def batch_of(rows: pa.Table | pa.RecordBatch, conditions: Sequence[tuple[str, int]]) -> Batch:
    """The rows of a table; `conditions` has the column and the bit of each row condition."""
    arrays = {
        name: one_array(column) if isinstance(column, pa.ChunkedArray) else column
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    }
    return Batch(rows.num_rows, arrays, row_masks(arrays, conditions))


def row_masks(arrays: Mapping[str, pa.Array], conditions: Sequence[tuple[str, int]]) -> list[Mask]:
    """The packed bits of row conditions as masks."""
    masks = []
    for name, bit in conditions:
        bits = arrays[name].to_numpy(zero_copy_only=False)
        masks.append((bits >> np.int64(bit) & 1).astype(np.bool_))
    return masks


def batches_of(rows: OutputRows, output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows with the columns and types of `output`; columns that `rows` lacks are NULL."""
    if not rows.count:
        return
    arrays = []
    for field in output:
        array = rows.arrays[field.name] if field.name in rows.arrays else pa.nulls(rows.count, field.type)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    batch = pa.RecordBatch.from_arrays(arrays, schema=output)
    for start in range(0, rows.count, ROWS_PER_BATCH):
        yield batch.slice(start, ROWS_PER_BATCH)


def failure(error: OstinatoError, output: pa.Schema) -> pa.RecordBatch:
    """One row that carries the error; Spark raises it when it reads the row."""
    if not isinstance(error, MatchError):
        error = MatchError(error.code, error.message, hint=error.hint)
    arrays = [
        pa.array([carried(error)], field.type) if field.name == ERROR else pa.nulls(1, field.type) for field in output
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=output)
