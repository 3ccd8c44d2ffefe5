"""A pool of summaries with answers for many keys at once, and its bytes."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.streams.stored_state import check, damaged
from ostinato.summaries.engine.answers import Answering, Answers, KeptColumns, kept_columns
from ostinato.summaries.engine.kernel_tables import COUNT, MARKS
from ostinato.summaries.engine.pool import PooledSummaries, SummaryPool
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.engine.summary_state_checks import STATE

VERSION = 1
_MAGIC = b"OSPL"
_HEADER = struct.Struct("<4sHH16sqqq")  # magic, version, unused, query, keys, width of a row, wide summaries
_WIDE = struct.Struct("<qq")  # key, length


class AnsweringPool(SummaryPool):
    """`SummaryPool` with answers in columns."""

    def __init__(self, summary: Summary) -> None:
        super().__init__(summary)
        self.answering = Answering(summary)
        self._query = summary.new_state().query

    def kept(self, keys: Sequence[Hashable]) -> KeptColumns:
        """The kept events of these keys. A key without events has none."""
        slots = np.fromiter((self._slots.get(key, 0) for key in keys), np.int64, len(keys))
        rows = self._integers[slots]
        for index, key in enumerate(keys) if self._wide else ():
            if key in self._wide:
                _put_integers(rows[index], self._wide[key])
        size = self.summary.query.size
        marks = rows[:, -MARKS:]
        is_kept = np.arange(size) < marks[:, COUNT, None]
        columns = (rows[:, at * size : (at + 1) * size][is_kept] for at in range((rows.shape[1] - MARKS) // size))
        time, code, payload, valid, number = columns
        float_values = self.summary.float_values
        return kept_columns(marks, number, time, code, payload, valid, float_values=float_values)

    def ask_many(self, keys: Sequence[Hashable]) -> Answers:
        """One answer for each key, in the keys' order."""
        return self.answering.answers(self.kept(keys))

    # --- bytes ---

    def to_bytes(self) -> bytes:
        """All summaries. Keys must be whole numbers; callers number other keys."""
        stored = self.dump()
        keys = np.array(stored.keys, np.int64)
        header = _HEADER.pack(_MAGIC, VERSION, 0, self._query, *stored.rows.shape, len(stored.wide))
        pieces = [header, keys.tobytes(), stored.rows.tobytes()]
        for key, data in stored.wide.items():
            pieces += [_WIDE.pack(key, len(data)), data]
        return b"".join(pieces)

    def restore(self, data: bytes) -> None:
        """Replaces its summaries by those of `to_bytes`."""
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise damaged(STATE, "these bytes are no summaries")
        _, version, _, query, count, width, wide_count = _HEADER.unpack_from(data)
        check(version == VERSION, STATE, f"it has version {version}, where version {VERSION} is read")
        if query != self._query or width != len(self.fresh_row):
            hint = "start again without this state, or use their own query"
            raise MatchError("SUMMARY_STATE", "the summaries of another query", hint=hint)
        check(0 <= count <= len(data) and 0 <= wide_count <= count, STATE, "a count is out of range")
        bytes_of = _Reader(data, _HEADER.size)
        keys = np.frombuffer(bytes_of.next(8 * count), np.int64).tolist()
        rows = np.frombuffer(bytes_of.next(8 * count * width), np.int64).reshape(count, width)
        wide = {}
        for _ in range(wide_count):
            key, length = _WIDE.unpack(bytes_of.next(_WIDE.size))
            wide[key] = bytes_of.next(length)
        bytes_of.check_end()
        check(len(set(keys)) == count and set(wide) <= set(keys), STATE, "keys are there twice, or not at all")
        self.load(PooledSummaries(keys, rows, wide))


class _Reader:
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


def _put_integers(row: NDArray[np.int64], state: SummaryState) -> None:
    """Writes the integers of a wide summary to a row of the pool's array. Only its counters are wide."""
    columns, size = state.columns, len(state.columns.time)
    by_event = (columns.time, columns.type, columns.payload, columns.valid, columns.number)
    for at, column in enumerate(by_event):
        row[at * size : (at + 1) * size] = column
    row[-MARKS:] = columns.marks


__all__ = ["Answers", "AnsweringPool"]
