"""The answer of one summary, computed with exact integers and fractions. Tests and benchmarks compare with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ostinato.summaries.engine.bridges import WeightedEvents, contributions
from ostinato.summaries.engine.counter_moves import count_program, sum_program
from ostinato.summaries.engine.kernel_tables import SEEN
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.language.summary_query import SummaryAggregate


@dataclass(frozen=True, slots=True)
class CountedEvent:
    number: int
    """Index of the event in the stream, from 0. Events of other types count."""
    time_us: int
    type: str
    value: int | float | None
    contribution: int
    """Number of matches that contain it."""


@dataclass(frozen=True, slots=True)
class SingleAnswer:
    """The answer as of the last event. `value` is exact for COUNT and for SUM of integers, else rounded once."""

    value: int | float | None
    count: int
    kept: tuple[CountedEvent, ...]
    seen: int
    """Events of the stream so far."""


def ask(summary: Summary, state: SummaryState) -> SingleAnswer:
    """The aggregate over all matches among the kept events, also those older than the window."""
    query, columns, rows = summary.query, state.columns, len(state)
    values = _values(summary, state)
    weights, unit = _as_integers(values)
    events = WeightedEvents(columns.time[:rows].tolist(), columns.type[:rows].tolist(), weights)
    program = count_program(summary.automaton, query.selection)
    counted = contributions(program, events, query.window_us)
    count = int(counted.total)
    value: int | float | None = count
    if query.aggregate is not SummaryAggregate.COUNT:
        total = contributions(sum_program(program), events, query.window_us).total
        value = _rounded(summary, Fraction(total, unit), count)
    numbers = columns.number[:rows].tolist()
    names = [summary.automaton.types[type] for type in events.types]
    shares = map(int, counted.of_event)
    kept = tuple(CountedEvent(*row) for row in zip(numbers, events.times, names, values, shares, strict=True))
    return SingleAnswer(value, count, kept, int(columns.marks[SEEN]))


def _values(summary: Summary, state: SummaryState) -> list[int | float | None]:
    payload, valid = state.columns.payload[: len(state)], state.columns.valid[: len(state)]
    values = (payload.view(np.float64) if summary.float_values else payload).tolist()
    return [value if is_valid else None for value, is_valid in zip(values, valid, strict=True)]


def _rounded(summary: Summary, total: Fraction, count: int) -> int | float | None:
    if not count:
        return None
    is_sum = summary.query.aggregate is SummaryAggregate.SUM
    if is_sum and not summary.float_values:
        return int(total)
    exact = total if is_sum else total / count
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def _as_integers(values: Sequence[int | float | None]) -> tuple[list[int], int]:
    """The values multiplied by a power of two that makes them integers (NULL: 0), and that power."""
    ratios = [(0, 1) if value is None else value.as_integer_ratio() for value in values]
    unit = max((denominator for _, denominator in ratios), default=1)
    return [numerator * (unit // denominator) for numerator, denominator in ratios], unit
