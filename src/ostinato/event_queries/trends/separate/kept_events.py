"""Events that a query still needs, beside those that arrive: what the engine keeps where running sums don't do.

A program that tests pairs of events, or counts within a span, is evaluated when a window is over, from its events. The
events of open windows are kept as columns, only those that the program reads.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
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


KEPT_STATE = "the events in the state of an event query"


@dataclass(frozen=True, slots=True)
class Reads:
    """Which conditions and values a program reads, in order of their numbers."""

    conditions: tuple[int, ...]
    values: tuple[int, ...]
    all_rows: bool
    """Whether events that qualify for nothing matter."""

    @classmethod
    def of(cls, program: Program) -> Reads:
        conditions = {*program.qualifies, *(c for part in program.absent_qualifies for c in part)}
        tests: list[EdgeTest] = [*program.edges, *(test for part in program.absent_edges for test in part)]
        values = {slot.value for slot in program.slots} | {v for t in tests for v in (t.before_value, t.after_value)}
        return cls(tuple(sorted(conditions)), tuple(sorted(values - {NO_VALUE})), program.selection is Selection.STRICT)


@dataclass(frozen=True, slots=True)
class Kept:
    """Events of one sequence in order. `conditions` and `values` are those of `Reads`, in its order."""

    time: Ints
    place: Ints
    name: Ints
    """By which tests of pairs know the event (`PairTest`); in a state, how many of the sequence came after it."""
    conditions: tuple[Bools, ...]
    values: tuple[Values, ...]
    valid: tuple[Bools, ...]

    def part(self, chosen: slice | Bools | Ints) -> Kept:
        return Kept(
            self.time[chosen],
            self.place[chosen],
            self.name[chosen],
            tuple(column[chosen] for column in self.conditions),
            tuple(column[chosen] for column in self.values),
            tuple(column[chosen] for column in self.valid),
        )


def arriving(reads: Reads, events: Events, start: int, end: int) -> Kept:
    """The rows of one sequence that the program reads."""
    rows = slice(start, end)
    nowhere = np.zeros(end - start, bool)
    conditions = tuple(events.conditions[i][rows] for i in reads.conditions)
    found = Kept(
        events.time[rows],
        events.place[rows],
        np.arange(start, end, dtype=np.int64),
        conditions,
        tuple(events.values[i][rows] for i in reads.values),
        tuple(~nowhere if (valid := events.valid[i]) is None else valid[rows] for i in reads.values),
    )
    if reads.all_rows:
        return found
    return found.part(np.logical_or.reduce(conditions) if conditions else nowhere)


def together(parts: Sequence[Kept]) -> Kept:
    """One after another."""
    if len(parts) == 1:
        return parts[0]
    columns = range(len(parts[0].values))
    return Kept(
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.place for part in parts]),
        np.concatenate([part.name for part in parts]),
        tuple(np.concatenate([part.conditions[i] for part in parts]) for i in range(len(parts[0].conditions))),
        tuple(_concatenated(*(part.values[i] for part in parts)) for i in columns),
        tuple(np.concatenate([part.valid[i] for part in parts]) for i in columns),
    )


def _concatenated(*parts: Values) -> Any:
    return np.concatenate(parts)


def pack_kept(kept: Kept) -> bytes:
    columns: Sequence[NDArray[np.generic]] = (kept.time, kept.place, kept.name, *kept.values)
    bits: Sequence[Bools] = (*kept.conditions, *kept.valid)
    return b"".join(
        [
            struct.pack("<q", len(kept.time)),
            *(np.ascontiguousarray(column).tobytes() for column in columns),
            *(np.packbits(column).tobytes() for column in bits),
        ]
    )


def unpack_kept(data: bytes, reads: Reads, types: Sequence[np.dtype[np.generic]]) -> Kept:
    (count,) = struct.unpack_from("<q", data)
    columns, bit_columns = 3 + len(types), len(reads.conditions) + len(reads.values)
    size = 8 + 8 * columns * count + bit_columns * ((count + 7) // 8)
    check(count >= 0 and size == len(data), KEPT_STATE, "they have another length than they say")
    at = 8

    def column(kind: np.dtype[np.generic]) -> NDArray[np.generic]:
        nonlocal at
        at += 8 * count
        return np.frombuffer(data, kind, count, at - 8 * count)

    def bits() -> Bools:
        nonlocal at
        size = (count + 7) // 8
        at += size
        return np.unpackbits(np.frombuffer(data, np.uint8, size, at - size), count=count).astype(bool)

    whole = np.dtype(np.int64)
    time, place, name = (column(whole) for _ in range(3))
    values = tuple(column(kind) for kind in types)
    conditions = tuple(bits() for _ in reads.conditions)
    valid = tuple(bits() for _ in reads.values)
    kept = Kept(time, place, name, conditions, values, valid)  # type: ignore[arg-type]
    check_ranges(
        KEPT_STATE,
        {
            "time": (kept.time, -LARGEST, LARGEST),
            "place": (kept.place, -LARGEST, LARGEST),
            "number": (kept.name, 0, LARGEST),
        },
    )
    check_ascending(KEPT_STATE, time=kept.time, place=kept.place)
    return kept
