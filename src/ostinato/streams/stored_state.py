"""State as bytes <-> bytes with a format version and a checksum; and the checks of a state that was read.

Every system lays out its own state. `seal` puts a header before such bytes: the format version, the section (so that
one section of a state can't replace another) and a checksum. `unseal` refuses bytes that were changed or cut, and
bytes of another version.

A checksum finds damage, but no mistakes of the writer. Kernels don't check their indexes, so every layout also checks
a state before a kernel reads it. `reading` turns any failure while bytes are decoded into STATE_FORMAT, `check_ranges`
refuses numbers outside of their range, and `check` refuses anything else.
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

FORMAT_VERSION = 3
"""Of all sections: a change of any layout needs a new version."""
LARGEST = 1 << 62
"""The limit of times, row numbers and counts. The sum of two still fits into 64 bits."""
LARGEST_EXPONENT = 1 << 40
"""The limit of exponents of approximate numbers."""
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
"""All errors that code raises when it decodes damaged bytes."""


class Section(IntEnum):
    """The sections of a state that are stored separately."""

    BUCKET = 1
    OPEN_ROWS = 2
    WAITING_ROWS = 3
    WORKLOAD = 4
    SUMMARY_PAGE = 5
    SUMMARY = 6
    CORRELATION = 7
    RULES = 8
    EARLY = 9


def seal(body: bytes, section: Section, salt: int = 0) -> bytes:
    """The bytes behind their header. `salt` identifies the owner of bytes that don't name it themselves."""
    return _HEADER.pack(_MAGIC, FORMAT_VERSION, section, _checksum(body, section, salt)) + body


def unseal(data: bytes, section: Section, subject: str, salt: int = 0) -> pa.Buffer:
    """The bytes that were sealed, without a copy. Raises STATE_FORMAT about `subject` if they were changed."""
    if len(data) < _HEADER.size or data[:4] != _MAGIC:
        raise damaged(subject, "it doesn't begin as a state of this version of Ostinato does")
    _, version, written_section, checksum = _HEADER.unpack_from(data)
    if version != FORMAT_VERSION:
        raise MatchError(
            "STATE_FORMAT",
            f"{subject} has format {version}; this version of Ostinato reads format {FORMAT_VERSION}",
            hint="go on with the version that wrote it, or start from a new checkpoint",
        )
    body = pa.py_buffer(data).slice(_HEADER.size)
    if written_section != section or checksum != _checksum(body, section, salt):
        raise damaged(subject, "its checksum is wrong")
    return body


def _checksum(body: bytes | pa.Buffer, section: Section, salt: int) -> int:
    return zlib.crc32(body, zlib.crc32(_MAGIC, salt + (section << 8) + FORMAT_VERSION & 0xFFFFFFFF))


# --- checks -----------------------------------------------------------------------------------------------------------


def damaged(subject: str, why: str) -> MatchError:
    """The error for a state that can't be read. `subject` is the subject of the message's sentence."""
    return MatchError("STATE_FORMAT", f"{subject} can't be read: {why}", hint=_HINT)


@contextmanager
def reading(subject: str) -> Iterator[None]:
    """For code that decodes bytes. Only damaged bytes make such code fail, so each failure becomes STATE_FORMAT."""
    try:
        yield
    except OstinatoError:
        raise
    except _FAILURES as error:
        raise damaged(subject, str(error) or type(error).__name__) from None


def check(holds: bool | np.bool_, subject: str, why: str) -> None:
    """Raises STATE_FORMAT unless the condition holds."""
    if not holds:
        raise damaged(subject, why)


Range = tuple[Any, ArrayLike, ArrayLike]
"""Numbers, their least and their greatest allowed value; the limits are numbers or arrays."""


def check_ranges(subject: str, ranges: Mapping[str, Range]) -> None:
    """Raises STATE_FORMAT for the first field with a number outside of its range. NaN is in no range."""
    for field, (values, least, greatest) in ranges.items():
        numbers = np.asarray(values)
        if not bool(np.all((numbers >= least) & (numbers <= greatest))):
            raise damaged(subject, f"{field} is out of range")


def check_shapes(subject: str, arrays: Mapping[str, tuple[NDArray[Any], tuple[int, ...], type[np.generic]]]) -> None:
    """Raises STATE_FORMAT for an array that has another shape or type than the layout says."""
    for field, (array, shape, kind) in arrays.items():
        if array.shape != shape or array.dtype != kind:
            raise damaged(subject, f"{field} has another shape")


def check_ascending(subject: str, **fields: NDArray[Any]) -> None:
    """Raises STATE_FORMAT for numbers that aren't in ascending order."""
    for field, values in fields.items():
        if not bool(np.all(values[1:] >= values[:-1])):
            raise damaged(subject, f"{field} falls")


# --- record batches ---------------------------------------------------------------------------------------------------


def read_batch(data: bytes | pa.Buffer, subject: str) -> pa.RecordBatch:
    """The only batch of an Arrow stream. Arrow doesn't check offsets and lengths, so this does."""
    with reading(subject):
        batch = pa.ipc.open_stream(data).read_next_batch()
        batch.validate(full=True)
        _ = batch.schema.names  # decodes the names, which may fail
    return batch


def check_columns_are(batch: pa.RecordBatch, columns: Mapping[str, pa.DataType], subject: str) -> None:
    """Raises STATE_FORMAT where a batch has other columns than the layout says."""
    stored = {field.name: field.type for field in batch.schema}
    check(stored == dict(columns) and len(batch.schema) == len(columns), subject, "it has other columns")


def whole_numbers(column: pa.Array, subject: str) -> NDArray[np.int64]:
    """A column of whole numbers without NULLs."""
    check(pa.types.is_integer(column.type) and not column.null_count, subject, "a column has other values")
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)
