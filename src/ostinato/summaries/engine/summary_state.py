"""The state of a summary between two batches, and its bytes.

The counters of the choice are stored with the events, although they could be recounted: they are doubles, and their
last digits depend on the order of additions. So a stream keeps the same events, however it is split into batches,
stored and restored.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from ostinato.errors import MatchError
from ostinato.kernels.numbers.wide_numbers import widened
from ostinato.streams.stored_state import check, check_ranges, damaged
from ostinato.summaries.engine.kernel_tables import COUNT, StateColumns, empty_columns
from ostinato.summaries.engine.summary_state_checks import STATE, VERSION, check_summaries, rows_of_one

_MAGIC = b"OSUM"
_HEADER = struct.Struct("<4sHBB16sqqq")  # magic, version, wide, unused, query, kept events, states, types
_BY_EVENT = 10
"""The first columns of the tuple, which have a row for each event."""


@dataclass(frozen=True, slots=True)
class SummaryState:
    """Immutable by convention: engines copy the columns before they change them."""

    columns: StateColumns
    query: bytes
    """Fingerprint of the query and its settings. States of other queries are refused."""

    @property
    def is_wide(self) -> bool:
        return bool(self.columns.own.dtype == np.complex128)

    def __len__(self) -> int:
        return int(self.columns.marks[COUNT])

    def copied(self) -> SummaryState:
        return SummaryState(StateColumns._make(column.copy() for column in self.columns), self.query)

    def widened(self) -> SummaryState:
        """The same numbers, with extended exponents."""
        columns = self.columns
        wide = columns._replace(
            own=widened(columns.own),
            carried=widened(columns.carried),
            fresh=widened(columns.fresh),
            active=widened(columns.active),
            total=widened(columns.total),
        )
        return SummaryState(wide, self.query)

    def to_bytes(self) -> bytes:
        count, columns = len(self), self.columns
        states, types = columns.active.shape[1], len(columns.probabilities)
        header = _HEADER.pack(_MAGIC, VERSION, self.is_wide, 0, self.query, count, states, types)
        by_event = [column[:count].tobytes() for column in columns[:_BY_EVENT]]
        return b"".join([header, *by_event, *(column.tobytes() for column in columns[_BY_EVENT:])])


def state_from_bytes(data: bytes, new: SummaryState, *, adds_floats: bool) -> SummaryState:
    """Reads `to_bytes`. `new` is an empty summary of the same query; `adds_floats` is `Summary.adds_floats`."""
    if len(data) < _HEADER.size or data[:4] != _MAGIC:
        raise damaged(STATE, "these bytes are no summary")
    _, version, wide, _, of_query, count, states, types = _HEADER.unpack_from(data)
    check(version == VERSION, STATE, f"it has version {version}, where version {VERSION} is read")
    if of_query != new.query:
        raise MatchError(
            "SUMMARY_STATE", "the summary of another query", hint="start again without this state, or use its own query"
        )
    size = len(new.columns.time)
    check(
        (states, types) == (new.columns.active.shape[1], len(new.columns.probabilities)), STATE, "it has other states"
    )
    check(0 <= count <= size and wide in (0, 1), STATE, "it keeps more events than it has room for")
    columns = empty_columns(size, states, types, bool(wide))
    offset = _HEADER.size
    for number, column in enumerate(columns):
        into = column[:count] if number < _BY_EVENT else column
        check(offset + into.nbytes <= len(data), STATE, "its bytes end too early")
        if column.dtype == np.bool_:
            check_ranges(STATE, {"a flag": (np.frombuffer(data, np.uint8, into.size, offset), 0, 1)})
        values = np.frombuffer(data, column.dtype, into.size, offset)
        into[...] = values.reshape(into.shape)
        offset += into.nbytes
    check(offset == len(data), STATE, "its bytes go on behind its end")
    check(columns.marks[COUNT] == count, STATE, "it keeps another number of events than it says")
    check_summaries(rows_of_one(columns, adds_floats=adds_floats))
    return SummaryState(columns, new.query)
