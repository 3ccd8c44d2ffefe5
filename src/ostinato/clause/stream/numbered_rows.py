"""Open rows of keys <-> segments that are only appended. Each row has the number of its key.

A key's rows are the last ones of its number: rows before them, and rows of other numbers, are dead. They are left out
when the segments are written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.rows.column_names import PREFIX
from ostinato.rows.matches import ranges
from ostinato.streams.bucket_state import Rows
from ostinato.streams.record_batches import joined, to_bytes
from ostinato.streams.stored_state import Section, check, read_batch, seal, unseal, whole_numbers

KEY_NUMBER: Final = f"{PREFIX}key"
"""The column of segments that has the number of the row's key."""
IN_HEADER = 0
"""The number of a key whose rows are all in the header."""
MORE: Final = b"ostinato.appended"
"""The metadata of a header whose bucket has such segments: JSON with the count of their rows and the next number."""
SEGMENT = "a segment of open rows in the state of this stream"
MOST_SEGMENTS = 64
"""A step that reads more segments than this writes their rows again as one."""


def must_compact(stored_rows: int, live_rows: int, segments: Sequence[bytes]) -> bool:
    """Whether a step that has read the segments writes their rows again as one."""
    return 2 * (stored_rows - live_rows) > live_rows or len(segments) > MOST_SEGMENTS


def segment_of(rows: Sequence[tuple[pa.RecordBatch | None, NDArray[np.int64]]]) -> tuple[bytes, ...]:
    """A segment with these rows and the numbers of their keys; none where there are no rows."""
    numbered = [
        batch.append_column(KEY_NUMBER, pa.array(numbers))
        for batch, numbers in rows
        if batch is not None and batch.num_rows
    ]
    batch = joined(numbered)
    return () if batch is None else (seal(to_bytes(batch), Section.OPEN_ROWS),)


def rows_of_keys(
    segments: Iterable[bytes], numbers: Rows, counts: Rows, in_header: pa.RecordBatch | None
) -> pa.RecordBatch | None:
    """All rows of these keys, key after key. `in_header` has the rows of those with the number IN_HEADER."""
    is_stored = numbers != IN_HEADER
    from_segments = last_rows(segments, numbers[is_stored], counts[is_stored])
    if is_stored.all():
        return from_segments
    if from_segments is not None and in_header is not None:
        check(from_segments.schema == in_header.schema, SEGMENT, "it has other columns than the header")
    pool = joined([from_segments, in_header])
    if pool is None or not is_stored.any():
        return pool
    key = np.arange(len(numbers))
    of_row = np.concatenate(
        [np.repeat(key[is_stored], counts[is_stored]), np.repeat(key[~is_stored], counts[~is_stored])]
    )
    return pool.take(pa.array(np.argsort(of_row, kind="stable")))


def last_rows(segments: Iterable[bytes], numbers: Rows, counts: Rows) -> pa.RecordBatch | None:
    """The last `counts[i]` rows with key number `numbers[i]`, key after key."""
    if not len(numbers):
        return None
    order = np.argsort(numbers)
    in_order = numbers[order]
    batches: list[pa.RecordBatch] = []
    keys: list[Rows] = []
    for segment in segments:
        batch = read_batch(unseal(segment, Section.OPEN_ROWS, SEGMENT), SEGMENT)
        check(batch.schema.get_field_index(KEY_NUMBER) == len(batch.schema) - 1, SEGMENT, "it has no key numbers")
        number = whole_numbers(batch.column(KEY_NUMBER), SEGMENT)
        place = np.minimum(np.searchsorted(in_order, number), len(in_order) - 1)
        wanted = in_order[place] == number
        check(not batches or batch.schema == batches[0].schema, SEGMENT, "it has other columns than the others")
        batches.append(batch if wanted.all() else batch.filter(pa.array(wanted)))
        keys.append(order[place[wanted]])
    pool, key = joined(batches), np.concatenate([np.empty(0, np.int64), *keys])
    present = np.bincount(key, minlength=len(numbers))
    check(bool((present >= counts).all()), SEGMENT, "rows of a key are missing")
    assert pool is not None
    by_key = np.argsort(key, kind="stable")
    taken = by_key[ranges(np.cumsum(present) - counts, counts)]
    rows = pool.drop_columns([KEY_NUMBER])
    if len(taken) == rows.num_rows and bool((np.diff(taken) > 0).all()):
        return rows
    return rows.take(pa.array(taken))
