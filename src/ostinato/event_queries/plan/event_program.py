"""What the engines for event queries take and give: programs of numbers, events as columns, results by window.

No expressions and no names here: conditions, values and tests of pairs are numbered by the plan
(`event_queries/plan/event_plan.py`), which evaluates them once for all queries.
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
"""The window of a result where the query cuts no windows."""


class SlotKind(enum.Enum):
    COUNT = "count"
    """Events bound to the labels; with a value, those whose value isn't NULL."""
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Slot:
    """An aggregate over the events of all trends that are bound to one of `labels`. NULL values don't count."""

    kind: SlotKind
    labels: frozenset[int]
    value: int = NO_VALUE


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """What two adjacent events bound to `before` and `after` must fulfil.

    Either `op` compares numbers, after's value `op` before's value (`<`, `<=`, `>`, `>=`, `=`, `<>`; NULL: no edge; NaN
    is the greatest and equals itself), or `pair_test` is the number of a test that only the pair itself answers.
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
    """How far a trend reaches, over `time` (microseconds) or over `place` (events of the group, from 0)."""

    kind: BoundKind = BoundKind.NONE
    by_place: bool = False
    length: int = 0
    slide: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """One query. COUNT(*) is always computed; `slots` are the aggregates beside it.

    `qualifies` gives for each label of the automaton the number of its condition, `absent_qualifies` the same for each
    absence. Edges that no test names are always there; `absent_edges` are the tests inside each absence, by its own
    labels (empty, or one tuple for each absence).
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
"""(rows of earlier events, rows of later events), equally long -> whether each pair passes.

Where states are kept, a row below 0 is an event of an earlier call: -1 - (s + S * k) stands for sequence s of the S in
this call, k events of that sequence before the last one that earlier calls were given.
"""


@dataclass(frozen=True, slots=True)
class Events:
    """Rows in order: by sequence, then by time. A sequence holds the events that may stand in one trend."""

    starts: NDArray[np.int64]
    """Where each sequence starts, and at the end the number of rows."""
    time: NDArray[np.int64]
    place: NDArray[np.int64]
    """The number of the event within its group (several sequences may belong to one), from 0 at the group's begin."""
    conditions: tuple[NDArray[np.bool_], ...]
    values: tuple[NDArray[np.int64] | NDArray[np.float64], ...]
    valid: tuple[NDArray[np.bool_] | None, ...]
    """Where each value isn't NULL; None: everywhere."""
    pair_tests: tuple[PairTest, ...] = ()


Numbers = NDArray[np.object_] | Extended | NDArray[np.float64] | NDArray[np.int64]
"""Exact counts and sums are an object array of Python ints; MIN and MAX keep the dtype of their values."""


@dataclass(frozen=True, slots=True)
class QueryResults:
    """One row for each (sequence, window) with at least one trend. Rows are in order of (sequence, window)."""

    sequence: NDArray[np.int64]
    window: NDArray[np.int64]
    """Where the window starts; NO_WINDOW without windows."""
    count: Numbers
    slots: tuple[Numbers, ...]
    """SUM, MIN and MAX mean nothing in rows where `present` is False: no value was bound (SQL's NULL)."""
    present: tuple[NDArray[np.bool_], ...]


def joined_numbers(columns: Sequence[Numbers]) -> Numbers:
    """The rows of several columns below one another; an engine gives one kind of numbers for all of them."""
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
    """What one call gives: results of windows that are over, for each program; and each sequence's state as bytes."""

    results: tuple[QueryResults, ...]
    states: tuple[bytes, ...]
    statistics: dict[str, int]


class TrendEngine(abc.ABC):
    """The interface of the engines of `event_queries/trends/`."""

    programs: tuple[Program, ...]
    exact: bool

    @abc.abstractmethod
    def advance(self, events: Events, states: Sequence[bytes], until: NDArray[np.int64] | None) -> EngineStep:
        """Takes further events of each sequence. `states` has one entry a sequence; b"" for a new one.

        Windows that end at or before `until` of their sequence are over (a time, or a place where windows count
        events): their results are given and forgotten. None: the input ends, everything is over, states are empty.
        Rows that come later have a time above every row given so far, and lie at or behind `until`.
        """
