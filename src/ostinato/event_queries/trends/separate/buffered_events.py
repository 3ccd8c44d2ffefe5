"""The buffer of events that a query still needs, for programs that running sums can't evaluate.

A program that tests pairs of events, or counts within a span, is evaluated when a window is over. Until then, the
engine buffers the events as columns, and only the columns that the program reads.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import NO_VALUE, EdgeTest, Events, Program
from ostinato.streams.stored_state import LARGEST, check, check_ascending, check_ranges

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Values = NDArray[np.int64] | NDArray[np.float64]


BUFFER_STATE = "the events in the state of an event query"


@dataclass(frozen=True, slots=True)
class Reads:
    """The conditions and values that a program reads, in order of their numbers."""

    conditions: tuple[int, ...]
    values: tuple[int, ...]
    all_rows: bool
    """Whether events that qualify for no label also matter."""

    @classmethod
    def of(cls, program: Program) -> Reads:
        conditions = {*program.qualifies, *(c for absent in program.absent_qualifies for c in absent)}
        tests: list[EdgeTest] = [*program.edges, *(test for absent in program.absent_edges for test in absent)]
        values = {slot.value for slot in program.slots} | {v for t in tests for v in (t.before_value, t.after_value)}
        return cls(tuple(sorted(conditions)), tuple(sorted(values - {NO_VALUE})), program.selection is Selection.STRICT)


def label_masks(program: Program, qualifying: Callable[[int], Bools], rows: int) -> Ints:
    """For each row, one bit for each label that it qualifies for, and above them one bit for each absence.

    `qualifying` has the rows that meet a condition.
    """
    mask = np.zeros(rows, np.int64)
    for label, condition in enumerate(program.qualifies):
        mask |= qualifying(condition).astype(np.int64) << label
    for number, absence in enumerate(program.automaton.absences):
        for label in absence.first_labels():
            condition = program.absent_qualifies[number][label]
            mask |= qualifying(condition).astype(np.int64) << (len(program.qualifies) + number)
    return mask


@dataclass(frozen=True, slots=True)
class BufferedEvents:
    """Events of one sequence in order. `conditions` and `values` are those of `Reads`, in its order."""

    time: Ints
    place: Ints
    name: Ints
    """The event's name in tests of pairs (`PairTest`). In a state: how many events of the sequence came after it."""
    conditions: tuple[Bools, ...]
    values: tuple[Values, ...]
    valid: tuple[Bools, ...]

    def select(self, chosen: slice | Bools | Ints) -> BufferedEvents:
        return BufferedEvents(
            self.time[chosen],
            self.place[chosen],
            self.name[chosen],
            tuple(column[chosen] for column in self.conditions),
            tuple(column[chosen] for column in self.values),
            tuple(column[chosen] for column in self.valid),
        )


def arriving(reads: Reads, events: Events, start: int, end: int) -> BufferedEvents:
    """The rows of one sequence that the program reads."""
    rows = slice(start, end)
    nowhere = np.zeros(end - start, bool)
    conditions = tuple(events.conditions[i][rows] for i in reads.conditions)
    arrived = BufferedEvents(
        events.time[rows],
        events.place[rows],
        np.arange(start, end, dtype=np.int64),
        conditions,
        tuple(events.values[i][rows] for i in reads.values),
        tuple(~nowhere if (valid := events.valid[i]) is None else valid[rows] for i in reads.values),
    )
    if reads.all_rows:
        return arrived
    return arrived.select(np.logical_or.reduce(conditions) if conditions else nowhere)


def together(buffers: Sequence[BufferedEvents]) -> BufferedEvents:
    """The events of all buffers, one after another."""
    if len(buffers) == 1:
        return buffers[0]
    columns = range(len(buffers[0].values))
    return BufferedEvents(
        np.concatenate([each.time for each in buffers]),
        np.concatenate([each.place for each in buffers]),
        np.concatenate([each.name for each in buffers]),
        tuple(np.concatenate([each.conditions[i] for each in buffers]) for i in range(len(buffers[0].conditions))),
        tuple(_concatenated(*(each.values[i] for each in buffers)) for i in columns),
        tuple(np.concatenate([each.valid[i] for each in buffers]) for i in columns),
    )


def _concatenated(*buffers: Values) -> Any:
    return np.concatenate(buffers)


def pack_events(buffered: BufferedEvents) -> bytes:
    columns: Sequence[NDArray[np.generic]] = (buffered.time, buffered.place, buffered.name, *buffered.values)
    bits: Sequence[Bools] = (*buffered.conditions, *buffered.valid)
    return b"".join(
        [
            struct.pack("<q", len(buffered.time)),
            *(np.ascontiguousarray(column).tobytes() for column in columns),
            *(np.packbits(column).tobytes() for column in bits),
        ]
    )


def unpack_events(data: bytes, reads: Reads, types: Sequence[np.dtype[np.generic]]) -> BufferedEvents:
    (count,) = struct.unpack_from("<q", data)
    columns, bit_columns = 3 + len(types), len(reads.conditions) + len(reads.values)
    size = 8 + 8 * columns * count + bit_columns * ((count + 7) // 8)
    check(count >= 0 and size == len(data), BUFFER_STATE, "the stored length doesn't match the data")
    offset = 8

    def column(kind: np.dtype[np.generic]) -> NDArray[np.generic]:
        nonlocal offset
        offset += 8 * count
        return np.frombuffer(data, kind, count, offset - 8 * count)

    def bits() -> Bools:
        nonlocal offset
        size = (count + 7) // 8
        offset += size
        return np.unpackbits(np.frombuffer(data, np.uint8, size, offset - size), count=count).astype(bool)

    time, place, name = (column(np.dtype(np.int64)) for _ in range(3))
    values = tuple(column(kind) for kind in types)
    conditions = tuple(bits() for _ in reads.conditions)
    valid = tuple(bits() for _ in reads.values)
    buffered = BufferedEvents(time, place, name, conditions, values, valid)  # type: ignore[arg-type]
    check_ranges(
        BUFFER_STATE,
        {
            "time": (buffered.time, -LARGEST, LARGEST),
            "place": (buffered.place, -LARGEST, LARGEST),
            "number": (buffered.name, 0, LARGEST),
        },
    )
    check_ascending(BUFFER_STATE, time=buffered.time, place=buffered.place)
    return buffered
