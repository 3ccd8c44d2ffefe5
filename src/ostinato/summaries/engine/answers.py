"""Kept events of many keys -> counts and contributions, in columns.

They are int64 if all of them fit, otherwise Python integers. Both are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.stopping import check_stopped, stop_flag
from ostinato.summaries.engine.bridges import WeightedEvents, contributions
from ostinato.summaries.engine.counter_moves import CountProgram, count_program
from ostinato.summaries.engine.kernel_tables import COUNT, MARKS, NOW, SEEN, STARTED, CountRules, rules_of
from ostinato.summaries.engine.quick_counts import EXACT, count_each
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.language.summary_query import SummaryAggregate

Ints = NDArray[np.int64]
Integers = NDArray[np.int64] | NDArray[np.object_]
"""int64, or Python integers if a number doesn't fit."""
_QUICK = 512
"""Larger summaries are counted by bridges directly: they take linear time, and their counts rarely fit doubles."""
_INT64 = float(1 << 62)


@dataclass(frozen=True, slots=True)
class KeptEvents:
    """The kept events of some summaries. Summary i has the events `first[i]:first[i + 1]`."""

    first: Ints
    seen: Ints
    """Events so far, by summary."""
    now: Ints
    """The time of the last event, by summary."""
    started: NDArray[np.bool_]
    """Whether a summary has seen an event. Otherwise `now` has no meaning."""
    number: Ints
    time: Ints
    code: Ints
    """The number of the event's type in the automaton."""
    value: NDArray[np.int64] | NDArray[np.float64]
    valid: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.seen)


@dataclass(frozen=True, slots=True)
class Answers:
    """Counts over all matches among the kept events."""

    events: KeptEvents
    count: Integers
    """Number of matches, by summary."""
    contribution: Integers
    """Number of matches with each event."""

    def __len__(self) -> int:
        return len(self.events)

    def sums(self) -> Sequence[tuple[int, int]]:
        """By summary, the sum over all matches as an exact fraction. An event adds its value once for each match."""
        events = self.events
        if events.value.dtype == np.float64:
            return [self._sum_of_floats(at) for at in range(len(self))]
        values = np.where(events.valid, events.value, 0)
        shares = self.contribution
        if shares.dtype == object or not (np.abs(values.astype(np.float64)) * shares).sum() < _INT64:
            values = values.astype(object)
        running = np.concatenate(([0], np.cumsum(values * shares)))
        return [(int(total), 1) for total in running[events.first[1:]] - running[events.first[:-1]]]

    def _sum_of_floats(self, summary: int) -> tuple[int, int]:
        events = self.events
        rows = slice(events.first[summary], events.first[summary + 1])
        columns = zip(events.value[rows].tolist(), events.valid[rows], self.contribution[rows].tolist(), strict=True)
        ratios = [(value.as_integer_ratio(), count) for value, is_valid, count in columns if is_valid and count]
        unit = max((below for (_, below), _ in ratios), default=1)  # powers of two: the largest is a multiple of all
        return sum(above * (unit // below) * count for (above, below), count in ratios), unit


class Answering:
    """Counts matches for one query."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._program: CountProgram = count_program(summary.automaton, summary.query.selection)
        self._rules: CountRules = rules_of(self._program)

    def answers(self, events: KeptEvents) -> Answers:
        """The answers of the kept events."""
        largest = int(np.diff(events.first).max(initial=0))
        totals, shares = np.full(len(events), np.inf), np.full(len(events.time), np.inf)
        if largest <= _QUICK:
            states = self._program.states
            columns = (events.first, events.time, events.code, self.summary.query.window_us)
            forward, backward = np.zeros((largest + 2, states)), np.zeros((2, states))
            count_each(self._rules, *columns, forward, backward, totals, shares, stop_flag())
            check_stopped()
        # An event's share is at most the summary's total, so totals decide; NaN compares as too large.
        unsure = np.flatnonzero(~(totals < EXACT))
        if not len(unsure):
            return Answers(events, totals.astype(np.int64), shares.astype(np.int64))
        return self._counted_again(events, totals, shares, unsure)

    def _counted_again(
        self, events: KeptEvents, totals: NDArray[np.float64], shares: NDArray[np.float64], unsure: Ints
    ) -> Answers:
        is_sure = np.ones(len(events), np.bool_)
        is_sure[unsure] = False
        counts: list[int] = np.where(is_sure, totals, 0).astype(np.int64).tolist()
        of_sure = np.repeat(is_sure, np.diff(events.first))
        of_event: list[int] = np.where(of_sure, shares, 0).astype(np.int64).tolist()
        for at in unsure.tolist():
            rows = slice(int(events.first[at]), int(events.first[at + 1]))
            times, codes = events.time[rows].tolist(), events.code[rows].tolist()
            weighted = WeightedEvents(times, codes, [0] * len(times))
            counted = contributions(self._program, weighted, self.summary.query.window_us)
            counts[at] = int(counted.total)
            of_event[rows] = map(int, counted.of_event)
        return Answers(events, np.array(counts, object), np.array(of_event, object))

    def values(self, answers: Answers, scale: int = 0) -> list[int | float | None]:
        """The aggregate, by summary. A SUM of whole numbers is exact, and not divided by 10 ** scale. Doubles are
        rounded once. None: there is no match."""
        aggregate = self.summary.query.aggregate
        counts: list[int] = answers.count.tolist()
        if aggregate is SummaryAggregate.COUNT:
            return [*counts]
        if aggregate is SummaryAggregate.SUM and not self.summary.float_values:
            return [total if count else None for (total, _), count in zip(answers.sums(), counts, strict=True)]
        units = counts if aggregate is SummaryAggregate.AVG else [1] * len(counts)
        return [
            _quotient(total, unit * divisor * 10**scale) if count else None
            for (total, unit), divisor, count in zip(answers.sums(), units, counts, strict=True)
        ]


def _quotient(above: int, below: int) -> float:
    try:
        return above / below  # of integers: rounded once
    except OverflowError:
        return float("inf") if above > 0 else float("-inf")


def events_of_states(states: Sequence[SummaryState], *, float_values: bool) -> KeptEvents:
    """The kept events of single states, one after the other."""
    marks = np.array([state.columns.marks for state in states], np.int64).reshape(len(states), MARKS)

    def joined(name: str) -> NDArray[Any]:
        values = [getattr(state.columns, name)[: len(state)] for state in states]
        return np.concatenate([np.zeros(0, values[0].dtype if values else np.int64), *values])

    columns = (joined(name) for name in ("number", "time", "type", "payload", "valid"))
    return kept_events(marks, *columns, float_values=float_values)


def kept_events(
    marks: Ints, number: Ints, time: Ints, code: Ints, payload: Ints, valid: NDArray[Any], *, float_values: bool
) -> KeptEvents:
    """Columns of kept events. `marks` has one row for each summary."""
    return KeptEvents(
        first=np.append(0, np.cumsum(marks[:, COUNT])).astype(np.int64),
        seen=marks[:, SEEN],
        now=marks[:, NOW],
        started=marks[:, STARTED] == 1,
        number=number,
        time=time,
        code=code,
        value=payload.view(np.float64) if float_values else payload,
        valid=valid.astype(np.bool_),
    )
