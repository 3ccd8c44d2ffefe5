"""The summaries of a pool <-> bytes. Keys must be whole numbers; callers number other keys."""

from __future__ import annotations

import struct

import numpy as np

from ostinato.errors import MatchError
from ostinato.streams.stored_state import check, damaged
from ostinato.summaries.engine.pool import PooledSummaries, SummaryPool
from ostinato.summaries.engine.summary_state_checks import STATE

VERSION = 1
_MAGIC = b"OSPL"
_HEADER = struct.Struct("<4sHH16sqqq")  # magic, version, unused, query, keys, width of a row, wide summaries
_WIDE = struct.Struct("<qq")  # key, length


def pool_to_bytes(pool: SummaryPool) -> bytes:
    stored = pool.dump()
    keys = np.array(stored.keys, np.int64)
    query = pool.summary.fingerprint
    header = _HEADER.pack(_MAGIC, VERSION, 0, query, *stored.rows.shape, len(stored.wide))
    pieces = [header, keys.tobytes(), stored.rows.tobytes()]
    for key, data in stored.wide.items():
        pieces += [_WIDE.pack(key, len(data)), data]
    return b"".join(pieces)


def restore_pool(pool: SummaryPool, data: bytes) -> None:
    """Replaces the summaries of the pool by those of `pool_to_bytes`."""
    if len(data) < _HEADER.size or data[:4] != _MAGIC:
        raise damaged(STATE, "these bytes are no summaries")
    _, version, _, query, count, width, wide_count = _HEADER.unpack_from(data)
    check(version == VERSION, STATE, f"it has version {version}, where version {VERSION} is read")
    if query != pool.summary.fingerprint or width != len(pool.fresh_row):
        hint = "start again without this state, or use their own query"
        raise MatchError("SUMMARY_STATE", "the summaries of another query", hint=hint)
    check(0 <= count <= len(data) and 0 <= wide_count <= count, STATE, "a count is out of range")
    reader = _BytesReader(data, _HEADER.size)
    keys = np.frombuffer(reader.next(8 * count), np.int64).tolist()
    rows = np.frombuffer(reader.next(8 * count * width), np.int64).reshape(count, width)
    wide = {}
    for _ in range(wide_count):
        key, length = _WIDE.unpack(reader.next(_WIDE.size))
        wide[key] = reader.next(length)
    reader.check_end()
    check(len(set(keys)) == count and set(wide) <= set(keys), STATE, "keys are there twice, or not at all")
    pool.load(PooledSummaries(keys, rows, wide))


class _BytesReader:
    """Reads bytes from an offset on."""

    def __init__(self, data: bytes, offset: int) -> None:
        self.data = data
        self.offset = offset

    def next(self, count: int) -> bytes:
        check(0 <= count <= len(self.data) - self.offset, STATE, "its bytes end too early")
        piece = self.data[self.offset : self.offset + count]
        self.offset += count
        return piece

    def check_end(self) -> None:
        check(self.offset == len(self.data), STATE, "its bytes go on behind its end")
