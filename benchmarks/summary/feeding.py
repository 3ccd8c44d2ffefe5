"""A summary and a stream -> its answers at some moments, and the number of matches that it ever held.

Counted in doubles, which is right to twelve digits and takes milliseconds where exact integers take seconds;
`answers.py` compares both. Numbers stay far below what doubles hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.summary.streams import Letters
from ostinato.kernels.kernel_cache import kernel
from ostinato.summaries.engine.counter_moves import count_program, sum_program
from ostinato.summaries.engine.kernel_tables import CountRules, rules_of
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.engine.summary_state import SummaryState

Floats = NDArray[np.float64]


@kernel
def _matches_ending_at(rules, times, types, weights, window, event):  # type: ignore[no-untyped-def]
    """Counts the matches that end with the event, in one pass over the events within a window before it."""
    states = len(rules.final)
    counts, taken = np.zeros(states), np.zeros(states)
    first = event
    while first > 0 and times[event] - times[first - 1] <= window:
        first -= 1
    for earlier in range(first, event + 1):
        type, weight = types[earlier], weights[earlier]
        taken[:] = 0.0
        for move in range(rules.move_first[type], rules.move_first[type + 1]):
            factor = weight if rules.move_weighted[move] else 1.0
            taken[rules.move_target[move]] += factor * counts[rules.move_source[move]]
        for begin in range(rules.begin_first[type], rules.begin_first[type + 1]):
            taken[rules.begin_target[begin]] += weight if rules.begin_weighted[begin] else 1.0
        counts += taken
    matches = 0.0
    for state in range(states):
        if rules.final[state]:
            matches += taken[state]
    return matches


@kernel
def _all_matches(rules, times, types, weights, window):  # type: ignore[no-untyped-def]
    matches = 0.0
    for event in range(len(times)):
        matches += _matches_ending_at(rules, times, types, weights, window, event)
    return matches


class Counter:
    """Counts the matches of a query's expression, or sums them with `sums`. Skip-till-any."""

    def __init__(self, summary: Summary, *, sums: bool = False) -> None:
        program = count_program(summary.automaton)
        self._rules: CountRules = rules_of(sum_program(program) if sums else program)
        self._window = summary.query.window_us
        self._types = len(summary.automaton.types)

    def kept(self, state: SummaryState) -> float:
        """The count over all matches among the kept events."""
        return float(_all_matches(self._rules, *self._columns(state), self._window))

    def newest(self, state: SummaryState) -> float:
        """The count over the matches that end with the newest kept event."""
        return float(_matches_ending_at(self._rules, *self._columns(state), self._window, len(state) - 1))

    def stream(self, events: SummaryEvents) -> float:
        """The count over all matches of a stream."""
        named = events.codes < self._types
        weights = np.ones(len(events)) if events.values is None else events.values.astype(np.float64)
        return float(_all_matches(self._rules, events.time[named], events.codes[named], weights[named], self._window))

    def _columns(self, state: SummaryState) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        columns, kept = state.columns, len(state)
        return columns.time[:kept], columns.type[:kept], columns.weight[:kept]


def part_of(events: SummaryEvents, start: int, stop: int) -> SummaryEvents:
    values = None if events.values is None else events.values[start:stop]
    return SummaryEvents(events.time[start:stop], events.codes[start:stop], values)


def states_at(summary: Summary, letters: Letters, moments: Sequence[int]) -> list[SummaryState]:
    """The summary after each number of events. Moments must be sorted."""
    events, state, states, done = letters.events(summary), summary.new_state(), [], 0
    for moment in moments:
        state = summary.advance(part_of(events, done, moment), state)
        states.append(state)
        done = moment
    return states


def counts_at(summary: Summary, letters: Letters, moments: Sequence[int]) -> Floats:
    """Number of matches in the summary at each moment."""
    counter = Counter(summary)
    return np.array([counter.kept(state) for state in states_at(summary, letters, moments)])


def detected_matches(summary: Summary, letters: Letters) -> float:
    """Number of matches that were complete in the summary at some time: an inserted event completed them."""
    events, state, counter, matches = letters.events(summary), summary.new_state(), Counter(summary), 0.0
    for event in range(len(events)):
        state = summary.advance(part_of(events, event, event + 1), state)
        kept = len(state)
        if kept and state.columns.number[kept - 1] == event:
            matches += counter.newest(state)
    return matches


def moments_of(rows: int, first: int, number: int, seed: int) -> list[int]:
    """Evaluation moments (numbers of events), drawn uniformly from `first` on."""
    return sorted(np.random.default_rng([seed, 9]).integers(first, rows + 1, number).tolist())


def orders(counts: Floats) -> Floats:
    """log10(1 + matches)."""
    result: Floats = np.log10(1.0 + counts)
    return result


def mean_ratio_orders(ours: Floats, theirs: Floats) -> float | None:
    """Relative recall improvement: log10 of the mean ratio, over moments at which the baseline has matches."""
    has = theirs > 0
    if not has.any() or not (ours[has] > 0).any():
        return None
    return math.log10(float(np.mean(ours[has] / theirs[has])))
