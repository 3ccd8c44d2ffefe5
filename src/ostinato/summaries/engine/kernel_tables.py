"""The arguments of a summary's kernels: rules, settings, kept events with their counters, and scratch memory.

Numbers that may overflow doubles have the dtype of `Scratch.one`: float64, or complex128 for wide numbers
(`wide_numbers.py`). Everything else is the same for both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.summaries.engine.counter_moves import CountProgram
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery

Numbers = NDArray[Any]
"""float64 or complex128."""

FIFO, RANDOM, BY_BENEFIT = 0, 1, 2
"""The strategies, as kernels see them."""

COUNT, FIRST, NOW, SEEN, STALE, CELL, STARTED, FIRST_OLD_CELL, LAST_OLD_CELL = range(9)
"""Indices into `StateColumns.marks`:

- COUNT: number of kept events
- FIRST: oldest active initiator; equals COUNT if there is none
- NOW: time of the last event
- SEEN: events so far
- STALE: whether `active` must be recounted
- CELL: cell of the last kept event
- STARTED: whether there was an event
- FIRST_OLD_CELL, LAST_OLD_CELL: range of cells whose matches must be recounted; empty if last < first
"""
MARKS = 9

LONGEST_HORIZON = 4096
"""Largest number of events that the published rule looks ahead. Doubles overflow long before."""


class CountRules(NamedTuple):
    """A `CountProgram` as arrays. Type t has the moves `move_first[t]:move_first[t + 1]`, and begins likewise."""

    move_first: NDArray[np.int64]
    move_source: NDArray[np.int64]
    move_target: NDArray[np.int64]
    move_weighted: NDArray[np.bool_]
    begin_first: NDArray[np.int64]
    begin_target: NDArray[np.int64]
    begin_weighted: NDArray[np.bool_]
    may_skip: NDArray[np.bool_]
    final: NDArray[np.bool_]
    plain_final: NDArray[np.bool_]
    """Whether each unmarked state is final, marked or unmarked."""


class ChoiceSettings(NamedTuple):
    """The settings of a query that kernels read."""

    window: int
    size: int
    rule: int
    looks_ahead: bool
    is_capped: bool
    any_match: bool
    weighs_values: bool
    learns_types: bool
    learns_tick: bool
    decay: float
    seed: int


class StateColumns(NamedTuple):
    """The state of a summary. Rows [0, marks[COUNT]) are the kept events, oldest first."""

    time: NDArray[np.int64]
    type: NDArray[np.int64]
    weight: NDArray[np.float64]
    """|value|, 0 for NULL, for the choice of events."""
    payload: NDArray[np.int64]
    """The value itself: an integer, or the bits of a double."""
    valid: NDArray[np.bool_]
    number: NDArray[np.int64]
    """Index of the event in the stream."""
    own: Numbers
    """Matches with the event that start in its own cell, as of the last count."""
    carried: Numbers
    """Matches with the event that start in the cell before, as of the last count."""
    fresh: Numbers
    """Matches with the event that were completed since the last count."""
    active: Numbers
    """[event, state]: A_c#Z, from marks[FIRST] on."""
    total: Numbers
    """[state]: A_#Z."""
    marks: NDArray[np.int64]
    learnt: NDArray[np.float64]
    """Decaying counts of types, of all other types, of gaps, and the decaying sum of gaps."""
    probabilities: NDArray[np.float64]
    """Probabilities of types that the benefit uses."""
    tick: NDArray[np.float64]
    """One element: the mean time between events that the benefit uses."""


class Scratch(NamedTuple):
    """Scratch memory of kernels. Only the table outlives a call; it can be computed from the columns."""

    ways_left: Numbers
    ways_right: Numbers
    completed: Numbers
    at_cut: Numbers
    ends: NDArray[np.int64]
    pending: Numbers
    moved: Numbers
    vector: Numbers
    mean: Numbers
    table: Numbers
    """[events, plain state]: expected number of new matches from a partial match in a number of events."""
    one: Numbers
    """The numbers 0 and 1 in the dtype of the counters."""


class Incoming(NamedTuple):
    """Events of one stream, ordered. Types are numbers in the automaton; all others are len(types)."""

    time: NDArray[np.int64]
    type: NDArray[np.int64]
    weight: NDArray[np.float64]
    payload: NDArray[np.int64]
    valid: NDArray[np.bool_]
    number: NDArray[np.int64]


def rules_of(program: CountProgram) -> CountRules:
    moves = [move for row in program.moves for move in row]
    begins = [begin for row in program.begins for begin in row]
    half = program.plain_states
    plain_final = [any(program.final[state] for state in range(z, program.states, half)) for z in range(half)]
    return CountRules(
        np.cumsum([0, *map(len, program.moves)]).astype(np.int64),
        np.array([move.source for move in moves], np.int64),
        np.array([move.target for move in moves], np.int64),
        np.array([move.weighted for move in moves], np.bool_),
        np.cumsum([0, *map(len, program.begins)]).astype(np.int64),
        np.array([begin.target for begin in begins], np.int64),
        np.array([begin.weighted for begin in begins], np.bool_),
        np.array(program.may_skip, np.bool_),
        np.array(program.final, np.bool_),
        np.array(plain_final, np.bool_),
    )


def choice_of(query: SummaryQuery, program: CountProgram) -> ChoiceSettings:
    rules = {Strategy.FIFO: FIFO, Strategy.RANDOM: RANDOM}
    looks_ahead = query.strategy in (Strategy.CAPPED, Strategy.PUBLISHED)
    return ChoiceSettings(
        window=query.window_us,
        size=query.size,
        rule=rules.get(query.strategy, BY_BENEFIT),
        looks_ahead=looks_ahead,
        is_capped=query.strategy is Strategy.CAPPED,
        any_match=program.any_match,
        weighs_values=query.aggregate is SummaryAggregate.SUM,
        learns_types=looks_ahead and query.probabilities is None,
        learns_tick=looks_ahead and query.tick_us is None,
        decay=float(0.5 ** (1.0 / query.half_life_events)),
        seed=query.seed & 0x7FFFFFFFFFFFFFFF,
    )


def horizon_of(query: SummaryQuery) -> int:
    """The largest number of future events that the benefit considers."""
    if query.strategy not in (Strategy.CAPPED, Strategy.PUBLISHED):
        return 0
    longest = LONGEST_HORIZON if query.tick_us is None else min(LONGEST_HORIZON, int(query.window_us / query.tick_us))
    return min(longest, query.size) if query.strategy is Strategy.CAPPED else longest


def empty_columns(size: int, states: int, types: int, wide: bool = False) -> StateColumns:
    dtype = np.complex128 if wide else np.float64
    marks = np.zeros(MARKS, np.int64)
    marks[LAST_OLD_CELL] = -1
    return StateColumns(
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros(size, np.bool_),
        np.zeros(size, np.int64),
        np.zeros(size, dtype),
        np.zeros(size, dtype),
        np.zeros(size, dtype),
        np.zeros((size, states), dtype),
        np.zeros(states, dtype),
        marks,
        np.zeros(types + 3),
        np.zeros(types),
        np.zeros(1),
    )


def new_scratch(size: int, states: int, plain_states: int, horizon: int, wide: bool) -> Scratch:
    dtype = np.complex128 if wide else np.float64
    return Scratch(
        np.zeros((size + 1, states, states), dtype),
        np.zeros((size + 1, states, states), dtype),
        np.zeros((size + 1, states), dtype),
        np.zeros((size, states), dtype),
        np.zeros(size, np.int64),
        np.zeros((states, states), dtype),
        np.zeros((states, states), dtype),
        np.zeros(states, dtype),
        np.zeros(plain_states, dtype),
        np.zeros((horizon + 1, plain_states), dtype),
        np.array([0.0, 1.0], dtype),
    )
