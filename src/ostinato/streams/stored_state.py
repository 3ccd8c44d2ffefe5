"""Stored state: bytes with a format version and a checksum, and the checks of what is read back.

Every system lays out its own state. `seal` puts a header before such bytes: the format version, the section (so that
one part of a state can't stand in for another) and a checksum. `unseal` refuses bytes that were changed or cut, and
bytes of another version.

A checksum finds damage, not a wrong writer. Kernels don't check their indices, so every layout also checks what it has
read before a kernel sees it: `reading` turns a failure while bytes are taken apart into STATE_FORMAT, `check_ranges`
refuses numbers outside of their range, and `check` anything else.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ostinato.errors import MatchError, OstinatoError

FORMAT_VERSION = 2
"""Of all sections: a change of any layout needs a new one."""
LARGEST = 1 << 62
"""No time, place or count goes beyond it: there is room to add two of them."""
_MAGIC = b"OSTN"
_HEADER = struct.Struct("<4sHHQ")  # magic, version, section, checksum; 16 bytes, so that arrays behind it stay aligned
_HINT = "the checkpoint is damaged, or was not written by Ostinato: start from the last one that is whole"
_FAILURES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
    pa.ArrowException,
    struct.error,
    zlib.error,
)
"""Every way in which code fails that takes foreign bytes apart."""


class Section(IntEnum):
    """The parts of states that are stored by themselves."""

    BUCKET = 1
    OPEN_ROWS = 2
    WAITING_ROWS = 3
    WORKLOAD = 4
    SUMMARY_PAGE = 5
    SUMMARY = 6
    CORRELATION = 7


def seal(body: bytes, section: Section, salt: int = 0) -> bytes:
    """The bytes behind their header. `salt` stands for what they belong to, where they don't say so themselves."""
    return _HEADER.pack(_MAGIC, FORMAT_VERSION, section, _checksum(body, section, salt)) + body


def unseal(data: bytes, section: Section, what: str, salt: int = 0) -> pa.Buffer:
    """The bytes that were sealed, without a copy; raises STATE_FORMAT about `what` where they are others."""
    if len(data) < _HEADER.size or data[:4] != _MAGIC:
        raise damaged(what, "it doesn't begin as a state of this version of Ostinato does")
    _, version, written_section, checksum = _HEADER.unpack_from(data)
    if version != FORMAT_VERSION:
        raise MatchError(
            "STATE_FORMAT",
            f"{what} has format {version}; this version of Ostinato reads format {FORMAT_VERSION}",
            hint="go on with the version that wrote it, or start from a new checkpoint",
        )
    body = pa.py_buffer(data).slice(_HEADER.size)
    if written_section != section or checksum != _checksum(body, section, salt):
        raise damaged(what, "its checksum is wrong")
    return body


def _checksum(body: bytes | pa.Buffer, section: Section, salt: int) -> int:
    return zlib.crc32(body, zlib.crc32(_MAGIC, salt + (section << 8) + FORMAT_VERSION & 0xFFFFFFFF))


# --- checks -----------------------------------------------------------------------------------------------------------


def damaged(what: str, why: str) -> MatchError:
    """The error for a state that can't be read. `what` names the state as the subject of a sentence."""
    return MatchError("STATE_FORMAT", f"{what} can't be read: {why}", hint=_HINT)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Around code that takes bytes apart. Only bad bytes make this code fail, so each failure becomes STATE_FORMAT."""
    try:
        yield
    except OstinatoError:
        raise
    except _FAILURES as error:
        raise damaged(what, str(error) or type(error).__name__) from None


def check(holds: bool | np.bool_, what: str, why: str) -> None:
    """Raises STATE_FORMAT where a state contradicts itself."""
    if not holds:
        raise damaged(what, why)


Range = tuple[Any, ArrayLike, ArrayLike]
"""Numbers, the least and the greatest that they may be; the limits are numbers or arrays."""


def check_ranges(what: str, ranges: Mapping[str, Range]) -> None:
    """Raises STATE_FORMAT for the first field with a number outside of its range. NaN is outside of every range."""
    for field, (values, least, greatest) in ranges.items():
        numbers = np.asarray(values)
        if not bool(np.all((numbers >= least) & (numbers <= greatest))):
            raise damaged(what, f"{field} is out of range")


def check_shapes(what: str, arrays: Mapping[str, tuple[NDArray[Any], tuple[int, ...], type[np.generic]]]) -> None:
    """Raises STATE_FORMAT for an array that has another shape or type than the layout says."""
    for field, (array, shape, kind) in arrays.items():
        if array.shape != shape or array.dtype != kind:
            raise damaged(what, f"{field} has another shape")


def check_ascending(what: str, **fields: NDArray[Any]) -> None:
    """Raises STATE_FORMAT for numbers that fall."""
    for field, values in fields.items():
        if not bool(np.all(values[1:] >= values[:-1])):
            raise damaged(what, f"{field} falls")


# --- record batches ---------------------------------------------------------------------------------------------------


def read_batch(data: bytes | pa.Buffer, what: str) -> pa.RecordBatch:
    """The only batch of an Arrow stream. Arrow itself trusts offsets and lengths, so they are checked."""
    with reading(what):
        batch = pa.ipc.open_stream(data).read_next_batch()
        batch.validate(full=True)
        _ = batch.schema.names  # read as text only when they are asked for
    return batch


def check_columns_are(batch: pa.RecordBatch, columns: Mapping[str, pa.DataType], what: str) -> None:
    """Raises STATE_FORMAT where a batch has other columns than the layout says."""
    found = {field.name: field.type for field in batch.schema}
    check(found == dict(columns) and len(batch.schema) == len(columns), what, "it has other columns")


def whole_numbers(column: pa.Array, what: str) -> NDArray[np.int64]:
    """A column of whole numbers without NULLs."""
    check(pa.types.is_integer(column.type) and not column.null_count, what, "a column has other values")
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)
