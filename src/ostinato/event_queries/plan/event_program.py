"""Input and output of the engines for event queries: programs, events as columns, results by window.

There are no expressions and no names here. The plan (`event_queries/plan/event_plan.py`) numbers conditions, values and
tests of pairs, and evaluates each once for all queries.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import TrendAutomaton
from ostinato.event_queries.language.event_query import Selection
from ostinato.kernels.numbers.python_numbers import Extended

NO_VALUE = -1
NO_WINDOW = np.iinfo(np.int64).min
"""The window of results of a query without windows."""


class SlotKind(enum.Enum):
    COUNT = "count"
    """The number of events bound to the labels; with a value, only events whose value isn't NULL."""
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Slot:
    """An aggregate over the events of all trends that are bound to one of `labels`. NULL values are ignored."""

    kind: SlotKind
    labels: frozenset[int]
    value: int = NO_VALUE


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """A test that two adjacent events bound to `before` and `after` must pass.

    Either `op` compares numbers: the later event's value `op` the earlier one's (`<`, `<=`, `>`, `>=`, `=`, `<>`). A
    NULL fails; NaN is the greatest value and equals itself. Or `pair_test` is the number of a test of the pair.
    """

    before: int
    after: int
    op: str | None = None
    before_value: int = NO_VALUE
    after_value: int = NO_VALUE
    pair_test: int | None = None


class BoundKind(enum.Enum):
    NONE = "none"
    SPAN = "span"
    """position(last) - position(first) <= length."""
    WINDOWS = "windows"
    """[k * slide, k * slide + length) for every integer k."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The largest extent of a trend, in `time` (microseconds) or in `place` (events of the group, from 0)."""

    kind: BoundKind = BoundKind.NONE
    by_place: bool = False
    length: int = 0
    slide: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """One query. COUNT(*) is always computed; `slots` are the other aggregates.

    `qualifies` has the number of the condition of each label of the automaton, `absent_qualifies` the same for each
    absence. An edge without a test always exists. `absent_edges` are the tests inside each absence, by the absence's
    own labels (empty, or one tuple for each absence).
    """

    automaton: TrendAutomaton
    qualifies: tuple[int, ...]
    absent_qualifies: tuple[tuple[int, ...], ...] = ()
    edges: tuple[EdgeTest, ...] = ()
    slots: tuple[Slot, ...] = ()
    extent: Extent = Extent()
    selection: Selection = Selection.ANY
    absent_edges: tuple[tuple[EdgeTest, ...], ...] = ()


PairTest = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]
"""(rows of earlier events, rows of later events), of equal length -> whether each pair passes.

With states, a row below 0 is an event of an earlier call: -1 - (s + S * k) stands for sequence s of the S sequences in
this call, k events before the last event of that sequence in earlier calls.
"""


@dataclass(frozen=True, slots=True)
class Events:
    """Rows in order: by sequence, then by time. A sequence has the events that may be in one trend."""

    starts: NDArray[np.int64]
    """The first row of each sequence, and at the end the number of rows."""
    time: NDArray[np.int64]
    place: NDArray[np.int64]
    """The number of the event within its group, from 0. Several sequences may belong to one group."""
    conditions: tuple[NDArray[np.bool_], ...]
    values: tuple[NDArray[np.int64] | NDArray[np.float64], ...]
    valid: tuple[NDArray[np.bool_] | None, ...]
    """Where each value isn't NULL; None if no value is NULL."""
    pair_tests: tuple[PairTest, ...] = ()


Numbers = NDArray[np.object_] | Extended | NDArray[np.float64] | NDArray[np.int64]
"""Exact counts and sums are object arrays of Python ints. MIN and MAX keep the dtype of their values."""


@dataclass(frozen=True, slots=True)
class QueryResults:
    """One row for each (sequence, window) with at least one trend, in order of (sequence, window)."""

    sequence: NDArray[np.int64]
    window: NDArray[np.int64]
    """The start of the window; NO_WINDOW without windows."""
    count: Numbers
    slots: tuple[Numbers, ...]
    """SUM, MIN and MAX are undefined in rows where `present` is False: there was no value (SQL's NULL)."""
    present: tuple[NDArray[np.bool_], ...]


def joined_numbers(columns: Sequence[Numbers]) -> Numbers:
    """The rows of several columns below one another. An engine gives the same kind of numbers in all of them."""
    if isinstance(columns[0], Extended):
        return Extended(*(np.concatenate(arrays) for arrays in zip(*columns, strict=True)))
    return cast(Numbers, np.concatenate(columns))


def joined_results(results: Sequence[QueryResults]) -> QueryResults:
    """The rows of several results below one another."""
    return QueryResults(
        sequence=np.concatenate([each.sequence for each in results]),
        window=np.concatenate([each.window for each in results]),
        count=joined_numbers([each.count for each in results]),
        slots=tuple(map(joined_numbers, zip(*(each.slots for each in results), strict=True))),
        present=tuple(np.concatenate(column) for column in zip(*(each.present for each in results), strict=True)),
    )


@dataclass(frozen=True, slots=True)
class EngineStep:
    """The output of one call: for each program the results of windows that are over, and each sequence's state as
    bytes."""

    results: tuple[QueryResults, ...]
    states: tuple[bytes, ...]
    statistics: dict[str, int]


class TrendEngine(abc.ABC):
    """The interface of the engines of `event_queries/trends/`."""

    programs: tuple[Program, ...]
    exact: bool

    @abc.abstractmethod
    def advance(self, events: Events, states: Sequence[bytes], until: NDArray[np.int64] | None) -> EngineStep:
        """Processes further events of each sequence. `states` has one entry for each sequence; b"" for a new one.

        Windows that end at or before `until` of their sequence are over. `until` is a time, or a place for windows that
        count events. Their results are returned, and their state is dropped. None means the end of the input: all
        windows are over, and states are empty. Later rows have a time above all rows so far, and are at or behind
        `until`.
        """
