"""Counts and sums of a query as Python integers; conversion to bytes and to results."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.event_queries.plan.event_program import Numbers, Program, QueryResults, SlotKind
from ostinato.kernels.numbers.python_numbers import (
    INFINITE,
    MINUS_INFINITE,
    NOT_A_NUMBER,
    NOTHING,
    SOME,
    as_objects,
    extended,
    real_sums,
)
from ostinato.streams.stored_state import check

_STATE = "a sum in the state of an event query"


@dataclass(slots=True)
class Totals:
    """`numbers[0]` is the count, then one number for each slot (0 for MIN and MAX). `best` has the values of MIN and
    MAX."""

    numbers: list[int]
    flags: list[int]
    best: list[float]

    @classmethod
    def nothing(cls, slots: int) -> Totals:
        return cls([0] * (slots + 1), [NOTHING] * slots, [0] * slots)

    def add(self, other: Totals, kinds: Sequence[SlotKind]) -> None:
        for i, number in enumerate(other.numbers):
            self.numbers[i] += number
        for i, flag in enumerate(other.flags):
            if flag and kinds[i] in (SlotKind.MIN, SlotKind.MAX):
                self.best[i] = better(kinds[i], self.best[i], other.best[i]) if self.flags[i] else other.best[i]
            self.flags[i] |= flag


def better(kind: SlotKind, one: float, other: float) -> float:
    """The better of two values for MIN or MAX; NaN is the greatest."""
    smaller = not math.isnan(one) and (math.isnan(other) or one < other)
    return one if smaller == (kind is SlotKind.MIN) else other


@dataclass(frozen=True, slots=True)
class Counted:
    """The totals of one sequence (and window)."""

    sequence: int
    window: int
    totals: Totals


def as_results(program: Program, rows: Sequence[Counted], exact: bool, is_real: Sequence[bool]) -> QueryResults:
    """Totals as results. `is_real` says for each slot whether its values are doubles."""

    def numbers(i: int) -> Numbers:
        kind = program.slots[i - 1].kind if i else SlotKind.COUNT
        if kind in (SlotKind.MIN, SlotKind.MAX):
            best = [row.totals.best[i - 1] for row in rows]
            return np.array(best, np.float64) if is_real[i - 1] else np.array(best, np.int64)
        integers = [row.totals.numbers[i] for row in rows]
        if kind is SlotKind.SUM and is_real[i - 1]:
            return real_sums(integers, [row.totals.flags[i - 1] for row in rows])
        return as_objects(integers) if exact else extended(integers)

    return QueryResults(
        sequence=np.array([row.sequence for row in rows], np.int64),
        window=np.array([row.window for row in rows], np.int64),
        count=numbers(0),
        slots=tuple(numbers(i + 1) for i in range(len(program.slots))),
        present=tuple(np.array([row.totals.flags[i] != 0 for row in rows], bool) for i in range(len(program.slots))),
    )


# --- bytes ------------------------------------------------------------------------------------------------------------


def pack_totals(totals: Totals, is_real: Sequence[bool]) -> bytes:
    pieces = []
    for number in totals.numbers:
        size = number.bit_length() // 8 + 1
        pieces += [struct.pack("<I", size), number.to_bytes(size, "little", signed=True)]
    for flag, best, real in zip(totals.flags, totals.best, is_real, strict=True):
        pieces.append(struct.pack("<Bd" if real else "<Bq", flag, best))
    return b"".join(pieces)


def unpack_totals(data: bytes, is_real: Sequence[bool]) -> tuple[Totals, int]:
    """The totals, and the number of bytes read."""
    totals, offset = Totals.nothing(len(is_real)), 0
    for i in range(len(totals.numbers)):
        (size,) = struct.unpack_from("<I", data, offset)
        check(size <= len(data) - offset - 4, _STATE, "the data ends inside a number")
        totals.numbers[i] = int.from_bytes(data[offset + 4 : offset + 4 + size], "little", signed=True)
        offset += 4 + size
    for i, real in enumerate(is_real):
        form = "<Bd" if real else "<Bq"
        totals.flags[i], totals.best[i] = struct.unpack_from(form, data, offset)
        offset += struct.calcsize(form)
        check(totals.flags[i] <= SOME | INFINITE | MINUS_INFINITE | NOT_A_NUMBER, _STATE, "a flag is out of range")
    return totals, offset
