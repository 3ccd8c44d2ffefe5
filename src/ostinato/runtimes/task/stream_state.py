"""What a bucket of keys remembers between two steps of a stream <-> bytes. No matching here.

The bytes are Arrow IPC streams. The header has one row per remembered key, and in its metadata the format version, the
query it belongs to, and up to when rows are known. Rows lie in segments: those that open matches may need, key after
key in the order of the header, and those that wait for the watermark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.matching.search import NO_TIME
from ostinato.runtimes.task.stream_batches import from_bytes, joined, to_bytes

FORMAT_VERSION = 1
_VERSION, _QUERY, _KNOWN_UNTIL = b"ostinato.version", b"ostinato.query", b"ostinato.known_until"

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BucketState:
    """A value: equal bytes, equal state. An unchanged segment stays the same object from one state to the next."""

    header: bytes = b""
    open_rows: tuple[bytes, ...] = ()
    waiting: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(map(len, (self.header, *self.open_rows, *self.waiting)))


EMPTY = BucketState()
"""A bucket that has seen nothing."""


class Keys(NamedTuple):
    """The remembered keys, one entry each. Places are counted from the key's first row at hand."""

    rows: Rows
    """How many rows are at hand: at least one, by which the key is known."""
    start: Rows
    """The row that is tried next as the start of a match."""
    number: Rows
    """How many matches were numbered."""
    given: Rows
    """INCREMENTAL MATCHES: those that end before this row were given."""
    covered: Rows
    """WITH UNMATCHED ROWS: rows before this one are in matches that were given, or were shown."""

    @staticmethod
    def new(count: int) -> Keys:
        """Keys of which nothing is at hand yet."""
        return Keys(*(np.zeros(count, np.int64) for _ in Keys._fields))

    @property
    def first(self) -> Rows:
        """The place of each key's first row among all rows at hand."""
        return np.cumsum(self.rows) - self.rows

    def taken(self, which: Rows | NDArray[np.bool_]) -> Keys:
        return Keys(*(column[which] for column in self))

    def followed_by(self, more: Keys) -> Keys:
        return Keys(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))


@dataclass(frozen=True, slots=True)
class Opened:
    """A state as it is worked with; None where there are no rows."""

    keys: Keys
    known_until: int
    """Rows that come are later than this, or late."""
    open_rows: pa.RecordBatch | None
    waiting: pa.RecordBatch | None


def open_state(state: BucketState, query: str) -> Opened:
    """Raises where the state is not one of this query, or in a form that this version doesn't know."""
    header, known_until = read_header(state, query)
    if header is None:
        return Opened(Keys.new(0), known_until, None, None)
    columns = {name: header.column(name).to_numpy().astype(np.int64) for name in header.schema.names}
    zeros = np.zeros(header.num_rows, np.int64)
    keys = Keys(*(columns.get(name, zeros) for name in Keys._fields))
    return Opened(keys, known_until, read_rows(state.open_rows, "open rows"), read_rows(state.waiting, "waiting rows"))


def read_header(state: BucketState, query: str) -> tuple[pa.RecordBatch | None, int]:
    """The header as it was written, and up to when rows were known; raises as `open_state` does."""
    if not state.header:
        return None, NO_TIME
    header = read_batch(state.header, "the header in the state of this stream")
    metadata = header.schema.metadata or {}
    check_stamp(metadata, FORMAT_VERSION, query, of="this stream", changed="its clause or settings")
    return header, int(metadata[_KNOWN_UNTIL])


def read_rows(segments: tuple[bytes, ...], what: str) -> pa.RecordBatch | None:
    """The rows of all segments; None where there are none."""
    return joined([read_batch(segment, f"the {what} in the state of this stream") for segment in segments])


def check_columns(opened: Opened, arrived: pa.RecordBatch | None) -> None:
    """Raises where rows of the state can't stand beside those that arrive."""
    for kept in (opened.open_rows, opened.waiting):
        if kept is not None and arrived is not None and kept.schema != arrived.schema:
            raise other_query("the columns of its input, or their types, have changed")


def other_query(what: str) -> MatchError:
    """The error where a checkpoint belongs to something else."""
    return MatchError(
        "STATE_OF_OTHER_QUERY",
        f"the state of this stream was written by another query: {what}",
        hint="start the changed query with a new checkpoint; ost.finish gives what the old one left open",
    )


def header_bytes(keys: Keys, known_until: int, query: str) -> bytes:
    """The header; columns that are zero throughout are left out."""
    columns = {
        name: pa.array(values.astype(np.int64 if name == "number" else np.int32))
        for name, values in zip(Keys._fields, keys, strict=True)
        if name == "rows" or values.any()
    }
    return stamped(pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)), known_until, query)


def stamped(header: pa.RecordBatch, known_until: int, query: str) -> bytes:
    """A header with what `read_header` asks of it."""
    metadata = stamp(FORMAT_VERSION, query) | {_KNOWN_UNTIL: str(known_until)}
    return to_bytes(header.replace_schema_metadata(metadata))


# --- what every kept state has, also that of a correlation ------------------------------------------------------------


def stamp(version: int, query: str) -> dict[bytes, str]:
    """What metadata says of a state: its format, and whose it is."""
    return {_VERSION: str(version), _QUERY: query}


def check_stamp(metadata: Mapping[bytes, bytes], version: int, query: str, *, of: str, changed: str) -> None:
    """Raises where a state has another format, or belongs to another query, in which something has changed."""
    written = metadata.get(_VERSION, b"?").decode()
    if written != str(version):
        raise MatchError(
            "STATE_FORMAT",
            f"the state of {of} has format {written}; this version of Ostinato reads format {version}",
            hint="go on with the version that wrote it, or start from a new checkpoint",
        )
    if metadata.get(_QUERY, b"").decode() != query:
        raise other_query(f"{changed} have changed")


def read_batch(data: bytes, what: str) -> pa.RecordBatch:
    """The rows that were kept as bytes; raises an error about `what` where these are none."""
    try:
        return from_bytes(data)
    except (pa.ArrowInvalid, OSError, StopIteration) as error:
        raise unreadable(what, error) from None


def unreadable(what: str, error: Exception) -> MatchError:
    """The error where bytes of a state are no rows of ours."""
    hint = "the checkpoint is damaged, or was not written by Ostinato"
    return MatchError("STATE_FORMAT", f"{what} can't be read: {error}", hint=hint)
