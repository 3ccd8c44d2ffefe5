"""State of a bucket of keys between two steps of a stream <-> bytes. No matching here.

The bytes are Arrow IPC streams, each sealed (`stored_state.py`). The header has one row per remembered key. Its
metadata has the fingerprint of the query, and the time up to which rows are known. Rows lie in segments: those that
open matches may need, key after key in the order of the header, and those that wait for the watermark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.column_names import ORDINAL
from ostinato.streams.record_batches import joined, to_bytes
from ostinato.streams.stored_segments import size_of
from ostinato.streams.stored_state import (
    LARGEST,
    Section,
    check,
    check_columns_are,
    check_ranges,
    read_batch,
    reading,
    seal,
    unseal,
    whole_numbers,
)

OTHER_QUERY = "STATE_OF_OTHER_QUERY"
"""The code of errors about a state that another query wrote."""
QUERY, _KNOWN_UNTIL = b"ostinato.query", b"ostinato.known_until"
_HEADER = "the header in the state of this stream"
_STATE_DEPENDS_ON = "its text, types, settings or buckets, or a workload's names, sharing or ratios,"
_ROWS: Final = {
    Section.OPEN_ROWS: "a segment of open rows in the state of this stream",
    Section.WAITING_ROWS: "a segment of waiting rows in the state of this stream",
}
RowsSection = Literal[Section.OPEN_ROWS, Section.WAITING_ROWS]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BucketState:
    """A value: equal bytes are equal states. An unchanged segment stays the same object from one state to the next."""

    header: bytes = b""
    open_rows: Sequence[bytes] = ()
    waiting: Sequence[bytes] = ()

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.header) + size_of(self.open_rows) + size_of(self.waiting)


EMPTY = BucketState()
"""A bucket without any row so far."""


class RememberedKeys(NamedTuple):
    """The remembered keys, one entry each. Rows are counted from the key's first row in the state."""

    rows: Rows
    """The number of rows in the state: at least one, by which the key is known."""
    start: Rows
    """The next row to try as the start of a match."""
    number: Rows
    """The number of the last match."""
    reported_until: Rows
    """INCREMENTAL MATCHES: those that end before this row have been reported."""
    covered_until: Rows
    """WITH UNMATCHED ROWS: rows before this one have been shown, in matches or as unmatched."""

    @staticmethod
    def new(count: int) -> RememberedKeys:
        """Keys without rows in the state."""
        return RememberedKeys(*(np.zeros(count, np.int64) for _ in RememberedKeys._fields))

    @property
    def first(self) -> Rows:
        """The index of each key's first row among all rows of the state."""
        return np.cumsum(self.rows) - self.rows

    def select(self, chosen: Rows | NDArray[np.bool_]) -> RememberedKeys:
        """The keys at these indexes, or those that the mask names."""
        return RememberedKeys(*(column[chosen] for column in self))

    def followed_by(self, more: RememberedKeys) -> RememberedKeys:
        return RememberedKeys(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))


STORED_COLUMNS = ("rows", "start", "number", "given", "covered")
"""The header's columns: the fields of `RememberedKeys` under the names that the state format has for them."""


@dataclass(frozen=True, slots=True)
class OpenBucket:
    """A state that has been read; None where there are no rows."""

    keys: RememberedKeys
    known_until: int
    """Later rows have later times than this, or are late."""
    open_rows: pa.RecordBatch | None
    waiting: pa.RecordBatch | None


def open_state(state: BucketState, query: str) -> OpenBucket:
    """Reads a state. Raises STATE_OF_OTHER_QUERY if it isn't one of this query, STATE_FORMAT if it can't be read."""
    header, known_until = read_header(state, query)
    if header is None:
        return OpenBucket(RememberedKeys.new(0), known_until, None, None)
    open_rows = read_rows(state.open_rows, Section.OPEN_ROWS)
    keys = _keys(header, 0 if open_rows is None else open_rows.num_rows)
    return OpenBucket(keys, known_until, open_rows, read_rows(state.waiting, Section.WAITING_ROWS))


def _keys(header: pa.RecordBatch, open_rows: int) -> RememberedKeys:
    names = header.schema.names
    check("rows" in names and set(names) <= set(STORED_COLUMNS), _HEADER, "it has other columns")
    check(len(set(names)) == len(names), _HEADER, "it has a column twice")
    columns = {name: whole_numbers(header.column(name), _HEADER) for name in names}
    zeros = np.zeros(header.num_rows, np.int64)
    keys = RememberedKeys(*(columns.get(name, zeros) for name in STORED_COLUMNS))
    check_ranges(
        _HEADER,
        {
            "rows": (keys.rows, 1, open_rows),
            "start": (keys.start, 0, keys.rows),
            "number": (keys.number, 0, LARGEST),
            "given": (keys.reported_until, 0, keys.rows),
            "covered": (keys.covered_until, 0, keys.rows),
        },
    )
    check(int(keys.rows.sum()) == open_rows, _HEADER, "it counts other rows than there are")
    return keys


def read_header(state: BucketState, query: str) -> tuple[pa.RecordBatch | None, int]:
    """The header as it was written, and the time up to which rows were known; raises as `open_state` does."""
    if not state.header:
        check(not state.open_rows and not state.waiting, _HEADER, "there is none, and there are rows")
        return None, NO_TIME
    header = read_batch(unseal(state.header, Section.BUCKET, _HEADER), _HEADER)
    metadata = header.schema.metadata or {}
    check_query(metadata, query, changed=_STATE_DEPENDS_ON)
    with reading(_HEADER):
        known_until = int(metadata[_KNOWN_UNTIL])
    check(NO_TIME <= known_until <= LARGEST, _HEADER, "the time up to which rows are known is out of range")
    return header, known_until


def read_rows(segments: Sequence[bytes], section: RowsSection) -> pa.RecordBatch | None:
    """The rows of all segments; None where there are none."""
    subject = _ROWS[section]
    batches = [read_batch(unseal(segment, section, subject), subject) for segment in segments]
    check(all(batch.schema == batches[0].schema for batch in batches), subject, "it has other columns than the others")
    return joined(batches)


def segments_of(batch: pa.RecordBatch | None, section: RowsSection) -> tuple[bytes, ...]:
    """One segment, or none where there are no rows."""
    return (seal(to_bytes(batch), section),) if batch is not None and batch.num_rows else ()


def check_kept_rows(open_rows: pa.RecordBatch, arriving: pa.Schema, *numbers: str) -> None:
    """Raises STATE_FORMAT unless open rows have the columns of arriving rows and, behind them, these numbers. Numbers
    of open rows are negative; arriving rows are numbered from 0 on."""
    subject = _ROWS[Section.OPEN_ROWS]
    columns = {field.name: field.type for field in arriving} | dict.fromkeys(numbers, pa.int64())
    check_columns_are(open_rows, columns, subject)
    for name in numbers:
        check_ranges(subject, {name: (whole_numbers(open_rows.column(name), subject), -LARGEST, -1)})


def check_columns(opened: OpenBucket, arrived: pa.RecordBatch | None) -> None:
    """Raises STATE_OF_OTHER_QUERY if rows of the state have other columns than those that arrive. Open rows may also
    have ordinals."""
    for stored in (opened.open_rows, opened.waiting):
        if stored is None or arrived is None:
            continue
        if [field for field in stored.schema if field.name != ORDINAL] != list(arrived.schema):
            raise other_query("the columns of its input, or their types, have changed")


def other_query(difference: str) -> MatchError:
    """The error for a checkpoint of another query."""
    return MatchError(
        OTHER_QUERY,
        f"the state of this stream was written by another query: {difference}",
        hint="start the changed query with a new checkpoint; ost.finish_stream returns the open matches of the old one",
    )


def header_bytes(keys: RememberedKeys, known_until: int, query: str) -> bytes:
    """The header; columns that are zero throughout are left out."""
    columns = {
        name: pa.array(values.astype(np.int64 if name == "number" else np.int32))
        for name, values in zip(STORED_COLUMNS, keys, strict=True)
        if name == "rows" or values.any()
    }
    return stamped(pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)), known_until, query)


def stamped(header: pa.RecordBatch, known_until: int, query: str, more: Mapping[bytes, str] | None = None) -> bytes:
    """A header with the metadata that `read_header` needs, and more."""
    metadata: dict[bytes, str] = {QUERY: query, _KNOWN_UNTIL: str(known_until), **(more or {})}
    return seal(to_bytes(header.replace_schema_metadata(metadata)), Section.BUCKET)


def check_query(metadata: Mapping[bytes, bytes], query: str, *, changed: str) -> None:
    """Raises STATE_OF_OTHER_QUERY if the state has another fingerprint; `changed` lists the possible differences."""
    if metadata.get(QUERY, b"") != query.encode():
        raise other_query(f"{changed} have changed")
