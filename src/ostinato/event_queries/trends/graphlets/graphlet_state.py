"""The state of a sequence in the graphlet engine <-> bytes: integers and fractions of any size."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.streams.stored_state import LARGEST, check, check_ascending, check_ranges

_VERSION = 1
STATE = "the sums in the state of these event queries"
_MOST_BINARY_PLACES = 1074
"""The most binary digits behind the point that a double has."""


@dataclass(frozen=True, slots=True)
class StoredLane:
    query: int
    window: int
    first: int
    """The number of the first past event of the Kleene label in its window."""
    sums: list[list[Any]]
    past: list[list[Any]]
    """[component][event]: the counts of the past events from `first` on."""


@dataclass(frozen=True, slots=True)
class StoredSequence:
    rows_given: int
    past: int
    """The number of past events of the Kleene label."""
    was_shared: int
    """-1 if there was no burst yet."""
    next_window: list[int]
    numbers: list[int]
    """The past events inside an open window, as numbers among the sequence's rows."""
    values: list[list[int]]
    """For each value that conditions compare: the values of these events, as integers or as bits of doubles."""
    valid: list[list[int]]
    lanes: list[StoredLane]


def pack(sequence: StoredSequence, mark: int) -> bytes:
    numbers = [_VERSION, mark, sequence.rows_given, sequence.past, sequence.was_shared]
    for number_list in (sequence.next_window, sequence.numbers):
        numbers += [len(number_list), *number_list]
    for table in (sequence.values, sequence.valid):
        numbers += _table(table)
    numbers.append(len(sequence.lanes))
    for lane in sequence.lanes:
        numbers += [lane.query, lane.window, lane.first, *_table(lane.sums), *_table(lane.past)]
    return b"".join(_number(number) for number in numbers)


def unpack(state: bytes, mark: int) -> StoredSequence:
    numbers = _numbers(state)
    if next(numbers, None) != _VERSION or next(numbers, None) != mark:
        raise MatchError(
            "STATE_OF_OTHER_QUERY",
            "the state was written for other queries or by another version",
            hint="start from an empty state",
        )
    rows_given, past, was_shared = (next(numbers) for _ in range(3))
    next_window, of_rows = _read_list(numbers), _read_list(numbers)
    values, valid = _read_table(numbers), _read_table(numbers)
    lanes = []
    for _ in range(next(numbers)):
        query, window, first = (next(numbers) for _ in range(3))
        lanes.append(StoredLane(query, window, first, _read_table(numbers), _read_table(numbers)))
    check(next(numbers, None) is None, STATE, "it goes on behind its end")
    return StoredSequence(rows_given, past, was_shared, next_window, of_rows, values, valid, lanes)


def check_sequence(sequence: StoredSequence, states: Sequence[int], widths: Sequence[int], compared: int) -> None:
    """Raises STATE_FORMAT if the fields are inconsistent. `states` and `widths` have, for each query, the states of its
    automaton and the number of sums in each; `compared` is the number of stored values of an event."""
    events = len(sequence.numbers)
    counts = [sequence.rows_given, sequence.past, *sequence.next_window, *sequence.numbers]
    counts += [number for lane in sequence.lanes for number in (lane.query, lane.window, lane.first)]
    check(all(isinstance(number, int) for number in counts), STATE, "a count is a fraction")
    check(len(sequence.next_window) == len(states), STATE, "it is of other queries")
    check_ascending(STATE, events=np.array(sequence.numbers, np.int64))
    check_ranges(
        STATE,
        {
            "rows": (sequence.rows_given, events, LARGEST),
            "past events": (sequence.past, events, sequence.rows_given),
            "burst": (sequence.was_shared, -1, 1),
            "next window": (sequence.next_window, -LARGEST, LARGEST),
            "events": (sequence.numbers, 0, sequence.rows_given - 1),
        },
    )
    tables = (*sequence.values, *sequence.valid)
    check(len(sequence.values) == len(sequence.valid) == compared, STATE, "it has other values")
    check(all(len(column) == events for column in tables), STATE, "it has values of other events")
    for lane in sequence.lanes:
        check(0 <= lane.query < len(states) and abs(lane.window) <= LARGEST, STATE, "a window is out of range")
        check(
            sequence.past - events <= lane.first <= sequence.past, STATE, "a window starts at an event that isn't there"
        )
        width = widths[lane.query]
        check(len(lane.sums) == states[lane.query] and len(lane.past) == width, STATE, "a window has other sums")
        check(all(len(row) == width for row in lane.sums), STATE, "a window has other sums")
        check(
            all(len(row) == sequence.past - lane.first for row in lane.past), STATE, "a window has sums of other events"
        )


def as_integers(values: NDArray[np.int64] | NDArray[np.float64]) -> list[int]:
    return [int(value) for value in np.ascontiguousarray(values).view(np.int64)]


def _number(number: Any) -> bytes:
    """Every fraction here is a sum of doubles, so its denominator is a power of two."""
    fraction = Fraction(number)
    top, binary_places = fraction.numerator, fraction.denominator.bit_length() - 1
    size = top.bit_length() // 8 + 1
    return struct.pack("<II", size, binary_places) + top.to_bytes(size, "little", signed=True)


def _numbers(state: bytes) -> Iterator[Any]:
    at = 0
    while at < len(state):
        size, binary_places = struct.unpack_from("<II", state, at)
        at += 8
        check(size <= len(state) - at and binary_places <= _MOST_BINARY_PLACES, STATE, "the data ends inside a number")
        top = int.from_bytes(state[at : at + size], "little", signed=True)
        yield Fraction(top, 1 << binary_places) if binary_places else top
        at += size


def _table(rows: Iterable[Iterable[Any]]) -> list[Any]:
    lists = [list(row) for row in rows]
    return [len(lists), *(number for row in lists for number in (len(row), *row))]


def _read_list(numbers: Iterator[Any]) -> list[Any]:
    return [next(numbers) for _ in range(next(numbers))]


def _read_table(numbers: Iterator[Any]) -> list[list[Any]]:
    return [_read_list(numbers) for _ in range(next(numbers))]
